"""What a body brings to the equations of a machine: inertia, forces of its motion, and frames for other parts."""
