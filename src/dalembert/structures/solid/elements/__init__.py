"""The kinds of solid elements, one file each; `SOLID_ELEMENTS` has them by name."""
