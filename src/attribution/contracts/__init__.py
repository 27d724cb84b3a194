"""The nouns that cross process borders. No I/O, no engine."""
