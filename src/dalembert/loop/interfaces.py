"""The two interfaces of a closed loop: one step of a controller and one step of an observer, each as an expression.

`da.control` and `da.estimate` make them, `da.simulate` puts them around a machine, `da.export_c` writes them as C,
`da.export_object` as machine code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import casadi as ca

from dalembert.equations import Channels
from dalembert.expressions import Array


@dataclass(frozen=True, eq=False)
class SingularityMonitor:
    """The distance of a law to a singularity, a pose at which it has no solution.

    function : that of the law with two more outputs, (margin, residual). The margin goes through zero at a singularity.
        The residual, 0 to 1, is the relative size of the equation that the law has to solve there: where it vanishes
        too, the singularity may be passed.
    explain : (reads, t) -> the reason of the singularity, as the rest of a sentence.
    """

    function: ca.Function
    explain: Callable[[Array, float], str]


@dataclass(frozen=True, eq=False)
class Law:
    """A control law as an expression, with the names of the values that it reads and of the inputs that it drives.

    ``function`` (reads, state, references, p, t) -> (u, next state). With ``dt`` None the second is the rate of the
    state and the law acts continuously; else it acts every ``dt`` seconds and u is held.

    reads : sensors, coordinates, speeds, measures or internal states of the machine (or, behind an observer, of its
        estimate). Its own inputs may be read too, as they act when it reads: a direct law reads its last command, one
        that is not direct its new one.
    resting : values of references that are not given, such as those of an operating point; zero where empty.
    direct : whether u depends on values read at the same instant. A law that is not direct (a predictor with its
        estimate in the state) sets u first and reads while its new u acts; a direct one reads while its last u acts.
    monitor : of a law that is not defined at every pose; a run ends at its singularity.
    """

    name: str
    reads: tuple[str, ...]
    drives: tuple[str, ...]
    function: ca.Function
    dt: float | None = None
    state: Channels = field(default_factory=lambda: Channels((), ()))
    start: tuple[float, ...] = ()
    references: Channels = field(default_factory=lambda: Channels((), ()))
    direct: bool = True
    parameters: tuple[float, ...] = ()
    resting: tuple[float, ...] = ()
    monitor: SingularityMonitor | None = None


@dataclass(frozen=True, eq=False)
class ObserverStep:
    """One step of a filter as an expression, with the names of its sensors and of its estimate.

    ``function`` (state, u before, u now, y, measured, p, t, Δt) -> (next state, estimate): predicts from the last
    sample to time t under the inputs held before, then corrects with the sensors y (those with ``measured`` = 1) that
    were read under the inputs of now. With ``dt`` None it is continuous: (state, u, y, p, t) -> (rate of the state,
    estimate).

    reads : sensors (or measures) of the machine.  known : inputs that the filter knows.  gives : names of the estimate.
    """

    name: str
    reads: tuple[str, ...]
    known: tuple[str, ...]
    gives: Channels
    function: ca.Function
    dt: float | None
    state: Channels
    start: tuple[float, ...]
    parameters: tuple[float, ...] = ()


class Observer(Protocol):
    """A filter of ``da.estimate``, or an observer of ``da.control``."""

    def observer_step(self, dt: float | None = None) -> ObserverStep: ...


class Controller(Protocol):
    """A design of ``da.control``."""

    def law(self) -> Law: ...
