"""Seeded scenarios of distributed attempts: bundles with one known cause, and the truth beside them.

They stand for the outside world, so nothing here imports the product or knows its rules: lines are written as the
programs themselves print them, and the truth says what a careful engineer concludes from the files of the bundle alone.
"""
