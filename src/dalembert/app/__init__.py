"""User interfaces: command line and browser, without numerical methods."""
