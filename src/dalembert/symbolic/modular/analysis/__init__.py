"""What models are used for: equations of motion, linear models, inverse dynamics and kinematics."""
