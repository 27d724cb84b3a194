"""Reads and writes evidence bundles: one attempt's evidence as a folder or archive."""
