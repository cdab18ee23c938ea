"""Inverse kinematics: reachable places of a machine, and the poses and motions that reach them."""
