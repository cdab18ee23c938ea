"""Other forms of the same linear system: sampled, reduced, joined, in other states."""
