"""Read-only pages over the store, each with a JSON twin."""
