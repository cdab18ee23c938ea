"""Tracking of eigenvalues along a parameter, and their crossings.

Tracking: modes of neighbouring values are paired so that the sum of their MAC (similarity of shapes) is largest, with a
small weight of the distance between eigenvalues. Where the shapes of a pair differ, or one frequency overtakes another,
the interval is halved, so that shapes that turn quickly (veering) are tracked, and eigenvalues that pass each other
keep their shapes (crossing). A veering narrower than a hundredth of a step counts as a crossing.

Crossing: the number of eigenvalues beyond a line needs no pairing; it is bisected where it
changes. Against the imaginary axis the lines Re s = ±τ are used, and the crossing is midway: an eigenvalue that passes
through gives both; one that leaves the axis (flutter of an undamped system, where two eigenvalues meet and part like
a square root) gives +τ alone, which is then within τ² of the truth. A zero that rounding has split stays inside ±τ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.linalg

from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.errors import DataError
from dalembert.core.progress import Progress
from dalembert.linear.second_order import SecondOrder
from dalembert.linear.state_space import StateSpace
from dalembert.numerics import ties

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues (k,) [rad/s] and unit shapes (m, k) at one value of the parameter."""

    values: ComplexArray
    shapes: ComplexArray


class TrackedSpectra:
    """Spectra of the systems that ``build`` makes, each made once, on one scaling of the states."""

    def __init__(self, build: Callable[[float], Any], parameter: str, count: int | None) -> None:
        self.build, self.parameter, self.count = build, parameter, count
        self.known: dict[float, Spectrum] = {}
        self.scaling: FloatArray | None = None
        self.size: int | None = None
        self.provenance: dict[str, Any] = {}

    def __call__(self, value: float) -> Spectrum:
        if value not in self.known:
            self.known[value] = self._make(value)
        return self.known[value]

    def _make(self, value: float) -> Spectrum:
        system = self.build(value)
        where = f"at {self.parameter} = {value:.9g}"
        if not isinstance(system, (SecondOrder, StateSpace)):
            raise DataError(
                "wrong-type", f"build must return a SecondOrder or a StateSpace; {where} it is {type(system).__name__}."
            )
        self.provenance = self.provenance or dict(system.provenance)
        if isinstance(system, SecondOrder) and (self.count is not None or system.is_sparse):
            modes = system.modes(self.count)
            values, shapes = modes.eigenvalues, modes.shapes.astype(np.complex128)
        else:
            first = system if isinstance(system, StateSpace) else system.state_space()
            values, shapes = self._find_eigenpairs(first, where)
        if self.size is None:
            self.size = len(values)
        if len(values) != self.size:
            raise DataError(
                "wrong-shape",
                f"the number of eigenvalues changes along {self.parameter}: {len(values)} {where}, {self.size} before. "
                "The systems along a parameter need the same states throughout.",
            )
        return Spectrum(values, shapes / np.maximum(np.linalg.norm(shapes, axis=0), np.finfo(np.float64).tiny))

    def _find_eigenpairs(self, first: StateSpace, where: str) -> tuple[ComplexArray, ComplexArray]:
        if self.scaling is None:
            self.scaling = scipy.linalg.matrix_balance(first.A, permute=False, separate=True)[1][0]
        if len(self.scaling) != first.nx:
            raise DataError("wrong-shape", f"the number of states changes along {self.parameter}: {first.nx} {where}.")
        values, shapes = np.linalg.eig(first.A / self.scaling[:, None] * self.scaling)
        values, shapes = values.astype(np.complex128), shapes.astype(np.complex128)
        if first.dt is not None:  # to s = ln z / dt, so that both kinds are comparable; a delay (z = 0) far to the left
            size = np.maximum(np.abs(values), np.finfo(np.float64).tiny)
            values = (np.log(size) + 1j * np.angle(values)) / first.dt
        return values, shapes

    def follow(self, values: FloatArray, bar: Progress) -> ComplexArray:
        """(nv, k): eigenvalues at every value, each column one branch."""
        order: Any = ties.by_modulus(self(values[0]).values)
        table = [self(values[0]).values[order]]
        for a, b in pairwise(values):
            order = self._pair(float(a), float(b))[order]
            table.append(self(float(b)).values[order])
            bar.update(len(table) / len(values))
        return np.array(table)

    def _pair(
        self,
        a: float,
        b: float,
        halvings: int = 7,  # at most: a veering narrower than 2⁻⁷, a hundredth of a step, counts as a crossing
        distance: float = 0.3,  # weight of the distance of eigenvalues beside the MAC: for similar shapes
        similar: float = 0.6,  # MAC that needs no halving: above 0.5 no other of orthogonal shapes is as similar
    ) -> Any:
        """For every eigenvalue at ``a`` the number of its continuation at ``b``."""
        from scipy.optimize import linear_sum_assignment  # a third of the import time of this folder

        before, after = self(a), self(b)
        mac = np.abs(before.shapes.conj().T @ after.shapes) ** 2
        scale = max(float(np.abs(after.values).max(initial=0.0)), np.finfo(np.float64).tiny)
        apart = np.abs(before.values[:, None] - after.values) / scale
        rows, columns = linear_sum_assignment(distance * np.minimum(apart, 1.0) - mac)
        middle = 0.5 * (a + b)
        alike = mac[rows, columns].min(initial=1.0) >= similar
        sure = alike and not _overtakes(before.values, after.values[columns], scale)
        if halvings == 0 or sure or middle in (a, b):
            return columns
        # the spectra in between are needed once only
        temporary = middle not in self.known
        pairing = self._pair(middle, b, halvings - 1)[self._pair(a, middle, halvings - 1)]
        if temporary:
            self.known.pop(middle, None)
        return pairing

    # ---- counts

    def axis_tolerance(self, s: ComplexArray, rounding: float = 1e-7, zero: float = 1e-6) -> FloatArray:
        """(k,) τ: below it a real part is zero.

        Relative to the eigenvalue, or to the largest for those near ``zero`` of it: a double eigenvalue is computed to
        √ε = 1.5e-8 of the norm.
        """
        size = np.abs(s)
        largest = size.max(initial=0.0)
        result: FloatArray = rounding * np.where(size > zero * largest, size, largest)
        return result

    def growth(self, value: float) -> FloatArray:
        """(k,) distance of each eigenvalue to the right of the imaginary axis."""
        s = self.quick(value)
        return np.asarray(s.real - self.axis_tolerance(s))

    def decay(self, value: float) -> FloatArray:
        """(k,) distance of each eigenvalue to the left of it."""
        s = self.quick(value)
        return np.asarray(-s.real - self.axis_tolerance(s))

    def excess(self, value: float, order: float, rounding: float = 1e-7) -> FloatArray:
        """(k,) excess of each frequency over order x value; ``rounding`` as in :meth:`axis_tolerance`."""
        s = self.quick(value)
        return np.asarray(s.imag - max(order * abs(value), rounding * np.abs(s).max(initial=0.0)))

    def quick(self, value: float) -> ComplexArray:
        """Eigenvalues at a value that need not be kept."""
        return self.known[value].values if value in self.known else self._make(value).values


