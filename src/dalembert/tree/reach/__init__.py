"""Where places of a machine can be, and how it gets them there."""
