"""Studies of systems in symbols: formalisms, modular models and planar linkages."""
