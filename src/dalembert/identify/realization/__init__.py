"""State-space models from Markov parameters: OKID, ERA, and modes from outputs alone."""
