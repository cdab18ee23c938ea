"""Parts of the closed formulas for derivatives of dynamics: vectors over the speeds of a tree, products of pairs."""
