"""Inertia geared to a joint (`Force.rotors`): inertia of the joint's own speed in a tree; else a coordinate of its own
with its inertia, coupled to the joint by a row."""

from __future__ import annotations

from dalembert.mechanics.forces.force_equations import FORCE_EQUATIONS, ForceBuilder, ForceEquations
from dalembert.model.forces.rotor import RotorInertia


def act(builder: ForceBuilder, rotor: RotorInertia) -> None:
    """Nothing acts: the rotor is inertia alone."""


FORCE_EQUATIONS.register("rotor", ForceEquations(act))
