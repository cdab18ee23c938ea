"""Algorithms on the links of a tree, one per file; each registers the functions that `LinkTree.function` builds."""
