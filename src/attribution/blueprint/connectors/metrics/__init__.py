"""Metric connectors collect the series of an attempt's nodes."""
