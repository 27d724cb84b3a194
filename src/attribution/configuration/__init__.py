"""Settings in layers: file, then environment, then flags; and their reference."""
