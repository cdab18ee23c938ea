"""The commands, one module per family; each function of a command imports what it needs when it runs."""
