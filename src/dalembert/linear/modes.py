"""Modes of a second-order system, as a frozen result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.errors import DataError
from dalembert.linear import checks
from dalembert.linear.checks import ComplexArray, FloatArray

# The real part of a computed eigenvalue below this, relative to the largest modulus, is not told from zero
# when a mode is called growing or decaying: companion-form rounding is some hundred times 2⁻⁵².
REAL_PART_TOLERANCE = 1e-12


class Modes(checks.Frozen):
    """Eigenvalues and shapes, one row per oscillatory pair or real eigenvalue, ascending in modulus.

    An oscillatory pair is listed once, with Im s > 0. A real eigenvalue has a row of its own, so an
    overdamped or diverging coordinate takes two. A rigid-body mode is one row with s exactly 0.

    Parameters
    ----------
    eigenvalues : (k,) complex
        s [rad/s].
    shapes : (n, k)
        Columns; real where all modes are. Mass-normalised, φᴴ M φ = 1, with the largest component
        real and positive (a mode that moves no mass has its largest component 1).
    coordinates : names of the n rows of ``shapes``
    provenance : mapping of plain values, optional
    """

    eigenvalues: ComplexArray
    shapes: FloatArray | ComplexArray
    coordinates: tuple[str, ...]
    provenance: Mapping[str, Any]

    def __init__(
        self,
        eigenvalues: ArrayLike,
        shapes: ArrayLike,
        coordinates: Iterable[str] | None = None,
        *,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        values = np.array(eigenvalues, dtype=np.complex128)
        raw = np.asarray(shapes)
        columns = np.array(raw, dtype=np.complex128 if np.iscomplexobj(raw) else np.float64)
        if values.ndim != 1 or columns.ndim != 2 or columns.shape[1] != len(values):
            raise DataError(
                f"eigenvalues have shape {values.shape} and shapes {columns.shape}; "
                "expected (k,) and (n, k), one column per mode."
            )
        if not (np.isfinite(values).all() and np.isfinite(columns).all()):
            raise DataError("eigenvalues and shapes must be finite.")
        names = checks.unique_names("coordinate", coordinates, checks.numbered("x", len(columns)), "these Modes")
        self._freeze(eigenvalues=values, shapes=columns, coordinates=names, provenance=provenance or {})

    def __len__(self) -> int:
        return len(self.eigenvalues)

    @property
    def frequencies(self) -> FloatArray:
        """Undamped natural frequencies \\|s\\| [rad/s]; of a real eigenvalue its rate of decay or growth."""
        return np.abs(self.eigenvalues)

    @property
    def frequencies_hz(self) -> FloatArray:
        """Undamped natural frequencies [Hz]."""
        return self.frequencies / (2.0 * np.pi)

    @property
    def damped_frequencies(self) -> FloatArray:
        """Frequencies of the free oscillation, Im s [rad/s]; 0 where a mode does not oscillate."""
        return np.array(self.eigenvalues.imag)

    @property
    def damping_ratios(self) -> FloatArray:
        """ζ = -Re s / \\|s\\|: negative for growing modes, ±1 for real eigenvalues, 0 for rigid-body modes."""
        size = np.abs(self.eigenvalues)
        zeta = np.divide(-self.eigenvalues.real, size, out=np.zeros(len(self)), where=size > 0.0)
        return zeta + 0.0  # -0.0 reads badly

    def mac(self, other: Modes | None = None) -> FloatArray:
        """Modal assurance criterion \\|φᴴψ\\|² / (φᴴφ ψᴴψ) of every mode against every mode of ``other``.

        Parameters
        ----------
        other : Modes, optional
            On the same coordinates; itself when left out.

        Returns
        -------
        (len(self), len(other))
        """
        against = self if other is None else other
        if against.coordinates != self.coordinates:
            odd = sorted(set(self.coordinates) ^ set(against.coordinates))
            what = f"only one side has {', '.join(odd[:6])}" if odd else "the same names stand in another order"
            raise DataError(f"MAC needs the same coordinates on both sides; {what}.")
        left = self.shapes / np.linalg.norm(self.shapes, axis=0)
        right = against.shapes / np.linalg.norm(against.shapes, axis=0)
        result: FloatArray = np.abs(left.conj().T @ right) ** 2
        return result

    def table(self) -> str:
        """Number, frequency, damping ratio, eigenvalue and kind of motion, one line per mode.

        Examples
        --------
        >>> print(Modes([1j * np.pi, -2.0], [[1.0, 1.0]], ["x"]).table())
        mode  frequency [Hz]  damping ratio  eigenvalue [rad/s]  motion
           1             0.5              0           0+3.1416i  oscillation
           2         0.31831              1                  -2  decay
        """
        head = ("mode", "frequency [Hz]", "damping ratio", "eigenvalue [rad/s]", "motion")
        zeta, hertz = self.damping_ratios, self.frequencies_hz
        rows = [
            (str(i + 1), f"{hertz[i]:.5g}", f"{zeta[i]:.4g}", _complex_text(self.eigenvalues[i]), kind)
            for i, kind in enumerate(self._kinds())
        ]
        widths = [max(len(row[j]) for row in [head, *rows]) for j in range(4)]
        lines = []
        for row in [head, *rows]:
            lines.append("  ".join([*(cell.rjust(width) for cell, width in zip(row[:4], widths, strict=True)), row[4]]))
        return "\n".join(lines)

    def _kinds(self) -> list[str]:
        noise = REAL_PART_TOLERANCE * np.abs(self.eigenvalues).max(initial=0.0)
        kinds = []
        for s in self.eigenvalues:
            if s == 0.0:
                kinds.append("rigid body")
            elif s.imag == 0.0:
                kinds.append("decay" if s.real < 0.0 else "divergence (unstable)")
            elif abs(s.real) <= noise:
                kinds.append("oscillation")
            else:
                kinds.append("decaying oscillation" if s.real < 0.0 else "growing oscillation (unstable)")
        return kinds

    def __repr__(self) -> str:
        head = f"Modes: {len(self)} on {len(self.coordinates)} coordinates ({checks.listed(self.coordinates, {})})"
        return f"{head}\n{self.table()}"


def _complex_text(s: complex) -> str:
    return f"{s.real:.5g}" if s.imag == 0.0 else f"{s.real + 0.0:.5g}{s.imag:+.5g}i"
