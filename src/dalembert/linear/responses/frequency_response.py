"""Frequency responses as a frozen result: complex amplitudes of outputs per unit input, with names and units.

y = H(ω) u   for   u = Re(u₀ e^{iωt}), y = Re(y₀ e^{iωt})

kind         H is ... per unit input
receptance   displacement
mobility     velocity, iω times the receptance
accelerance  acceleration, -ω² times the receptance
output       outputs of the system
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.core.arguments import known_units, name_or_number, take_names
from dalembert.core.arrays import ComplexArray, FloatArray, assign, frozen
from dalembert.core.declare import checked, number
from dalembert.core.errors import DataError, require_name
from dalembert.core.tables import align_columns
from dalembert.core.text import list_names
from dalembert.linear.channels import place, places

KINDS = ("receptance", "mobility", "accelerance", "output")


Prominence = Annotated[float, number, "rise above the higher valley beside it, as a fraction of the magnitude"]


@dataclass(frozen=True)
class Peak:
    """A local maximum of a magnitude on its frequency grid."""

    frequency: float
    """[rad/s]"""
    frequency_hz: float
    magnitude: float
    phase: float
    """[rad]"""


@frozen(init=False)
class FrequencyResponse:
    """Complex response of every output to every input at given frequencies; frozen.

    Parameters
    ----------
    frequencies : (nf,) [rad/s]
    values : (nf, ny, nu) complex
    inputs, outputs : names; ``u1, ...`` and ``y1, ...`` when left out
    kind : "receptance", "mobility", "accelerance" or "output"
    input_units, output_units : mapping of some names to their units, optional
    provenance : mapping of plain values, optional

    Examples
    --------
    >>> w = np.array([0.0, 1.0, 2.0])
    >>> fr = FrequencyResponse(w, 1.0 / (4.0 - w**2 + 0.4j * w), ["force"], ["tip"], output_units={"tip": "m"})
    >>> complex(fr["tip", "force"][0])
    (0.25+0j)
    >>> float(fr.decibels("tip", "force")[0].round(2))
    -12.04
    """

    frequencies: FloatArray
    values: ComplexArray
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    kind: str
    input_units: Mapping[str, str]
    output_units: Mapping[str, str]
    provenance: Mapping[str, Any]

    def __init__(
        self,
        frequencies: ArrayLike,
        values: ArrayLike,
        inputs: str | Iterable[str] | None = None,
        outputs: str | Iterable[str] | None = None,
        *,
        kind: str = "output",
        input_units: Mapping[str, str] | None = None,
        output_units: Mapping[str, str] | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        where = "this FrequencyResponse"
        w = check_frequencies(frequencies)
        try:
            H = np.array(values, dtype=np.complex128)
        except (TypeError, ValueError) as error:
            raise DataError("not-a-number", f"values must be numbers, real or complex ({error}).") from error
        if H.ndim == 1:
            H = H.reshape(-1, 1, 1)
        if H.ndim != 3 or len(H) != len(w):
            raise DataError(
                "wrong-shape",
                f"values have shape {H.shape}; expected ({len(w)}, outputs, inputs), one page per frequency.",
            )
        if not np.isfinite(H).all():
            k = int(np.argwhere(~np.isfinite(H))[0, 0])
            raise DataError("not-finite", f"the response at {both_units(w[k])} is not finite.")
        require_name("kind of frequency response", kind, KINDS)
        names_in = name_or_number("input", inputs, "u", H.shape[2], where)
        names_out = name_or_number("output", outputs, "y", H.shape[1], where)
        assign(
            self, frequencies=w, values=H, inputs=names_in, outputs=names_out, kind=kind,
            input_units=known_units(input_units, names_in, where),
            output_units=known_units(output_units, names_out, where),
            provenance=provenance or {},
        )  # fmt: skip

    # ---- picking

    @property
    def frequencies_hz(self) -> FloatArray:
        """(nf,) [Hz]."""
        return self.frequencies / (2.0 * np.pi)

    def __len__(self) -> int:
        return len(self.frequencies)

    def __getitem__(self, pair: str | tuple[str, str | None]) -> ComplexArray:
        """(nf,) complex of ``fr["output", "input"]``; with a single input ``fr["output"]`` is enough."""
        if not isinstance(pair, str) and not (isinstance(pair, tuple) and len(pair) == 2):
            raise DataError(
                "bad-name", f"an entry is picked by names, fr[output, input]; got {pair!r}. values has the numbers."
            )
        output, input = (pair, None) if isinstance(pair, str) else pair
        i, j = self._place(output, input)
        return self.values[:, i, j]

    def magnitude(self, output: str, input: str | None = None) -> FloatArray:
        """(nf,) modulus, in :meth:`unit`."""
        return np.abs(self[output, input])

    def phase(self, output: str, input: str | None = None) -> FloatArray:
        """(nf,) argument [rad], between -π and π."""
        return np.angle(self[output, input])

    def decibels(self, output: str, input: str | None = None) -> FloatArray:
        """(nf,) 20 log₁₀(magnitude); an exact zero counts as the smallest positive number, not -inf."""
        size = np.maximum(self.magnitude(output, input), np.finfo(np.float64).tiny)
        result: FloatArray = 20.0 * np.log10(size)
        return result

    def unit(self, output: str, input: str | None = None) -> str:
        """Unit of one entry, such as ``"m/N"``; empty where neither name has a unit."""
        i, j = self._place(output, input)
        top, bottom = self.output_units.get(self.outputs[i], ""), self.input_units.get(self.inputs[j], "")
        if not bottom:
            return top
        compound = not bottom.isalpha()
        return f"{top or '1'}/{f'({bottom})' if compound else bottom}"

    def select(self, outputs: Iterable[str] | None = None, inputs: Iterable[str] | None = None) -> FrequencyResponse:
        """The same response for some outputs and inputs only."""
        rows = self.outputs if outputs is None else take_names("output", outputs)
        columns = self.inputs if inputs is None else take_names("input", inputs)
        i = places("output", rows, self.outputs, "this FrequencyResponse")
        j = places("input", columns, self.inputs, "this FrequencyResponse")
        return FrequencyResponse(
            self.frequencies, self.values[:, i][:, :, j], columns, rows, kind=self.kind,
            input_units={name: unit for name, unit in self.input_units.items() if name in columns},
            output_units={name: unit for name, unit in self.output_units.items() if name in rows},
            provenance=self.provenance,
        )  # fmt: skip

    @checked
    def peaks(self, output: str, input: str | None = None, *, prominence: Prominence = 0.0) -> tuple[Peak, ...]:
        """Local maxima of the magnitude inside the grid, ascending in frequency.

        Parameters
        ----------
        output, input : names
        prominence : float
            Leave out peaks that rise less than this above the higher of the two valleys beside them,
            as a fraction of their own magnitude (0 keeps all, 0.5 keeps those at least twice as high).
        """
        size, angle = self.magnitude(output, input), self.phase(output, input)
        if len(size) < 3:
            return ()
        inner = (size[1:-1] > size[:-2]) & (size[1:-1] >= size[2:])
        tops = np.flatnonzero(inner) + 1
        if prominence > 0.0 and len(tops):
            from scipy.signal import find_peaks

            tops, about = find_peaks(size, prominence=0.0)
            tops = tops[about["prominences"] >= prominence * size[tops]]
        hertz = self.frequencies_hz
        return tuple(Peak(float(self.frequencies[k]), float(hertz[k]), float(size[k]), float(angle[k])) for k in tops)

    # ---- as text

    def table(self, output: str | None = None, input: str | None = None) -> str:
        """Frequency, magnitude and phase of one entry, at up to 20 frequencies spread over the grid.

        Examples
        --------
        >>> print(FrequencyResponse([0.0, 2 * np.pi], [0.25, -0.5j], ["force"], ["tip"]).table())
        tip per force
        frequency [Hz]  magnitude  phase [deg]
                     0       0.25            0
                     1        0.5          -90
        """
        first = self.inputs[0] if input is None and self.inputs else input
        i, j = self._place(self.outputs[0] if output is None else output, first)
        unit = self.unit(self.outputs[i], self.inputs[j])
        count = len(self)
        rows = np.unique(np.linspace(0, count - 1, min(count, 20)).round().astype(int))  # one screen
        head = ("frequency [Hz]", f"magnitude{f' [{unit}]' if unit else ''}", "phase [deg]")
        cells = []
        for k in rows:
            value, hertz = self.values[k, i, j], self.frequencies_hz[k]
            cells.append((f"{hertz:.6g}", f"{abs(value):.5g}", f"{np.degrees(np.angle(value)) + 0.0:.5g}"))
        lines = [f"{self.outputs[i]} per {self.inputs[j]}", align_columns(head, cells)]
        if len(cells) < count:
            lines.append(f"({len(cells)} of {count} frequencies)")
        return "\n".join(lines)

    def __repr__(self) -> str:
        hertz = self.frequencies_hz
        frequencies = "1 frequency" if len(self) == 1 else f"{len(self)} frequencies"
        lines = [
            f"FrequencyResponse ({self.kind}): {frequencies}, {hertz.min():.6g} to {hertz.max():.6g} Hz",
            f"  outputs  {list_names(self.outputs, self.output_units) or 'none'}",
            f"  inputs   {list_names(self.inputs, self.input_units) or 'none'}",
        ]
        return "\n".join([*lines, self.table()] if self.values.size else lines)

    def _place(self, output: str, input: str | None) -> tuple[int, int]:
        where = "this FrequencyResponse"
        return places("output", [output], self.outputs, where)[0], place("input", input, self.inputs, where)


def check_frequencies(frequencies: ArrayLike) -> FloatArray:
    """Own, finite, real, not empty 1-D copy [rad/s]; a scalar is one frequency."""
    try:
        raw = np.asarray(frequencies)
        if raw.dtype.kind not in "fiu":
            raise TypeError(f"dtype {raw.dtype}")
        w = np.array(raw, dtype=np.float64).reshape(-1) if raw.ndim < 2 else None
    except (TypeError, ValueError) as error:
        raise DataError("not-a-number", f"frequencies must be real numbers [rad/s] ({error}).") from error
    if w is None or w.size == 0:
        raise DataError(
            "wrong-shape", f"frequencies have shape {np.shape(raw)}; expected at least one, in one dimension [rad/s]."
        )
    if not np.isfinite(w).all():
        raise DataError("not-finite", f"frequencies must be finite; number {int(np.argmin(np.isfinite(w)))} is not.")
    return w


def both_units(w: float) -> str:
    """``"6.28319 rad/s (1 Hz)"``."""
    return f"{w:.9g} rad/s ({w / (2.0 * np.pi):.9g} Hz)"
