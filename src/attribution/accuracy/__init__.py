"""How often the engine is right: labelled evidence in, figures out."""
