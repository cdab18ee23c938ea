"""Studies of models found from records."""
