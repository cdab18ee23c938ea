"""Formalisms of analytical mechanics, one file each; all return a `Derivation`."""
