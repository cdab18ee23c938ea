"""Stability margins, controllable and observable modes, and reduction of vibrations."""
