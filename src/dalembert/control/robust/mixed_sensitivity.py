"""Mixed sensitivity: weights on the error, the command and the output (Skogestad and Postlethwaite 2005, section 3.8).

    min ‖ [W₁ S; W₂ K S; W₃ T] ‖∞ ,    S = (I + G K)⁻¹ ,  T = G K S

The controller reads y - r, so the law follows references of the outputs. A weight W₁ with a large static gain asks for
a small steady error; it must be stable, so an integrator is replaced by a pole slightly left of zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from dalembert.control.plant import Driven, Plant, Sensors
from dalembert.control.robust.generalized_plant import (
    Fastest,
    choose_channels,
    require_stabilizing_controller,
)
from dalembert.control.robust.hinf import BackOff, Tolerance, synthesize
from dalembert.control.robust.synthesis import Synthesis
from dalembert.core.arguments import real_number
from dalembert.core.declare import ArgumentKind, Scope, checked, either
from dalembert.core.errors import DataError
from dalembert.core.text import list_names
from dalembert.linear import StateSpace, connect
from dalembert.linear.transforms.gramians import is_stable
from dalembert.loop.names import reference_name


def _read_weight(name: str, value: Any, scope: Scope) -> StateSpace:
    if not isinstance(value, StateSpace):
        return StateSpace.gain([[real_number(name, value)]])
    DataError.when(
        value.nu != value.ny, "wrong-shape",
        f"{name} must have one output per input, or one of each for all channels; it has {value.nu} inputs and "
        f"{value.ny} outputs.",
    )  # fmt: skip
    return value


WEIGHT = ArgumentKind("a number or a StateSpace with one channel, or as many as it weighs", _read_weight)
Weight = Annotated[Any, WEIGHT, "weight"]


@checked(either("error", "command", "output", why="a mixed sensitivity needs a weight"))
def mixed_sensitivity(
    system: Plant,
    *,
    error: Annotated[Any, WEIGHT, "W₁ of the error r - y"] | None = None,
    command: Annotated[Any, WEIGHT, "W₂ of the driven inputs"] | None = None,
    output: Annotated[Any, WEIGHT, "W₃ of the outputs"] | None = None,
    outputs: Sensors = None,
    inputs: Driven = None,
    back_off: BackOff = 0.02,
    fastest: Fastest | None = None,
    tolerance: Tolerance = 1e-5,
) -> Synthesis:
    """The controller with the smallest weighted sensitivities.

    Parameters
    ----------
    system : StateSpace or SecondOrder
        The plant alone, without weights.
    outputs, inputs : names of what is read and follows a reference, and of what is driven; all where left out.
    back_off, fastest : as of :func:`hinf`.

    Examples
    --------
    >>> from dalembert.control import tf
    >>> plant = tf([200.0], np.polymul([10.0, 1.0], [0.0025, 0.1, 1.0]))
    >>> design = mixed_sensitivity(plant, error=tf([1 / 1.5, 10.0], [1.0, 1e-3]), command=1.0)
    >>> round(design.bounds[1], 2)
    1.37
    """
    read, drives = tuple(outputs or ()), tuple(inputs or ())
    signals = [f"{name}.plant" for name in read]
    references = [reference_name(name) for name in read]
    plant = system.select(inputs=drives, outputs=read).replace(outputs=signals)
    n = len(read)
    difference = StateSpace.gain(np.hstack([np.eye(n), -np.eye(n)]), inputs=[*signals, *references], outputs=read)
    parts, shown = {"plant": plant, "difference": difference}, []
    for word, weight, names in (("error", error, read), ("command", command, drives), ("output", output, signals)):
        if weight is not None:
            parts[word] = spread(weight, names, word)
            shown += parts[word].outputs
    whole = connect(parts, inputs=[*references, *drives], outputs=[*shown, *read])
    channels = choose_channels(whole, None, None, read, drives)
    require_stabilizing_controller(whole, channels)
    return synthesize(whole, channels, back_off, fastest, tolerance, "mixed sensitivity")


def spread(weight: StateSpace, channels: Sequence[str], word: str, *, stable: bool = True) -> StateSpace:
    """The weight on each of the channels; a weight of one channel serves all."""
    DataError.when(
        stable and not is_stable(weight), "unstable",
        f"the weight of the {word} must be stable, so that a norm exists; it has poles at "
        f"{list_names([f'{value:.3g}' for value in weight.poles().values], {})}. Move a pole at zero slightly to the "
        "left, such as -1e-3 of the bandwidth.", where={"argument": word},
    )  # fmt: skip
    names = [f"{name}.{word} weighted" for name in channels]
    if weight.nu == len(channels):
        return weight.replace(inputs=channels, outputs=names)
    DataError.when(
        weight.nu != 1, "wrong-shape",
        f"the weight of the {word} has {weight.nu} channels; it needs 1 or {len(channels)}.", where={"argument": word},
    )  # fmt: skip
    A, B, C, D = (np.kron(np.eye(len(channels)), each) for each in (weight.A, weight.B, weight.C, weight.D))
    states = [f"{name}.{state}" for name in channels for state in weight.states]
    return StateSpace(A, B, C, D, weight.dt, states=states, inputs=channels, outputs=names)
