"""Which interior modes of a component-mode reduction matter, for modes of the whole system or for its loads."""
