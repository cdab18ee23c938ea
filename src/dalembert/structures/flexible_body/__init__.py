"""From a finite-element model to the data of a flexible body in its floating frame."""
