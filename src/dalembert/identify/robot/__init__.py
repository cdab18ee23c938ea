"""Dynamic parameters of robots from records of motion and torque, and excitation motions for them."""
