"""Dynamic parameters of robots from records of motion and torque, and the motions that show them best."""
