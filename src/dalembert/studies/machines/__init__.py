"""Studies of machines with rigid bodies."""
