"""The constrained solve: accelerations, multipliers, elimination."""
