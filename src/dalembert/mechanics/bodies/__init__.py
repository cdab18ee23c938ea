"""Bodies in the equations of a machine: inertia, forces of their motion, and frames for other parts."""
