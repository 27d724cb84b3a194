"""Rules about what schedulers say: refusals, launches that failed, lost nodes, and the end of an attempt."""
