"""Rules about exceptions of Python programs and of the libraries they use."""
