"""Modes of a second-order system, as a frozen result.

modal mass m = φᴴ M φ,  modal stiffness k = φᴴ K φ
participation in a direction r:  Γ = φᴴ M r / m,  effective mass |φᴴ M r|² / m;  their sum over all modes is rᵀ M r
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.arguments import find_matching, name_or_number, whole_number
from dalembert.core.arrays import ComplexArray, FloatArray, assign, frozen
from dalembert.core.errors import DataError, require_name, unknown_name
from dalembert.core.tables import align_columns, display_latex, matrix_latex, small_table
from dalembert.core.text import complex_text, count_noun, list_names
from dalembert.linear.channels import places
from dalembert.numerics import ties

Direction = str | Mapping[str, float] | ArrayLike


def damping_text(ratio: float) -> str:
    """``"damping 2 %"``; empty where there is none.

    Examples
    --------
    >>> damping_text(0.02), damping_text(1e-12)
    ('damping 2 %', '')
    """
    return "" if is_undamped(ratio) else f"damping {100.0 * ratio:.3g} %"


def is_undamped(ratio: float, rounding: float = 1e-9) -> bool:
    """Whether a damping ratio counts as none: an amplitude would lose one percent in 1.6 million cycles.

    Eigenvalues of undamped systems leave about 1e-13.
    """
    return abs(ratio) <= rounding


def turns(imaginary: Any, largest: Any = 1.0, in_step: float = 0.02) -> Any:
    """Whether the points of a shape do not move in step, from its imaginary part: 0.02 is 1.1° of phase."""
    return imaginary > in_step * largest


def is_still(shapes: Any, largest: Any, rounding: float = 1e-12) -> Any:
    """Which components of shapes do not move, of the largest: rounding leaves 1e-15."""
    return np.abs(shapes) <= rounding * largest


@frozen(init=False)
class Modes:
    """Eigenvalues and shapes, one row per oscillatory pair or real eigenvalue, ascending in modulus.

    An oscillatory pair is listed once, with Im s > 0. A real eigenvalue has a row of its own, so an
    overdamped or diverging coordinate takes two. A rigid-body mode is one row with s exactly 0.

    Parameters
    ----------
    eigenvalues : (k,) complex
        s [rad/s].
    shapes : (n, k)
        Columns; real where all modes are. Those of a system are mass-normalised, φᴴ M φ = 1, with the
        largest component real and positive (a mode that moves no mass has its largest component 1).
    coordinates : names of the n rows of ``shapes``
    momenta, restoring : (n, k), optional
        M φ and K φ, for modal masses and stiffnesses, participation and energies.
    modal_masses : (k,), optional
        Of measured modes, whose M φ is not known.
    frequency_deviations_hz, damping_deviations : (k,), optional
        Standard deviations of :attr:`frequencies_hz` [Hz] and :attr:`damping_ratios`, of measured modes.
    provenance : mapping of plain values, optional
    """

    eigenvalues: ComplexArray
    shapes: FloatArray | ComplexArray
    coordinates: tuple[str, ...]
    frequency_deviations_hz: FloatArray | None
    damping_deviations: FloatArray | None
    provenance: Mapping[str, Any]
    _masses: FloatArray | None
    _momenta: FloatArray | ComplexArray | None
    _restoring: FloatArray | ComplexArray | None

    def __init__(
        self,
        eigenvalues: ArrayLike,
        shapes: ArrayLike,
        coordinates: Iterable[str] | None = None,
        *,
        momenta: ArrayLike | None = None,
        restoring: ArrayLike | None = None,
        modal_masses: ArrayLike | None = None,
        frequency_deviations_hz: ArrayLike | None = None,
        damping_deviations: ArrayLike | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        values = np.array(eigenvalues, dtype=np.complex128)
        columns = _numbers(shapes)
        if values.ndim != 1 or columns.ndim != 2 or columns.shape[1] != len(values):
            raise DataError(
                "wrong-shape",
                f"eigenvalues have shape {values.shape} and shapes {columns.shape}; "
                "expected (k,) and (n, k), one column per mode.",
            )
        if not (np.isfinite(values).all() and np.isfinite(columns).all()):
            raise DataError("not-finite", "eigenvalues and shapes must be finite.")
        names = name_or_number("coordinate", coordinates, "x", len(columns), "these Modes")
        products = {"_momenta": momenta, "_restoring": restoring}
        forces = {name: None if value is None else _numbers(value) for name, value in products.items()}
        for name, value in forces.items():
            if value is not None and value.shape != columns.shape:
                raise DataError(
                    "wrong-shape", f"{name[1:]} has shape {value.shape}, expected that of shapes, {columns.shape}."
                )
        if momenta is not None and modal_masses is not None:
            raise DataError("conflicting-arguments", "modal masses follow from momenta: give one of both.")
        per_mode = {"modal_masses": modal_masses, "frequency_deviations_hz": frequency_deviations_hz,
                    "damping_deviations": damping_deviations}  # fmt: skip
        rows = {name: _positive(name, row, len(values)) for name, row in per_mode.items()}
        assign(
            self, eigenvalues=values, shapes=columns, coordinates=names, provenance=provenance or {},
            _masses=rows.pop("modal_masses"), **rows, **forces,
        )  # fmt: skip

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
        return zeta + 0.0  # no -0.0

    @property
    def momenta(self) -> FloatArray | ComplexArray:
        """M φ, one column per mode (n, k)."""
        return self._product("_momenta", "momenta (M times the shapes)")

    @property
    def restoring(self) -> FloatArray | ComplexArray:
        """K φ, the elastic forces of each mode (n, k)."""
        return self._product("_restoring", "elastic forces (K times the shapes)")

    @property
    def modal_masses(self) -> FloatArray:
        """φᴴ M φ (k,)."""
        if self._masses is not None:
            return self._masses
        return np.asarray(np.einsum("ik,ik->k", self.shapes.conj(), self.momenta).real)

    @property
    def has_masses(self) -> bool:
        """Whether modal masses are known."""
        return self._masses is not None or self._momenta is not None

    @property
    def modal_stiffnesses(self) -> FloatArray:
        """φᴴ K φ (k,)."""
        return np.asarray(np.einsum("ik,ik->k", self.shapes.conj(), self.restoring).real)

    def participation(self, direction: Direction) -> FloatArray | ComplexArray:
        """Participation factors φᴴ M r / φᴴ M φ (k,) in a direction of motion r.

        Parameters
        ----------
        direction : (n,), mapping of coordinates to numbers, or a text
            A text is a coordinate, or an ending such as ``".x"``: 1 for all coordinates that end so.

        Examples
        --------
        >>> from dalembert.linear import SecondOrder
        >>> chain = SecondOrder(np.eye(2), [[2, -1], [-1, 2]], coordinates=["a.x", "b.x"])
        >>> chain.modes().effective_masses(".x").round(12).tolist()
        [2.0, 0.0]
        """
        mass = self.modal_masses
        gain = self.momenta.conj().T @ self._direction(direction)
        return np.divide(gain, mass, out=np.zeros_like(gain), where=mass > 0.0)

    def effective_masses(self, direction: Direction) -> FloatArray:
        """\\|φᴴ M r\\|² / φᴴ M φ (k,): the mass each mode moves in a direction; see :meth:`participation`."""
        result: FloatArray = np.abs(self.participation(direction)) ** 2 * self.modal_masses
        return result

    def project(self, x: ArrayLike) -> FloatArray | ComplexArray:
        """Modal coordinates η = M̄⁻¹ ΦᴴM x (k,) of a position, or (k, m) of columns.

        With all modes of an undamped system this inverts x = Φ η; with fewer it is the projection nearest in M.
        """
        columns = np.asarray(x)
        if columns.ndim not in (1, 2) or len(columns) != len(self.coordinates):
            raise DataError(
                "wrong-shape",
                f"x has shape {columns.shape}, expected one row per coordinate ({len(self.coordinates)}).",
            )
        result: FloatArray | ComplexArray = ((self.momenta.conj().T @ columns).T / self.modal_masses).T
        return result

    def energy_shares(self, groups: Mapping[str, Any]) -> dict[str, FloatArray]:
        """Share of each group in the elastic energy φᴴKφ of each mode.

        Parameters
        ----------
        groups : mapping of a name to a group
            A group is the stiffness matrix (n, n) of a part, dense or sparse: its share is φᴴ K_part φ / φᴴ K φ,
            never negative for K_part ≥ 0. Or it is coordinates (names, or an ending such as ``".rz"``): the work
            Σ φ_i (Kφ)_i / φᴴKφ of the elastic forces on them, which may have either sign.

        Returns
        -------
        dict of (k,), 0 for a mode without elastic energy.
        """
        total = self.modal_stiffnesses
        work = (self.shapes.conj() * self.restoring).real
        shares = {}
        for name, group in groups.items():
            if np.ndim(group) == 2 or hasattr(group, "toarray"):
                if group.shape != (len(self.coordinates),) * 2:
                    raise DataError(
                        "wrong-shape",
                        f"the stiffness of {name!r} has shape {group.shape}, expected n x n of the modes.",
                    )
                energy = np.einsum("ik,ik->k", self.shapes.conj(), group @ self.shapes).real
            else:
                energy = work[find_matching(group, self.coordinates, "these Modes")].sum(axis=0)
            shares[name] = np.divide(energy, total, out=np.zeros(len(self)), where=total != 0.0)
        return shares

    def replace(self, **changes: Any) -> Modes:
        """Copy with some arguments of :class:`Modes` changed."""
        values = {
            "eigenvalues": self.eigenvalues, "shapes": self.shapes, "coordinates": self.coordinates,
            "momenta": self._momenta, "restoring": self._restoring, "modal_masses": self._masses,
            "frequency_deviations_hz": self.frequency_deviations_hz, "damping_deviations": self.damping_deviations,
            "provenance": self.provenance,
        }  # fmt: skip
        for name in changes:
            require_name("argument", name, values, "Modes")
        return Modes(**(values | changes))

    def normalise(self, how: str) -> Modes:
        """Copy with another normalisation of the shapes.

        Parameters
        ----------
        how : "mass", "largest", "unit" or the name of a coordinate
            φᴴMφ = 1; largest component 1; φᴴφ = 1; or that coordinate 1 (a mode that does not move it is refused).
        """
        shapes, numbers = self.shapes, range(len(self))
        factor: Any
        if how == "mass":
            mass = self.modal_masses
            factor = 1.0 / np.sqrt(np.where(mass > 0.0, mass, 1.0))
        elif how == "largest":
            factor = 1.0 / shapes[ties.first_largest(shapes), numbers]
        elif how == "unit":
            factor = 1.0 / np.linalg.norm(shapes, axis=0)
        else:
            if how not in self.coordinates:
                raise DataError("unknown-name", unknown_name("coordinate", how, self.coordinates, "these Modes")
                                + " Or one of mass, largest, unit.")  # fmt: skip
            row = shapes[self.coordinates.index(how)]
            still = np.flatnonzero(is_still(row, np.abs(shapes).max(axis=0)))
            if len(still):
                raise DataError(
                    "no-motion", f"mode {still[0] + 1} does not move {how!r}; choose another coordinate to set to 1."
                )
            factor = 1.0 / row
        return self._copy(factor=factor)

    def select(self, numbers: Iterable[int]) -> Modes:
        """Copy with some of the modes, by their numbers in the table (from 1), in the given order."""
        listed = list(numbers) if isinstance(numbers, Iterable) else [numbers]
        chosen = np.array([whole_number("the number of a mode", number, 0, 10**9) for number in listed], np.intp) - 1
        wrong = chosen[(chosen < 0) | (chosen >= len(self))]
        if len(wrong):
            raise DataError(
                "unknown-name", f"there is no mode {wrong[0] + 1}; these Modes are numbered 1 to {len(self)}."
            )
        return self._copy(chosen=chosen)

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
            what = f"only one side has {', '.join(odd[:6])}" if odd else "the same names are in another order"
            raise DataError("wrong-shape", f"MAC needs the same coordinates on both sides; {what}.")
        phi = self.shapes / np.linalg.norm(self.shapes, axis=0)
        psi = against.shapes / np.linalg.norm(against.shapes, axis=0)
        result: FloatArray = np.abs(phi.conj().T @ psi) ** 2
        return result

    def table(self, directions: Sequence[str] = (), groups: Mapping[str, Any] | None = None) -> str:
        """Number, frequency, damping ratio, eigenvalue and kind of motion, one line per mode.

        Parameters
        ----------
        directions : names or endings of coordinates, optional
            A column of effective masses each, as :meth:`effective_masses`.
        groups : mapping, optional
            A column of energy shares each, as :meth:`energy_shares`.

        Examples
        --------
        >>> print(Modes([1j * np.pi, -2.0], [[1.0, 1.0]], ["x"]).table())
        mode  frequency [Hz]  damping ratio  eigenvalue [rad/s]  motion
           1             0.5              0           0+3.1416i  oscillation
           2         0.31831              1                  -2  decay
        """
        return align_columns(*self._cells(directions, groups), left=(-1,))

    def _cells(
        self, directions: Sequence[str] = (), groups: Mapping[str, Any] | None = None
    ) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Head and rows of the table."""
        extra = {f"mass {name}": self.effective_masses(name) for name in directions}
        if groups:
            extra |= {f"energy {name}": share for name, share in self.energy_shares(groups).items()}
        head = ("mode", "frequency [Hz]", "damping ratio", "eigenvalue [rad/s]", *extra, "motion")
        still = self._still()
        zeta, hertz, poles = (
            np.where(still, 0.0, of) for of in (self.damping_ratios, self.frequencies_hz, self.eigenvalues)
        )
        rows = [
            (str(i + 1), f"{hertz[i]:.5g}", f"{zeta[i]:.4g}", complex_text(poles[i]),
             *(f"{column[i]:.4g}" for column in extra.values()), kind)
            for i, kind in enumerate(self._kinds())
        ]  # fmt: skip
        return head, rows

    def _direction(self, direction: Direction) -> FloatArray:
        n = len(self.coordinates)
        if isinstance(direction, str):
            vector = np.zeros(n)
            vector[find_matching(direction, self.coordinates, "these Modes")] = 1.0
            return vector
        if isinstance(direction, Mapping):
            vector = np.zeros(n)
            vector[places("coordinate", [*direction], self.coordinates, "these Modes")] = [*direction.values()]
            return vector
        vector = np.asarray(direction, dtype=np.float64)
        if vector.shape != (n,) or not np.isfinite(vector).all():
            raise DataError(
                "wrong-shape", f"a direction must be {n} finite numbers, one per coordinate; got shape {vector.shape}."
            )
        return vector

    def _product(self, name: str, what: str) -> FloatArray | ComplexArray:
        value: FloatArray | ComplexArray | None = getattr(self, name)
        if value is None:
            raise DataError(
                "missing-argument",
                f"these Modes have no {what}: they were not made by a SecondOrder. Pass them to Modes.",
            )
        return value

    def _copy(self, *, factor: Any = 1.0, chosen: Any = slice(None)) -> Modes:
        shapes, momenta, restoring = (
            None if array is None else (array * factor)[:, chosen]
            for array in (self.shapes, self._momenta, self._restoring)
        )
        return self.replace(
            eigenvalues=self.eigenvalues[chosen], shapes=shapes, momenta=momenta, restoring=restoring,
            modal_masses=None if self._masses is None else (self._masses * np.abs(factor) ** 2)[chosen],
            frequency_deviations_hz=None if (row := self.frequency_deviations_hz) is None else row[chosen],
            damping_deviations=None if (row := self.damping_deviations) is None else row[chosen],
        )  # fmt: skip

    def _still(self, share: float = 6e-8, rate: float = 1e-5) -> Any:
        """Which modes are rigid-body modes up to rounding.

        Slow against the largest |s|, of which rounding of K leaves 2⁻²⁶, and in absolute terms [rad/s]: a period of a
        week.
        """
        size = np.abs(self.eigenvalues)
        return (size <= share * size.max(initial=0.0)) & (size < rate)

    def _kinds(self, rounding: float = 1e-12) -> list[str]:
        """Motion of each mode; rounding of a companion form is some hundred times 2⁻⁵² of the largest |s|."""
        noise = rounding * np.abs(self.eigenvalues).max(initial=0.0)
        kinds = []
        for s, still in zip(self.eigenvalues, self._still(), strict=True):
            if s == 0.0:
                kinds.append("rigid body")
            elif still:
                kinds.append("rigid body (0 to rounding)")
            elif s.imag == 0.0:
                kinds.append("decay" if s.real < 0.0 else "divergence (unstable)")
            elif abs(s.real) <= noise:
                kinds.append("oscillation")
            else:
                kinds.append("decaying oscillation" if s.real < 0.0 else "growing oscillation (unstable)")
        return kinds

    def _repr_latex_(self) -> str:
        omega = np.array(self.frequencies)[None, :]
        shapes = [matrix_latex("\\Phi", np.asarray(self.shapes))]
        return display_latex([matrix_latex("\\omega", omega), *shapes])

    def _repr_html_(self) -> str:
        head, rows = self._cells()
        title = f"Modes: {len(self)} on {count_noun(len(self.coordinates), 'coordinate')}"
        return small_table(title, head, rows[:40], max(len(rows) - 40, 0))

    def __repr__(self) -> str:
        size = count_noun(len(self.coordinates), "coordinate")
        head = f"Modes: {len(self)} on {size} ({list_names(self.coordinates, {})})"
        return f"{head}\n{self.table()}"


def _positive(name: str, values: ArrayLike | None, count: int) -> FloatArray | None:
    """One positive number per mode, or None."""
    if values is None:
        return None
    row = np.array(values, dtype=np.float64)
    if row.shape != (count,) or not (np.isfinite(row).all() and (row > 0.0).all()):
        raise DataError("wrong-shape", f"{name} must be {count} positive numbers, one per mode.")
    return row


def _numbers(values: ArrayLike) -> FloatArray | ComplexArray:
    """Own copy, real or complex."""
    raw = np.asarray(values)
    return np.array(raw, dtype=np.complex128) if np.iscomplexobj(raw) else np.array(raw, dtype=np.float64)
