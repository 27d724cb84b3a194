"""Connectors find attempts, collect their evidence, and take the answers away."""
