"""Log connectors collect the lines of an attempt."""
