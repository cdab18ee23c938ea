"""Studies of machines with flexible bodies."""
