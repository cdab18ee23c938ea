"""Controllability and observability of the modes.

A mode λ is reached where rank [A - λ I, B] = n, seen where rank [A - λ I; C] = n (Popov, Belevitch and Hautus). The
states are balanced first, and B and C brought to the size of A, so that one tolerance fits all units. A system is
stabilizable where every mode that does not decay by itself is reached, detectable where every such mode is seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg

from dalembert.control.plant import Driven, Outputs, Plant
from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.declare import checked
from dalembert.core.errors import DataError
from dalembert.core.results import column, result, rows, table
from dalembert.core.text import list_names
from dalembert.linear.eigen.roots import continuous
from dalembert.linear.transforms.forms import reachable
from dalembert.numerics.balancing import balance_matrix


@result
class ModeReach:
    """One mode: eigenvalue, coordinates, and how strongly it is reached or seen (1: largest possible)."""

    eigenvalue: complex
    frequency: float = column("Hz", show=lambda omega: f"{omega / (2.0 * np.pi):.5g}")
    decays: bool = column("decays")
    strength: float = column("strength", show=".2e")
    states: tuple[str, ...] = column("states", show=lambda names: ", ".join(names[:3]), left=True)
    # strength, of the balanced matrix, below which a mode is not reached: rounding leaves 1e-15
    weakest: float = 1e-11

    @property
    def missed(self) -> bool:
        return self.strength <= self.weakest

    def words(self) -> str:
        """``the mode at 1.37 Hz, of phi and x3``, or ``the mode with the eigenvalue -2, of x1``."""
        hertz = self.frequency / (2.0 * np.pi)
        where = " and ".join(self.states[:3])
        name = f"at {hertz:.4g} Hz" if hertz > 0.0 else "at rest (frequency 0)"
        if hertz > 0.0 and self.eigenvalue.imag == 0.0:
            name = f"with the eigenvalue {self.eigenvalue.real:.4g}"
        return f"the mode {name}, of {where}" + ("" if self.decays else " (which does not decay by itself)")


@result
class Reach:
    """Modes of a system and whether they are reached (or seen), weakest first.

    Attributes
    ----------
    modes : tuple of ModeReach
    verb : "reached" or "seen"
    by : inputs or outputs
    complete : every mode is (controllable, observable).
    sufficient : every mode that does not decay by itself is (stabilizable, detectable).
    """

    modes: tuple[ModeReach, ...] = rows()
    verb: str
    by: tuple[str, ...]

    @property
    def complete(self) -> bool:
        return not any(mode.missed for mode in self.modes)

    @property
    def sufficient(self) -> bool:
        return not any(mode.missed and not mode.decays for mode in self.modes)

    def words(self) -> str:
        """One sentence."""
        missed = [mode.words() for mode in self.modes if mode.missed]
        by = list_names(self.by, {}) or "nothing"
        if not missed:
            return f"every mode is {self.verb} by {by}."
        return f"not {self.verb} by {by}: {'; '.join(missed)}."

    def table(self) -> str:
        """The sentence and one line per mode."""
        return f"{self.words()}\n{table(self)}"


@checked
def controllability(system: Plant, *, inputs: Driven = None) -> Reach:
    """Which modes the inputs reach, and how strongly.

    Examples
    --------
    >>> from dalembert.linear import SecondOrder
    >>> pair = SecondOrder(np.eye(2), [[2, -1], [-1, 2]], B=[1, 1], inputs="push")
    >>> controllability(pair).words()
    'not reached by push: the mode at 0.2757 Hz, of x1 and x2 (which does not decay by itself).'
    """
    names, model = tuple(inputs or ()), system
    B = model.B[:, [model.inputs.index(name) for name in names]]
    return _weakest_first(_modes(model.A, B, model.dt, model.states, 0.0, every=True), "reached", names)


@checked
def observability(system: Plant, *, outputs: Outputs = None) -> Reach:
    """Which modes the outputs show, and how strongly.

    Examples
    --------
    >>> from dalembert.linear import StateSpace
    >>> observability(StateSpace([[0, 1], [0, 0]], C=[[0, 1]], states=["position", "speed"])).complete
    False
    """
    names, model = tuple(outputs or ()), system
    C = model.C[[model.outputs.index(name) for name in names]]
    return _weakest_first(_modes(model.A.T, C.T, model.dt, model.states, 0.0, every=True), "seen", names)


def _weakest_first(modes: list[ModeReach], verb: str, by: tuple[str, ...]) -> Reach:
    return Reach(tuple(sorted(modes, key=lambda mode: mode.strength)), verb, by)


def _modes(
    A: FloatArray,
    B: FloatArray,
    dt: float | None,
    states: Sequence[str],
    degree: float,
    *,
    every: bool,
    many: int = 60,  # states up to which every mode is judged by singular values: n⁴, instead of left eigenvectors: n³
    alone: float = 1e-6,  # distance of simple eigenvalues, of the matrix: rounding moves a double one by √1e-15
) -> list[ModeReach]:
    """Modes of the pair (A, B); with ``every`` false only those that do not decay (faster than ``degree``)."""
    balanced, scale = balance_matrix(A)
    size = float(np.linalg.norm(balanced)) or 1.0
    B = B / scale[:, None]
    B = B * (size / (float(np.linalg.norm(B)) or 1.0))
    values, left = np.linalg.eigvals(balanced).astype(np.complex128), None
    if len(A) > many:
        values, left = scipy.linalg.eig(balanced, left=True, right=False)
    lasting = does_not_decay(values, dt, degree)
    found: list[ModeReach] = []
    for k, (value, lasts) in enumerate(zip(values, lasting, strict=True)):
        if value.imag < 0.0 or not (every or lasts):
            continue
        # wᴴ A = λ wᴴ: the combination of states that no other affects; of the transposed system the shape not seen
        alike = np.flatnonzero(np.abs(values - value) <= alone * size)
        if left is not None and len(alike) == 1:
            w, strength = left[:, k], float(np.linalg.norm(left[:, k].conj() @ B))
        else:  # equal modes each have their own direction, the weakest first
            U, singular, _ = np.linalg.svd(np.hstack([balanced - value * np.eye(len(A)), B]), full_matrices=False)
            place = -1 - int(np.flatnonzero(alike == k)[0])
            w, strength = U[:, place], float(singular[place])
        found.append(_mode(value, w, strength / size, not bool(lasts), dt, states, size))
    return found


def _mode(
    value: complex,
    w: Any,
    strength: float,
    decays: bool,
    dt: float | None,
    states: Sequence[str],
    size: float,
    still: float = 1e-6,  # frequency, of the matrix, that is 0: rounding moves a double zero by √1e-15
) -> ModeReach:
    frequency = float(abs(continuous(np.array([value]), dt)[0])) if value != 0.0 or dt is None else np.inf
    frequency = 0.0 if frequency < still * size and dt is None else frequency
    return ModeReach(complex(value), frequency, decays, strength, _name_coordinates(np.abs(w), states))


def out_of_reach(
    A: FloatArray, B: FloatArray, dt: float | None, states: Sequence[str]
) -> tuple[FloatArray, FloatArray, list[ModeReach]]:
    """Bases T (n, k) and S (k, n), S T = I, of the states that are reached, and the modes of the rest.

    By the staircase form, which also counts defective modes correctly; both conjugates of a pair are listed.
    """
    balanced, scale = balance_matrix(A)
    basis = reachable(balanced, B / scale[:, None], ModeReach.weakest)
    T, S = scale[:, None] * basis, basis.T / scale
    if basis.shape[1] == len(A):
        return T, S, []
    rest = scipy.linalg.null_space(basis.T) if basis.shape[1] else np.eye(len(A))
    values, left = scipy.linalg.eig(rest.T @ balanced @ rest, left=True, right=False)
    size = float(np.linalg.norm(balanced)) or 1.0
    decays = ~does_not_decay(values, dt).astype(bool)
    modes = [_mode(v, rest @ left[:, k], 0.0, bool(decays[k]), dt, states, size) for k, v in enumerate(values)]
    return T, S, modes


def _name_coordinates(part: FloatArray, states: Sequence[str], least: float = 0.2, most: int = 6) -> tuple[str, ...]:
    """At most ``most`` coordinates with a part above ``least`` of the largest; a rate counts with its coordinate."""
    total: dict[str, float] = {}
    for name, size in zip(states, part, strict=True):
        base = name.removesuffix(".rate")
        total[base] = max(total.get(base, 0.0), float(size))
    largest = max(total.values())
    order = sorted(total, key=lambda name: -round(total[name], 6))
    return tuple(name for name in order if total[name] > least * largest)[:most]


def does_not_decay(values: ComplexArray, dt: float | None, degree: float = 0.0, within: float = 1e-9) -> FloatArray:
    """Whether each pole is on or outside the stability boundary, which ``degree`` moves inwards.

    within : distance to the boundary, of the largest pole, that no decay shows.
    """
    if dt is None:
        return np.asarray(values.real >= -degree - within * np.abs(values).max(initial=0.0))
    return np.asarray(np.abs(values) >= np.exp(-degree * dt) - within)


def require_stabilizable(
    A: FloatArray, B: FloatArray, dt: float | None, states: Sequence[str], inputs: Sequence[str], degree: float = 0.0
) -> None:
    """Refuse a pair with a mode that neither decays nor is reached."""
    missed = [mode for mode in _modes(A, B, dt, states, degree, every=False) if mode.missed]
    if missed:
        _refuse(missed, f"is not reached by {list_names(inputs, {})}", "stabilizable", degree,
                "Add an input that moves it, some damping, or take it out of the model: system.minimal().")  # fmt: skip


def require_detectable(
    A: FloatArray, C: FloatArray, dt: float | None, states: Sequence[str], degree: float = 0.0,
    *, what: str = "costs nothing", advice: str = "Give it a weight in Q (or Qy).", border: bool = True,
) -> None:  # fmt: skip
    """Refuse a pair with a mode on the stability boundary (``border`` false: or outside) that no row of C sees."""
    modes = [mode for mode in _modes(A.T, C.T, dt, states, degree, every=False) if mode.missed]
    if border:
        modes = [mode for mode in modes if on_border(mode.eigenvalue, A, dt, degree)]
    if modes:
        _refuse(modes, what, "detectable", degree, advice)


def on_border(value: complex, A: FloatArray, dt: float | None, degree: float, within: float = 1e-7) -> bool:
    """Whether an eigenvalue is on the stability boundary (the regulator mirrors modes outside without weight).

    within : distance to the boundary: a double pole there is computed to √1e-15.
    """
    if dt is None:
        return abs(value.real + degree) <= within * max(float(np.linalg.norm(A)), abs(value))
    return abs(abs(value) - float(np.exp(-degree * dt))) <= within


def _refuse(modes: list[ModeReach], what: str, word: str, degree: float, advice: str) -> None:
    each = list(dict.fromkeys(mode.words() for mode in modes))
    shown = "; ".join(each[:4]) + ("; ..." if len(each) > 4 else "")
    shown = shown.replace(" (which does not decay by itself)", "")
    by = "does not decay by itself" if not degree else f"does not decay as fast as degree = {degree:g} 1/s requires"
    raise DataError("not-reachable", f"not {word}: {shown} {what} and {by}. {advice}")
