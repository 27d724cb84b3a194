"""`attribution run --watch`: finds attempts as they end, and brings each to exactly one result."""
