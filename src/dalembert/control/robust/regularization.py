"""The smallest penalty that makes a singular synthesis regular.

A synthesis by Riccati equations needs a weight on every command (D₁₂ of full column rank), noise on every reading (D₂₁
of full row rank), and no zero of either path on the imaginary axis. What is missing is added with a strength ε, in
states of like size,

    z gains  ε ‖C₁‖/‖A‖ N S u  and  ε ‖C₁‖ x ,        w gains  ε ‖B₁‖/‖A‖ S Nᵀ y  and  ε ‖B₁‖ x′

N are the commands (readings) without weight, or next to none, and S has the norms of the columns of B₂ (the rows of
C₂), so that no unit counts. The smaller ε, the nearer the loop is to the smallest norm and the faster are its poles: ε
falls from 1 until a pole passes the limit. The norm is that of the original problem.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from dalembert.control.plant import replace_fields
from dalembert.control.robust.generalized_plant import GeneralizedPlant, null_rows, parrott_bound
from dalembert.control.robust.synthesis import Synthesis
from dalembert.core.arrays import FloatArray
from dalembert.numerics.riccati import hamiltonian_scale


@dataclass(frozen=True)
class Penalized:
    """A plant with penalties, what they are in words, and a lower bound of the norm of the original problem."""

    plant: GeneralizedPlant
    added: tuple[str, ...] = ()
    lower: float = 0.0


@dataclass(frozen=True)
class Missing:
    """What one side of a problem lacks: directions without weight, and frequencies [rad/s] of zeros on the axis."""

    directions: FloatArray
    axis: tuple[float, ...]

    def __bool__(self) -> bool:
        return bool(len(self.directions) or self.axis)


Attempt = Callable[[Penalized], Synthesis | None]


def penalize(
    plant: GeneralizedPlant, attempt: Attempt, fastest: float | None, *, lowest: int = -8, steps: int = 3,
    as_good: float = 1e-3,
) -> Synthesis | None:  # fmt: skip
    """The design of the problem as it is where it is regular, else that of the smallest penalty below the limit.

    lowest : exponent of the weakest penalty: √ε of double precision.  steps : of bisection of the exponent, a factor of
    1.3.  as_good : share by which a norm may exceed the best one for a smaller penalty.
    """
    command, reading = find_missing(plant), find_missing(plant.transposed())
    if not command and not reading:
        design = attempt(Penalized(plant))
        if design is not None and pole_speed(design) <= (fastest or np.inf):
            return design
        if design is None:
            command, reading = (replace(each, axis=(np.nan,)) for each in (command, reading))
        else:
            command, reading = (find_missing(each, negligible=np.inf) for each in (plant, plant.transposed()))
    limit = fastest or 200.0 * max(float(np.linalg.norm(plant.A, 2)) if plant.nx else 0.0, np.finfo(float).tiny)
    lower = lower_bound(plant)
    designs: dict[float, Synthesis] = {}
    slowest: Synthesis | None = None

    def add(exponent: float) -> bool:
        """Whether the penalty keeps the poles below the limit, or leads to no loop."""
        nonlocal slowest
        design = attempt(_add_penalties(plant, command, reading, 10.0**exponent, lower))
        if design is None:
            return True
        if slowest is None or pole_speed(design) < pole_speed(slowest):
            slowest = design
        if pole_speed(design) > limit:
            return False
        designs[exponent] = design
        return True

    for k in range(0, lowest - 1, -1):
        if not add(float(k)):
            low, high = float(k), k + 1.0
            for _ in range(steps * (k < 0)):
                middle = 0.5 * (low + high)
                low, high = (low, middle) if add(middle) else (middle, high)
            break
    if not designs and slowest is not None:
        word = f"fastest pole {pole_speed(slowest):.3g} rad/s, above the limit {limit:.3g} rad/s: no penalty is slower"
        return replace_fields(slowest, regularized=(*slowest.regularized, word))  # type: ignore[no-any-return]
    if not designs:
        return None
    best = min(design.achieved for design in designs.values())
    return designs[min(k for k, design in designs.items() if design.achieved <= (1.0 + as_good) * best)]


def pole_speed(design: Synthesis) -> float:
    """Largest modulus of the poles [rad/s]; of a sampled loop in the plane s = (z - 1)/(z + 1) of the synthesis."""
    values = design.poles.values
    if design.dt is None or not len(values):
        return float(np.abs(values).max(initial=0.0))
    return float(np.abs((values - 1.0) / (values + 1.0)).max())


def find_missing(plant: GeneralizedPlant, axis: float = 1e-6, zero: float = 1e-8, negligible: float = 1e-5) -> Missing:
    """Of the command; of the transposed plant that of the reading.

    negligible : weight, of the gain ‖C₁‖ ‖B₂‖/‖A‖, that counts as none: its loop would have poles at its inverse, and
    double precision has no digits left for them.
    axis, zero : real part of an eigenvalue of the Hamiltonian matrix of the regulator, of its modulus and of the
    largest one, that is zero: a double one on the axis is split to √ε.
    """
    n, size = plant.nx, _sizes(plant)
    directions = null_rows(plant.D12 / size, negligible * _gain(plant)) * size
    C = np.vstack([plant.C1, np.zeros((len(directions), n))])
    D = np.vstack([plant.D12, directions * max(1.0, float(np.abs(plant.D12 / size).max(initial=0.0)))])
    both = np.linalg.solve(D.T @ D, np.hstack([D.T @ C, plant.B2.T]))
    A, G = plant.A - plant.B2 @ both[:, :n], plant.B2 @ both[:, n:]
    Q = C.T @ C - C.T @ D @ both[:, :n]
    scale = hamiltonian_scale(A, G, Q)
    A, G, Q = A * scale / scale[:, None], G / scale[:, None] / scale, Q * scale[:, None] * scale
    values = scipy.linalg.eigvals(np.block([[A, -G], [-Q, -A.T]]))
    size = np.abs(values)
    on_axis = np.abs(values.real) <= axis * size + zero * size.max(initial=0.0)
    return Missing(directions, tuple(sorted({float(f"{abs(w):.4g}") for w in values.imag[on_axis]})))


def lower_bound(plant: GeneralizedPlant, count: int = 60, condition: float = 1e10) -> float:
    """Largest of Parrott's bounds at infinity and at ``count`` frequencies: no controller has a smaller norm.

    condition : of i ω I - A, above which a frequency is too near to a pole on the axis for six digits.
    """
    bounds = [parrott_bound(plant.D11, plant.D12, plant.D21)]
    if not plant.nx:
        return bounds[0]
    size = float(np.linalg.norm(plant.A, 2)) or 1.0
    B, C = np.hstack([plant.B1, plant.B2]), np.vstack([plant.C1, plant.C2])
    D = np.block([[plant.D11, plant.D12], [plant.D21, plant.D22]])
    nw, nz = plant.B1.shape[1], len(plant.C1)
    for omega in np.geomspace(1e-3 * size, 1e3 * size, count):
        matrix = 1j * omega * np.eye(plant.nx) - plant.A
        if np.linalg.cond(matrix) > condition:  # at a pole on the axis
            continue
        G = C @ np.linalg.solve(matrix, B) + D
        bounds.append(parrott_bound(G[:nz, :nw], G[:nz, nw:], G[nz:, :nw]))
    return max(bounds)


def _add_penalties(
    plant: GeneralizedPlant, command: Missing, reading: Missing, strength: float, lower: float
) -> Penalized:
    added, dual_added = _words(command, "command", strength), _words(reading, "reading", strength)
    with_command = _add_rows(plant, command, strength)
    with_both = _add_rows(with_command.transposed(), reading, strength).transposed()
    return Penalized(with_both, (*added, *dual_added), lower)


def _add_rows(plant: GeneralizedPlant, missing: Missing, strength: float) -> GeneralizedPlant:
    """Rows of z; of the transposed plant they are columns of w."""
    n, nw, k = plant.nx, plant.B1.shape[1], len(missing.directions)
    rows = n if missing.axis else 0
    states = strength * (_norm(plant.C1) or 1.0) * np.eye(n)[:rows]
    return replace(
        plant, C1=np.vstack([plant.C1, np.zeros((k, n)), states]),
        D11=np.vstack([plant.D11, np.zeros((k + rows, nw))]),
        D12=np.vstack([plant.D12, strength * _gain(plant) * missing.directions,
                       np.zeros((rows, plant.B2.shape[1]))]),
    )  # fmt: skip


def _norm(matrix: FloatArray) -> float:
    return float(np.linalg.norm(matrix, 2)) if matrix.size else 0.0


def _sizes(plant: GeneralizedPlant) -> FloatArray:
    """Norms of the columns of B₂, by which a command has the size of its effect; 1 where it has none."""
    size = np.linalg.norm(plant.B2, axis=0)
    return np.where(size > 0.0, size, 1.0)


def _gain(plant: GeneralizedPlant) -> float:
    """Size of a weight of the commands in units of their effect: ‖C₁‖/‖A‖."""
    speed = _norm(plant.A)
    gain = _norm(plant.C1) / speed if speed else 0.0
    return gain or float(np.abs(plant.D11).max(initial=0.0)) or 1.0


def _words(missing: Missing, noun: str, strength: float) -> tuple[str, ...]:
    count = len(missing.directions)
    kind = "weight" if noun == "command" else "noise"
    texts = [f"{count} {noun}{'s' * (count > 1)} without {kind}: {kind} of strength {strength:.2g}"] * bool(count)
    if missing.axis:
        at = ", ".join(f"{w:g}" for w in missing.axis[:4] if np.isfinite(w))
        where = f"zero on the axis at {at} rad/s" if at else "nearly singular"
        texts.append(f"path of the {noun} {where}: {kind} of all states, strength {strength:.2g}")
    return tuple(texts)
