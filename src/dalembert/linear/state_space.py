"""State-space systems with names.

continuous (dt is None)   x' = A x + B u        y = C x + D u
discrete   (dt in s)      x[k+1] = A x[k] + B u[k]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from dalembert.errors import DataError
from dalembert.linear import checks
from dalembert.linear.checks import FloatArray


class StateSpace(checks.Frozen):
    """The quadruple ``(A, B, C, D)`` and its sample time; frozen, arrays read-only.

    Parameters
    ----------
    A : (nx, nx)
    B : (nx, nu), optional
        No inputs when left out.
    C : (ny, nx), optional
        When left out the outputs are the states, under their own names.
    D : (ny, nu), optional
        Zero when left out.
    dt : float, optional
        Sample time [s]; ``None`` for continuous time.
    states, inputs, outputs : names, optional
        ``x1, x2, ...``, ``u1, ...`` and ``y1, ...`` when left out.
    units : mapping of a state, input or output name to its unit, optional
    provenance : mapping of plain values, optional

    Examples
    --------
    >>> cart = StateSpace([[0, 1], [0, 0]], [0, 1], states=["position", "speed"], inputs="push")
    >>> cart.outputs
    ('position', 'speed')
    >>> cart.to_discrete(0.5).B.ravel().tolist()
    [0.125, 0.5]
    """

    A: FloatArray
    B: FloatArray
    C: FloatArray
    D: FloatArray
    dt: float | None
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    units: Mapping[str, str]
    provenance: Mapping[str, Any]

    def __init__(
        self,
        A: ArrayLike,
        B: ArrayLike | None = None,
        C: ArrayLike | None = None,
        D: ArrayLike | None = None,
        dt: float | None = None,
        *,
        states: str | Iterable[str] | None = None,
        inputs: str | Iterable[str] | None = None,
        outputs: str | Iterable[str] | None = None,
        units: Mapping[str, str] | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        where = "this StateSpace"
        A_ = checks.square("A", A)
        nx = len(A_)
        B_ = np.zeros((nx, 0)) if B is None else checks.matrix("B", B, nx, None, "one row per state", vector="column")
        C_ = np.eye(nx) if C is None else checks.matrix("C", C, None, nx, "one column per state", vector="row")
        ny, nu = len(C_), B_.shape[1]
        D_ = (
            np.zeros((ny, nu))
            if D is None
            else checks.matrix(
                "D", D, ny, nu, "one row per output, one column per input", vector="column" if nu == 1 else "row"
            )
        )
        state_names = checks.unique_names("state", states, checks.numbered("x", nx), where)
        input_names = checks.unique_names("input", inputs, checks.numbered("u", nu), where)
        default = state_names if C is None else checks.numbered("y", ny)
        output_names = checks.unique_names("output", outputs, default, where)
        self._freeze(
            A=A_, B=B_, C=C_, D=D_, dt=_sample_time(dt),
            states=state_names, inputs=input_names, outputs=output_names,
            units=checks.known_units(units, state_names + input_names + output_names, where),
            provenance=provenance or {},
        )  # fmt: skip

    @property
    def nx(self) -> int:
        """Number of states."""
        return len(self.states)

    @property
    def nu(self) -> int:
        """Number of inputs."""
        return len(self.inputs)

    @property
    def ny(self) -> int:
        """Number of outputs."""
        return len(self.outputs)

    def to_discrete(self, dt: float) -> StateSpace:
        """Sampled system whose input is held constant over each step (ZOH), exact at the samples.

        Parameters
        ----------
        dt : float
            Sample time [s].
        """
        if self.dt is not None:
            raise DataError(f"this StateSpace is discrete already (dt = {self.dt:g} s).")
        step = _sample_time(dt)
        if step is None:
            raise DataError("to_discrete needs a sample time in seconds, got None.")
        # exp([[A, B], [0, 0]] dt) = [[A_d, B_d], [0, I]]: no inverse of A, so integrators are fine.
        nx, nu = self.B.shape
        block = np.zeros((nx + nu, nx + nu))
        block[:nx, :nx], block[:nx, nx:] = self.A * step, self.B * step
        power = scipy.linalg.expm(block)
        if not np.all(np.isfinite(power)):
            raise DataError(f"the state grows beyond the number range within dt = {step:g} s; use a smaller dt.")
        return StateSpace(
            power[:nx, :nx], power[:nx, nx:], self.C, self.D, step,
            states=self.states, inputs=self.inputs, outputs=self.outputs, units=self.units,
            provenance={**self.provenance, "discretized": "zero-order hold"},
        )  # fmt: skip

    def __repr__(self) -> str:
        time = "continuous" if self.dt is None else f"discrete, dt = {self.dt:g} s"
        sizes = ", ".join(
            checks.counted(*size) for size in ((self.nx, "state"), (self.nu, "input"), (self.ny, "output"))
        )
        lines = [f"StateSpace: {sizes}; {time}"]
        for kind, names in (("states", self.states), ("inputs", self.inputs), ("outputs", self.outputs)):
            if names:
                lines.append(f"  {kind.ljust(10)}  {checks.listed(names, self.units)}")
        for symbol, array, rows in (("A", self.A, self.states), ("B", self.B, self.states),
                                    ("C", self.C, self.outputs), ("D", self.D, self.outputs)):  # fmt: skip
            if array.size and (symbol == "A" or np.any(array)):
                lines += checks.labelled(symbol, array, rows)
        return "\n".join(lines)


def _sample_time(dt: float | None) -> float | None:
    if dt is None:
        return None
    try:
        value = float(dt)
    except (TypeError, ValueError) as error:
        raise DataError(f"dt must be a number of seconds or None, got {dt!r}.") from error
    if isinstance(dt, bool) or not np.isfinite(value) or value <= 0.0:
        raise DataError(f"dt must be positive and finite, got {dt!r}; None means continuous time.")
    return value
