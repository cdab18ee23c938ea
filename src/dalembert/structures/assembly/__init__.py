"""The finite-element model of a structure: materials, sections, assembly, damping."""
