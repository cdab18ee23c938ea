"""Maximum likelihood of second-order models with unknown entries."""
