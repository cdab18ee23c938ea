"""Linear designs: regulators, pole placement, observers, output feedback."""
