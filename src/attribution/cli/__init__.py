"""The command line: one module per command. Answers go to stdout, progress and errors to stderr."""
