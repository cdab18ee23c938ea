"""Maximum likelihood of modal models: refinement, bounds, deviations."""
