"""Events become a diagnosis: filtering, refinement, outcome, report. The engine is handed a catalog."""
