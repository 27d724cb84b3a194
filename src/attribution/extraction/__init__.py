"""Observations become events: scanning, line normalisation, joining, decoders, metric conditions."""
