"""Real servers, installed from the distribution's packages and run on loopback in a folder of their own."""
