"""Analyses of models: equations of motion, linear models, inverse dynamics and kinematics."""
