"""The Attribution Service: an HTTP API around the engine."""
