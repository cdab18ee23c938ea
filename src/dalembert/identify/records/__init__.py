"""Records at the border of identification: checked, prepared, repaired, synchronised."""
