"""Sessions, results, reports and catalog snapshots in SQLite or PostgreSQL."""
