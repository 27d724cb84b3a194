"""Sinks take results away."""