def _overtakes(before: ComplexArray, after: ComplexArray, scale: float, rounding: float = 1e-9) -> bool:
    """Whether an oscillation overtakes another in frequency: a crossing, or a veering too narrow to be seen."""
    upper = (before.imag > rounding * scale) & (after.imag > rounding * scale)
    first, last = before.imag[upper], after.imag[upper]
    moved = (first[:, None] - first) * (last[:, None] - last)
    return bool((moved < -((rounding * scale) ** 2)).any())


def jumps(
    gaps: Callable[[float], FloatArray],
    a: float,
    b: float,
    precision: float,
    root_share: float = 1e-3,  # absolute precision near zero, of the relative one at the larger end of the interval
    together: float = 1e-12,  # distance, of the interval, of a crossing that is found twice: rounding of the bisection
) -> list[tuple[float, int]]:
    """Places where gaps change sign between a and b, and the change of the number of positive ones; ascending.

    The m-th largest of continuous gaps is continuous, whichever of them it is: one bracketed root for every m.
    """
    first, last = (int(np.count_nonzero(gaps(value) > 0.0)) for value in (a, b))
    if first == last:
        return []
    from scipy.optimize import brentq

    change = 1 if last > first else -1
    roots: list[tuple[float, int]] = []
    for m in range(min(first, last) + 1, max(first, last) + 1):

        def level(value: float, m: int = m) -> float:
            return float(np.sort(gaps(value))[-m])

        xtol = root_share * precision * max(abs(a), abs(b))
        roots.append((float(brentq(level, a, b, xtol=xtol, rtol=max(precision, 4.0 * EPS))), change))
    merged: list[tuple[float, int]] = []
    for root, by in sorted(roots):
        # near zero the rounding of the eigenvalues keeps roots apart, not their own precision
        near = max(4.0 * precision * abs(root), together * (b - a))
        if merged and root - merged[-1][0] <= near:
            merged[-1] = (merged[-1][0], merged[-1][1] + by)
        else:
            merged.append((root, by))
    return merged
