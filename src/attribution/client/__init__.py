"""A typed client of the Attribution Service."""
