"""How an input channel becomes a force or torque."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class FirstOrderLag:
    """The effort follows the input with a lag: T F' + F = gain u. One internal state, the effort [N or N m]."""

    time_constant: Any
    gain: Any = 1.0


@dataclass(frozen=True)
class DCMotor:
    """Armature of a DC motor behind a gear; the input is its voltage.

    L i' = u - R i - k_e n ṡ,  effort = n k_t i - n² (b ṡ + J s̈), with s the joint coordinate and n the gear ratio.
    One internal state, the current [A]; none when the inductance is zero.
    """

    torque_constant: Any
    resistance: Any
    inductance: Any = 0.0
    back_emf: Any = None  # equal to the torque constant in SI units
    gear_ratio: Any = 1.0
    rotor_inertia: Any = 0.0
    rotor_damping: Any = 0.0
