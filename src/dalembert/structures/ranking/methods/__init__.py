"""The rankings of interior modes, one file each; `RANKINGS` has them by name."""
