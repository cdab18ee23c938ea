"""Studies of observers: motion, forces and loads that no sensor measures."""
