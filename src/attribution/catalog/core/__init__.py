"""Rules that hold for every kind of event: scope, repetition, generality, and what ends a job."""
