"""The kinds of solid elements, one file each; `SOLID_ELEMENTS` knows them by name."""
