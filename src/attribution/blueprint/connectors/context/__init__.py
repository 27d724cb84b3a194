"""Context connectors find attempts and say what they ran, where and when."""
