"""Force laws and their energies."""
