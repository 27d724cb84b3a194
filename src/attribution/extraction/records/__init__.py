"""Records of a scheduler are told as sentences, which rules read as they read lines of a log."""
