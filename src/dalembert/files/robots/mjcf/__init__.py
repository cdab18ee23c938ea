"""MJCF, the models of MuJoCo: defaults, frames, inertia, joints, equalities and actuators, one file each."""
