"""Closed loops of machine, observer and controller, and the verb `simulate`."""
