"""Unknown forces from estimated motion."""
