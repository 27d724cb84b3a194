"""The nouns inside the engine: moments, events, symptoms and the order between them."""
