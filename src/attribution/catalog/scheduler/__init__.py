"""Rules about what schedulers say of the end of an attempt."""
