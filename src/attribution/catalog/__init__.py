"""The shipped rules and symptom registry, by family. Content, not engine."""
