"""Several set-ups of one structure, with sensors that move and references that stay."""
