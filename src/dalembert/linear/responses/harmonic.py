"""Frequency responses of second-order and state-space systems.

x₀ = [-ω² M + iω (C + G) + K + H + i K_loss]⁻¹ B u₀
y₀ = (Y_position + iω Y_velocity - ω² Y_acceleration) x₀ + D u₀
y₀ = (C (s I - A)⁻¹ B + D) u₀,   s = iω, or e^{iω dt}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike

from dalembert.core.arguments import take_names, unique_names
from dalembert.core.arrays import ComplexArray, FloatArray
from dalembert.core.declare import checked
from dalembert.core.errors import DataError, require_name, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.core.progress import Progress, Setting
from dalembert.linear import storage
from dalembert.linear.channels import AnySystem, input_units, is_state_space, places
from dalembert.linear.responses.dynamic_stiffness import solve_resolvent, solve_second_order
from dalembert.linear.responses.frequency_response import KINDS, FrequencyResponse, check_frequencies

if TYPE_CHECKING:
    from dalembert.linear.second_order import SecondOrder
    from dalembert.linear.state_space import StateSpace

SUFFIX = {"receptance": "", "mobility": "/s", "accelerance": "/s²", "output": ""}

Names = str | Iterable[str] | None


@checked
def frequency_response(
    system: AnySystem,
    frequencies: ArrayLike,
    *,
    kind: str | None = None,
    inputs: Names = None,
    outputs: Names = None,
    progress: Setting = None,
) -> FrequencyResponse:
    """Complex amplitudes of the outputs per unit harmonic input.

    Parameters
    ----------
    system : SecondOrder or StateSpace
    frequencies : (nf,) [rad/s]
    kind : str, optional
        ``"receptance"``, ``"mobility"``, ``"accelerance"``: displacement, velocity, acceleration of coordinates.
        ``"output"`` (the only one for a StateSpace): the outputs of the system. When left out: the outputs of a
        SecondOrder where it was given outputs of its own, else its receptances.
    inputs : names, optional
        Inputs of the system, or coordinates (a unit force along each). All inputs when left out; without
        inputs all coordinates, if not more than 100.
    outputs : names, optional
        Coordinates, or outputs of the system for ``kind="output"``; all when left out (at most 100 coordinates).
    progress : None shows a bar on a terminal after two seconds; True, False, or a function of the fraction done.
        A large sparse system takes a factorisation per frequency.

    Returns
    -------
    FrequencyResponse
        ``values`` (nf, ny, nu). At an undamped natural frequency `DataError` gives the frequency; no value is infinite.

    Examples
    --------
    >>> from dalembert.linear import SecondOrder
    >>> pair = SecondOrder(np.eye(2), [[2, -1], [-1, 2]], C=0.1 * np.eye(2), coordinates=["left", "right"])
    >>> fr = frequency_response(pair, [0.0, 1.0], inputs="left")
    >>> abs(fr["right", "left"]).round(4)
    array([0.3333, 4.9938])
    """
    w = check_frequencies(frequencies)
    if is_state_space(system):
        return _of_state_space(system, w, kind, inputs, outputs)
    ports = Ports(system, kind or _usual_kind(system, outputs), inputs, outputs)
    values = np.empty((len(w), len(ports.outputs), len(ports.inputs)), dtype=np.complex128)
    with Progress(progress, "frequency response") as bar:
        for chunk, X in solve_second_order(system, np.abs(w), ports.F):
            values[chunk] = ports.read(np.abs(w[chunk]), X)
            bar.update(chunk.stop / len(w))
    return ports.result(w, mirror(w, values), {"method": "direct"})


def _usual_kind(system: SecondOrder, outputs: Names) -> str:
    """``"output"`` where the names are outputs of the system and not coordinates, else ``"receptance"``."""
    if outputs is None:
        return "receptance" if system.outputs == system.coordinates else "output"
    names = set(take_names("output", outputs))
    return "output" if names <= set(system.outputs) and not names <= set(system.coordinates) else "receptance"


def harmonic_response(system: AnySystem, frequency: float, amplitudes: Mapping[str, complex]) -> dict[str, complex]:
    """Complex amplitude of every output when all inputs are harmonic at one frequency.

    Parameters
    ----------
    system : SecondOrder or StateSpace
    frequency : [rad/s]
    amplitudes : complex amplitude of each input by name; left-out ones are zero

    Examples
    --------
    >>> from dalembert.linear import SecondOrder
    >>> mass = SecondOrder(1.0, 4.0, C=0.4, B=[1.0], coordinates="x", inputs="force")
    >>> harmonic_response(mass, 2.0, {"force": 0.8j})
    {'x': (1+0j)}
    """
    if not isinstance(amplitudes, Mapping) or not amplitudes:
        raise DataError("wrong-type", f"amplitudes must name inputs, such as {{'force': 1.0}}; got {amplitudes!r}.")
    response = frequency_response(system, [frequency], inputs=tuple(amplitudes))
    u = np.array([_amplitude(name, value) for name, value in amplitudes.items()])
    return {name: complex(y) for name, y in zip(response.outputs, response.values[0] @ u, strict=True)}


def _amplitude(name: str, value: Any) -> complex:
    try:
        result = complex(value) if not isinstance(value, str) else complex("nan")
    except (TypeError, ValueError):
        result = complex("nan")
    if not np.isfinite(result):
        raise DataError(
            "not-finite", f"the amplitude of {name!r} must be a finite number, real or complex; got {value!r}."
        )
    return result


def mirror(w: FloatArray, values: ComplexArray) -> ComplexArray:
    """H(-ω) is the conjugate of H(ω), with hysteretic damping too (its loss has the sign of ω)."""
    result: ComplexArray = np.where(w[:, None, None] < 0.0, values.conj(), values)
    return result


class Ports:
    """Inputs and outputs of a second-order system: forces F (n, nu) and rows of the outputs."""

    def __init__(self, system: SecondOrder, kind: str, inputs: Names, outputs: Names) -> None:
        require_name("kind of frequency response", kind, KINDS)
        self.system, self.kind = system, kind
        self.inputs = _choose_names(inputs, system.inputs or system.coordinates, "inputs")
        readable = system.outputs if kind == "output" else system.coordinates
        self.outputs = _choose_names(outputs, readable, "outputs")
        where = "this SecondOrder"
        self.rows = places("output" if kind == "output" else "coordinate", self.outputs, readable, where)
        self.F = self._forces(where)

    def _forces(self, where: str) -> FloatArray:
        system = self.system
        place_in = {name: i for i, name in enumerate(system.inputs)}
        place = {name: i for i, name in enumerate(system.coordinates)}
        F = np.zeros((system.nq, len(self.inputs)))
        self.D = np.zeros((len(self.rows), len(self.inputs)))
        for j, name in enumerate(self.inputs):
            if name in place_in:
                F[:, j] = storage.dense(system.B[:, [place_in[name]]]).ravel()
                if self.kind == "output":
                    self.D[:, j] = storage.dense(system.D[:, [place_in[name]]]).ravel()[self.rows]
            elif name in place:
                F[place[name], j] = 1.0
            else:
                raise DataError("unknown-name", unknown_name("input or coordinate", name, {*place_in, *place}, where))
        return F

    def read(self, w: FloatArray, X: ComplexArray) -> ComplexArray:
        """(pages, ny, nu) from the coordinates X (pages, n, nu)."""
        factor = 1j * w[:, None, None]
        if self.kind != "output":
            power = {"receptance": 0, "mobility": 1, "accelerance": 2}[self.kind]
            result: ComplexArray = X[:, self.rows] * factor**power
            return result
        values = np.zeros((len(w), len(self.rows), X.shape[2]), dtype=np.complex128) + self.D
        for power, symbol in enumerate(("Y_position", "Y_velocity", "Y_acceleration")):
            rows = getattr(self.system, symbol)[self.rows]
            if (rows.nnz if scipy.sparse.issparse(rows) else rows.any()) and rows.size:
                values += factor**power * self.read_rows(rows, X)
        return values

    @staticmethod
    def read_rows(rows: Any, X: ComplexArray) -> ComplexArray:
        """rows @ X for every page; rows dense or sparse."""
        if not scipy.sparse.issparse(rows):
            result: ComplexArray = rows @ X
            return result
        pages, n, columns = X.shape
        flat = rows @ X.transpose(1, 0, 2).reshape(n, pages * columns)
        return np.asarray(flat).reshape(-1, pages, columns).transpose(1, 0, 2)

    def result(self, w: FloatArray, values: ComplexArray, how: Mapping[str, Any]) -> FrequencyResponse:
        """The values with their names and units."""
        units, suffix = self.system.units, SUFFIX[self.kind]
        return FrequencyResponse(
            w, values, self.inputs, self.outputs, kind=self.kind,
            input_units={name: unit for name, unit in input_units(self.system).items() if name in self.inputs},
            output_units={name: units[name] + suffix for name in self.outputs if units.get(name)},
            provenance={**self.system.provenance, **how},
        )  # fmt: skip


def _of_state_space(
    system: StateSpace, w: FloatArray, kind: str | None, inputs: Names, outputs: Names, rounding: float = 1e-12
) -> FrequencyResponse:
    """``rounding`` : relative excess over π/dt, of 2π f and of dt."""
    if kind not in (None, "output"):
        raise DataError(
            "unknown-choice", f"a StateSpace has outputs, not coordinates: kind must be 'output', got {kind!r}."
        )
    if system.dt is not None and np.abs(w).max() * system.dt > np.pi * (1.0 + rounding):
        raise DataError(
            "out-of-range",
            f"{np.abs(w).max():.6g} rad/s is above the Nyquist frequency of this StateSpace, "
            f"π/dt = {np.pi / system.dt:.6g} rad/s ({0.5 / system.dt:.6g} Hz).",
        )
    names_in = _choose_names(inputs, system.inputs, "inputs")
    names_out = _choose_names(outputs, system.outputs, "outputs")
    columns = places("input", names_in, system.inputs, "this StateSpace")
    rows = places("output", names_out, system.outputs, "this StateSpace")
    C, D = system.C[rows], system.D[np.ix_(rows, columns)]
    values = np.empty((len(w), len(rows), len(columns)), dtype=np.complex128)
    for chunk, X in solve_resolvent(system, w, system.B[:, columns]):
        values[chunk] = C @ X + D
    units = system.units
    return FrequencyResponse(
        w, values, names_in, names_out, kind="output",
        input_units={name: unit for name, unit in input_units(system).items() if name in names_in},
        output_units={name: units[name] for name in names_out if name in units},
        provenance={**system.provenance, "method": "direct"},
    )  # fmt: skip


def _choose_names(chosen: Names, default: Sequence[str], what: str, most: int = 100) -> tuple[str, ...]:
    """``most`` : coordinates used as inputs or outputs without names."""
    if chosen is None:
        if len(default) > most:
            raise DataError(
                "missing-argument",
                f"this system has {len(default)} possible {what}, such as {default[0]!r}.",
                Advice("Name those you want with {}.", Argument(what)),
            )
        return tuple(default)
    kind = what.removesuffix("s")
    names = take_names(kind, chosen)
    return unique_names(kind, names, ("",) * len(names), "the call")
