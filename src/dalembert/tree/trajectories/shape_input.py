"""Motions that leave no vibration behind: input shapers for the lowest modes of a machine.

A shaped motion is the sum of delayed copies, Σ Aᵢ x(t - tᵢ) with Σ Aᵢ = 1. Of a mode with poles -ζω ± j ω_d it leaves,
after the last copy, the share

    V = e^(-ζω t_n) |Σ Aᵢ e^((ζω + j ω_d) tᵢ)|

of the vibration that a jump would excite. With K = e^(-ζ π / √(1 - ζ²)) and half a period π/ω_d between the copies,
Aᵢ ~ aᵢ Kⁱ:

    ZV   a = 1, 1       V = 0, proportional to an error of the frequency
    ZVD  a = 1, 2, 1    V = 0, proportional to the square of an error
    EI   a = (1 + v)/4, (1 - v)/2, (1 + v)/4    V is the tolerance at the mode, and 0 on both sides of it

with v equal to the tolerance without damping. Where v would be above 1 a mode dies out below the tolerance within its
own period: copies would take from each other, and EI is refused. Shapers of several modes are convolved (Singer and
Seering 1990; Singhose, Seering and Singer 1994).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.declare import above_and_below, checked, count, instance, one_of
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.linear import Modes
from dalembert.record import Record
from dalembert.tree.trajectories.waypoints import sample_grid

KINDS = ("zv", "zvd", "ei")


@checked
def shape_input(
    motion: Annotated[Record, instance(Record), "from rest to rest, as `da.tree.quintic` makes it"],
    modes: Annotated[
        Modes | Sequence[Modes], instance(Modes, list, tuple),
        "of the machine at the poses of the motion, with its joints held: those at its end matter most",
    ],
    kind: Annotated[str, one_of(*KINDS), "no vibration; none for small errors too; or a tolerance over a band"] = "zvd",
    *,
    lowest: Annotated[int, count(1), "number of modes"] = 1,
    tolerance: Annotated[float, above_and_below(0.0, 0.5), "share of the vibration that EI leaves at the mode"] = 0.05,
    every: Annotated[float | None, "largest interval between samples [s]; None: that of the motion"] = None,
) -> Record:  # fmt: skip
    """A motion made of delayed copies of another one, after which the lowest modes do not vibrate.

    Of several poses the mean of each mode counts. It takes longer by the last delay, half a period of each mode (ZV) or
    a whole one (ZVD, EI).

    Returns
    -------
    Record with the channels of `motion`; `statistics` has the ``delays`` [s] and ``amplitudes`` of the copies, and
    ``residual``, the largest share of vibration that is left at one of the poses. The interval divides half a period of
    the lowest mode.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("arm", planar=True)
    >>> rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    >>> joint = m.add_revolute("shoulder", m.ground.at(0, 0), rod.at(-0.5, 0))
    >>> motion = da.tree.quintic(da.equations(m, coordinates="joint"), {"shoulder": [0.0, 1.0]}, 1.0)
    >>> modes = da.SecondOrder(M=[[1.0]], K=[[(2 * 3.14159265) ** 2]]).modes()  # 1 Hz, without damping
    >>> shaped = da.tree.shape_input(motion, modes, "zv")
    >>> [round(delay, 6) for delay in shaped.statistics["delays"]], shaped.statistics["amplitudes"]
    ([0.0, 0.5], [0.5, 0.5])
    """
    if not isinstance(modes, Modes) and not len(modes):
        raise DataError("empty", "modes are empty: give those of the machine at one pose at least.")
    poses = np.array([_lowest_poles(one, lowest) for one in ([modes] if isinstance(modes, Modes) else modes)])
    delays, amplitudes = np.zeros(1), np.ones(1)
    for pole in poses.mean(axis=0):
        times, shares = make_shaper(pole, kind, tolerance)
        delays, amplitudes = np.add.outer(delays, times).ravel(), np.multiply.outer(amplitudes, shares).ravel()
    order = np.argsort(delays, kind="stable")
    delays, amplitudes = delays[order], amplitudes[order]
    residual = max(vibration_left(delays, amplitudes, pole) for pole in poses.ravel())
    half = np.pi / float(poses.mean(axis=0)[0].imag)
    step = (motion.time[-1] - motion.time[0]) / max(len(motion.time) - 1, 1) if every is None else every
    interval = half / (len(sample_grid(0.0, half, step)) - 1)
    length = motion.time[-1] - motion.time[0] + delays[-1]
    time = motion.time[0] + interval * np.arange(int(np.ceil(length / interval * (1 - 1e-12))) + 1)  # rounding
    splines = _splines(motion)
    data = sum(a * _evaluate(splines, time - d) for d, a in zip(delays, amplitudes, strict=True))
    statistics = {"duration": float(time[-1] - time[0]), "delays": delays.tolist(), "amplitudes": amplitudes.tolist(),
                  "residual": float(residual)}  # fmt: skip
    return Record(
        time, np.asarray(data), motion.names, [motion.units[name] for name in motion.names], name=motion.name,
        provenance={**motion.provenance, "shaper": kind}, statistics={**motion.statistics, **statistics},
    )  # fmt: skip


def make_shaper(pole: complex, kind: str, tolerance: float = 0.05) -> tuple[FloatArray, FloatArray]:
    """Delays and amplitudes for one pole with positive imaginary part [rad/s]."""
    decay = np.exp(np.pi * pole.real / pole.imag)  # K
    v = tolerance * (1 + decay) ** 2 / (4 * decay**2 - tolerance * (1 - decay) ** 2)
    if kind == "ei" and not 0.0 < v <= 1.0:
        problem = (
            f"a mode with a damping ratio of {-pole.real / abs(pole):.2g} dies out below {tolerance:g} within a period"
        )
        raise DataError(
            "out-of-range",
            f"{problem}: a motion shaped by EI would overshoot.",
            Advice("Use {}.", Argument("kind", "zv")),
        )
    weights = {"zv": [1.0, 1.0], "zvd": [1.0, 2.0, 1.0], "ei": [1 + v, 2 * (1 - v), 1 + v]}[kind]
    amplitudes = np.array(weights) * decay ** np.arange(len(weights))
    shares: FloatArray = np.asarray(amplitudes / amplitudes.sum(), dtype=np.float64)
    return np.asarray(np.pi / pole.imag * np.arange(len(weights)), dtype=np.float64), shares


def vibration_left(delays: FloatArray, amplitudes: FloatArray, pole: complex) -> float:
    """V of a mode with this pole after the last copy."""
    return float(np.abs(np.sum(amplitudes * np.exp(pole * (delays[-1] - delays)))))


def _lowest_poles(modes: object, number: int, growing: float = 1e-9) -> ComplexArray:
    """Poles of the lowest vibrations, those with positive imaginary part.

    growing : real part of an eigenvalue that is growth: rounding of eigenvalues is 1e-13.
    """
    if not isinstance(modes, Modes):
        made = Advice("Such as {}.", Call("da.linearize(eqs, at=state).modes"))
        raise DataError("wrong-type", f"modes must be Modes, one for each pose, got {modes!r:.60}.", made)
    poles = modes.eigenvalues[modes.eigenvalues.imag > 0.0][:number]
    if len(poles) < number:
        few = Advice("Ask for fewer with {}.", Argument("lowest"))
        raise DataError("no-modes", f"{number} modes are to be shaped, {len(poles)} vibrate.", few)
    if (poles.real > growing * np.abs(poles)).any():
        raise DataError("unstable", "a vibration that grows cannot be shaped: its damping is negative.")
    return np.asarray(poles)


def _splines(motion: Record, moving: float = 1e-9) -> list[Any]:
    """Polynomials of degree five through positions, rates and accelerations of every coordinate.

    moving : rate at an end, of the largest, that is motion: rounding of generators is 1e-15.
    """
    from scipy.interpolate import BPoly

    names, splines = motion.names, []
    for k in range(0, len(names), 3):
        unit = motion.units[names[k]]
        if [motion.units[name] for name in names[k : k + 3]] != [unit, f"{unit or 1}/s", f"{unit or 1}/s^2"]:
            problem = f"channel {names[k]!r} is no coordinate with its rate and its acceleration behind it."
            raise DataError("missing-channel", problem, where={"channel": names[k]})
        values = motion.data[:, k : k + 3]
        if np.abs(values[[0, -1], 1]).max() > moving * np.abs(values[:, 1]).max():
            problem = f"{names[k]!r} moves at an end of the motion: copies of it would jump."
            raise DataError("not-at-rest", problem, where={"channel": names[k]})
        splines.append(BPoly.from_derivatives(motion.time, values))
    return splines


def _evaluate(splines: Sequence[Any], time: FloatArray) -> FloatArray:
    """Positions, rates and accelerations at any time; at rest before and behind the motion."""
    columns = []
    for spline in splines:
        begin, end = spline.x[0], spline.x[-1]
        inside = np.clip(time, begin, end)
        moves = (time >= begin) & (time <= end)
        columns += [spline(inside), *(moves * spline.derivative(n)(inside) for n in (1, 2))]
    return np.column_stack(columns)
