"""Loops that were closed the odd way: bodies turned round although the drawing closes as well."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from dalembert.core.errors import DalembertError

if TYPE_CHECKING:
    from dalembert.equations import State
    from dalembert.model import Mechanism


def turned_bodies(m: Mechanism, state: State, again: Callable[[Mapping[str, float]], State]) -> dict[str, float]:
    """Bodies of the plane turned by more than 90° from how they are drawn, without need: name -> turn [deg].

    ``again(guess)`` assembles once more from these angles. Only what then stays near the drawing is told: whoever asks
    for a pendulum upside down gets no warning.
    """
    if not m.planar or len(m.joints) <= len(m.bodies):
        return {}  # without a loop there is one way only
    drawn = {f"{body.name}.angle": body.angle for body in m.bodies}
    turned = {name: _turn(state[name] - angle) for name, angle in drawn.items()}
    turned = {name: turn for name, turn in turned.items() if abs(turn) > math.pi / 2}
    if not turned:
        return {}
    try:
        other = again({name: drawn[name] for name in turned})
    except DalembertError:
        return {}
    return {
        name.removesuffix(".angle"): math.degrees(turn)
        for name, turn in turned.items()
        if abs(_turn(other[name] - drawn[name])) <= math.pi / 2
    }


def warning(m: Mechanism, turned: Mapping[str, float]) -> str:
    """What to say of them, with the option that closes the loop the other way."""
    told = ", ".join(f"{name} turned by {abs(turn):.0f} deg" for name, turn in turned.items())
    guess = " ".join(f"--guess {name}.angle={math.degrees(m[name].angle):g}deg" for name in turned)
    return f"warning: assembled far from the drawing: {told}. Nearer to it with {guess}"


def _turn(angle: float) -> float:
    """Between -π and π."""
    return math.remainder(angle, math.tau)
