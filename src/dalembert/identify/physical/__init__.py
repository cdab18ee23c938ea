"""Mass, damping and stiffness matrices, and models updated to measured modes."""
