"""Inertia geared to a joint (`Force.rotors`): inertia of the joint's own speed in a tree; else a coordinate of its own
with its inertia, coupled to the joint by a row.

Of an elastic gear the deflection δ at the joint is a coordinate, and the rotor turns by n (s + δ):

    T = ½ J n² (ṡ + δ̇)² ,      V = ½ k δ² ,      effort along δ = -k δ - c δ̇

so that a motor torque at the rotor acts along s and δ (Spong 1987). With k → ∞ the gear is stiff.
"""

from __future__ import annotations

from dalembert.mechanics.forces.force_equations import FORCE_EQUATIONS, ForceBuilder, ForceEquations
from dalembert.model.forces.rotor import RotorInertia


def act(builder: ForceBuilder, rotor: RotorInertia) -> None:
    """The gear where it is elastic; else the rotor is inertia alone."""
    (own,) = rotor.rotors()
    if own.deflection:
        host, stretch = builder.host, builder.host.measured[own.deflection]
        stiffness = host.number(own.stiffness)
        builder.drive(stretch, -stiffness * stretch.value, has_potential=True)
        builder.potential = builder.potential + 0.5 * stiffness * stretch.value**2
        builder.drive(stretch, -host.number(own.damping) * stretch.rate)


FORCE_EQUATIONS.register("rotor", ForceEquations(act))
