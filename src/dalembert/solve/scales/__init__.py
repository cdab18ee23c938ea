"""Slow and fast models of machines whose fast coordinates are stiff, and singular perturbations."""
