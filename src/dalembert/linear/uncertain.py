"""Uncertain systems: a linear system M closed by a block-diagonal Δ that is known only by its size.

    (z, y) = M (w, u) ,     w = Δ z ,     Δ = diag(δ₁ I, δ₂ I, ..., Δ₁, Δ₂, ...) ,     |δ| ≤ 1 , ‖Δ‖∞ ≤ 1

A real block is a parameter between two limits, p = p₀ + r δ with p₀ their middle, as often as its effect has rank
(Zhou, Doyle and Glover 1996, chapter 10). A full block is any stable system with a gain of at most 1 at all
frequencies: neglected dynamics, whose weight is a part of M.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from dalembert.core.arguments import matrix, real_number, take_names
from dalembert.core.arrays import FloatArray, assign, frozen
from dalembert.core.declare import checked, count, one_of
from dalembert.core.errors import DataError, require_name
from dalembert.core.tables import align_columns
from dalembert.core.text import count_noun, list_names
from dalembert.linear.channels import StateSpaceSystem, is_state_space
from dalembert.linear.state_space import StateSpace
from dalembert.linear.transforms import interconnect

SampleCount = Annotated[int, count(1), "how many systems"]
Seed = Annotated[int, count(), "of the random numbers"]


@checked
@dataclass(frozen=True)
class UncertainBlock:
    """One block of Δ.

    name : of the parameter, or of the neglected dynamics.
    kind : "real" δ I with δ real, "complex" δ I with δ complex, or "full".
    rows, columns : of the block; of δ I both are the number of repetitions.
    low, high : limits of a parameter.  value : what it is in the nominal system.
    """

    name: str
    kind: Annotated[str, one_of("real", "complex", "full")]
    rows: Annotated[int, count(), "of the block"]
    columns: Annotated[int, count(), "of the block"]
    low: float = -1.0
    high: float = 1.0
    value: float = 0.0
    unit: str = ""

    def __post_init__(self) -> None:
        problem = f"the range of {self.name!r} is empty: {self.low:g} to {self.high:g}."
        DataError.when(not self.low < self.high, "empty", problem, where={"parameter": self.name})

    @property
    def is_scalar(self) -> bool:
        """Whether it is a multiple of the identity."""
        return self.kind != "full"

    def delta(self, value: float) -> float:
        """δ of a value of the parameter: -1 and 1 at its limits."""
        return (value - 0.5 * (self.low + self.high)) / (0.5 * (self.high - self.low))

    def parameter(self, delta: float) -> float:
        """Value of the parameter at δ."""
        return 0.5 * (self.low + self.high) + 0.5 * (self.high - self.low) * delta


@frozen(init=False)
class Uncertain:
    """A linear system with named uncertainties; frozen.

    Parameters
    ----------
    system : StateSpace
        M. Its first inputs are the rows of the blocks, in order, its first outputs their columns.
    blocks : of Δ, each with a name of its own
    error : float
        Largest relative error of the matrices over the box, where they were fitted; 0 where they are exact.

    Examples
    --------
    >>> import numpy as np
    >>> from dalembert.linear import fit_uncertain, SecondOrder
    >>> u = fit_uncertain(lambda p: SecondOrder(p["mass"], 4.0, B=[1.0]), {"mass": (0.5, 1.5)})
    >>> u.blocks[0].rows, np.sort(u.at(mass=0.25).poles().values.imag).round(9).tolist()
    (1, [-4.0, 4.0])
    """

    form: ClassVar[str] = "uncertain"
    system: StateSpace
    blocks: tuple[UncertainBlock, ...]
    error: float
    provenance: Mapping[str, Any]

    def __init__(
        self,
        system: StateSpace,
        blocks: Iterable[UncertainBlock],
        *,
        error: float = 0.0,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        blocks = tuple(blocks)
        where = "this Uncertain"
        problem = f"{where} needs a StateSpace, got {type(system).__name__}."
        DataError.when(not is_state_space(system), "wrong-type", problem)
        names = [block.name for block in blocks]
        problem = f"{where}: two blocks have one name ({list_names(names, {})})."
        DataError.when(len(set(names)) < len(names), "taken-name", problem)
        for block in blocks:
            uneven = block.is_scalar and block.rows != block.columns
            DataError.when(uneven, "wrong-shape", f"{where}: block {block.name!r} repeats a number; it must be square.")
        rows, columns = sum(block.rows for block in blocks), sum(block.columns for block in blocks)
        problem = (
            f"{where}: the blocks have {rows} rows and {columns} columns together, but the system has only "
            f"{count_noun(system.nu, 'input')} and {count_noun(system.ny, 'output')}."
        )
        DataError.when(rows > system.nu or columns > system.ny, "wrong-shape", problem)
        assign(self, system=system, blocks=blocks, error=float(error), provenance=provenance or system.provenance)

    @property
    def rows(self) -> int:
        """Rows of Δ: the first inputs of the system."""
        return sum(block.rows for block in self.blocks)

    @property
    def columns(self) -> int:
        """Columns of Δ: the first outputs of the system."""
        return sum(block.columns for block in self.blocks)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs, without those of the blocks."""
        return self.system.inputs[self.rows :]

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs, without those of the blocks."""
        return self.system.outputs[self.columns :]

    @property
    def states(self) -> tuple[str, ...]:
        return self.system.states

    @property
    def dt(self) -> float | None:
        return self.system.dt

    @property
    def parameters(self) -> dict[str, tuple[float, float]]:
        """Limits of the real parameters, by name."""
        return {block.name: (block.low, block.high) for block in self.blocks if block.kind == "real"}

    @property
    def nominal(self) -> StateSpace:
        """The system with the nominal values of its parameters and without neglected dynamics."""
        return self.at()

    def block(self, name: str) -> UncertainBlock:
        """The block of this name; ``rod__mass`` stands for ``rod.mass``."""
        names = [block.name for block in self.blocks]
        name = name if name in names else name.replace("__", ".")
        require_name("uncertainty", name, names, "this Uncertain")
        return self.blocks[names.index(name)]

    # Members of the family

    def at(self, **values: Any) -> StateSpace:
        """The system for these values; parameters that are left out are nominal, full blocks zero.

        values : of a parameter a number, of a full block a matrix (rows, columns) or a stable StateSpace.
            ``rod__mass`` stands for ``rod.mass``. Values outside the limits are allowed.
        """
        chosen = {self.block(name).name: value for name, value in values.items()}
        return self.at_delta(
            {
                block.name: block.delta(
                    float(matrix(block.name, chosen.get(block.name, block.value), 1, 1, "a number")[0, 0])
                )
                if block.kind == "real"
                else chosen.get(block.name, 0.0)
                for block in self.blocks
            }
        ).replace(provenance={**self.provenance, "uncertain": {k: v for k, v in chosen.items() if np.isscalar(v)}})

    def at_delta(self, deltas: Mapping[str, Any]) -> StateSpace:
        """The system for blocks of Δ: numbers, matrices (rows, columns) or systems by name; zero where left out."""
        parts: list[StateSpace] = []
        K = np.zeros((self.system.nu, self.system.ny))
        row = column = 0
        joins: list[tuple[slice, slice, StateSpace]] = []
        for block in self.blocks:
            rows, columns = slice(row, row + block.rows), slice(column, column + block.columns)
            row, column = rows.stop, columns.stop
            delta = deltas.get(block.name, 0.0)
            if is_state_space(delta):
                if block.is_scalar and delta.nu == delta.ny == 1 < block.rows:
                    delta = interconnect.append([delta] * block.rows)
                problem = f"{block.name!r} needs {block.columns} inputs and {block.rows} outputs."
                DataError.when((delta.ny, delta.nu) != (block.rows, block.columns), "wrong-shape", problem)
                problem = f"the system of {block.name!r} must be stable."
                DataError.when(delta.nx and not delta.is_stable, "unstable", problem, where={"uncertainty": block.name})
                joins.append((rows, columns, delta))
            elif np.ndim(delta) == 0:
                K[rows, columns] = real_number(block.name, delta) * np.eye(block.rows, block.columns)
            else:
                K[rows, columns] = matrix(block.name, delta, block.rows, block.columns, "(rows, columns) of the block")
        parts = [self.system, *(delta for _, _, delta in joins)]
        joined = interconnect.append(parts, "uncertain") if joins else self.system
        nu, ny = self.system.nu, self.system.ny
        full = np.zeros((joined.nu, joined.ny))
        full[:nu, :ny] = K
        i, j = nu, ny
        for rows, columns, delta in joins:
            full[rows, j : j + delta.ny] = np.eye(delta.ny)
            full[i : i + delta.nu, columns] = np.eye(delta.nu)
            i, j = i + delta.nu, j + delta.ny
        E = np.zeros((joined.nu, nu - self.rows))
        E[self.rows : nu] = np.eye(nu - self.rows)
        F = np.zeros((ny - self.columns, joined.ny))
        F[:, self.columns : ny] = np.eye(ny - self.columns)
        return interconnect.close(
            joined, full, E, F, inputs=self.inputs, outputs=self.outputs, units=self._outer_units(joined.states)
        )

    def worst(self, judged: Any) -> StateSpace:
        """The system that a result names as its worst: `da.control.mu` or `da.control.worst_gain`."""
        perturbation = getattr(judged, "perturbation", None)
        if not isinstance(perturbation, Mapping):
            problem = f"a result with a worst perturbation is needed, got {type(judged).__name__}."
            raise DataError("wrong-type", problem)
        known = {block.name for block in self.blocks}
        problem = f"the result is of other uncertainties: {list_names(list(perturbation), {})}."
        DataError.when(perturbation and known.isdisjoint(perturbation), "channel-mismatch", problem)
        return self.at_delta({name: value for name, value in perturbation.items() if name in known})

    @checked
    def sample(self, count: SampleCount, *, seed: Seed = 0) -> tuple[StateSpace, ...]:
        """Systems of the family, drawn at random: parameters evenly between their limits.

        A full block becomes an all-pass lag of random direction, corner and gain up to 1. The values drawn are in
        ``provenance["uncertain"]``.
        """
        random = np.random.default_rng(seed)
        speed = max(np.abs(np.linalg.eigvals(self.system.A)).max(initial=0.0), 1e-3)
        systems = []
        for _ in range(count):
            deltas: dict[str, Any] = {}
            for block in self.blocks:
                if block.kind == "real":
                    deltas[block.name] = random.uniform(-1.0, 1.0)
                    continue
                left, right = random.normal(size=block.rows), random.normal(size=block.columns)
                direction = np.outer(left, right) / (np.linalg.norm(left) * np.linalg.norm(right))
                direction = np.eye(block.rows) if block.is_scalar else direction
                corner, gain = speed * 10.0 ** random.uniform(-3.0, 1.0), random.uniform(0.0, 1.0)
                deltas[block.name] = all_pass(corner, gain * direction, self.dt)
            values = {block.name: block.parameter(deltas[block.name]) for block in self.blocks if block.kind == "real"}
            systems.append(self.at_delta(deltas).replace(provenance={**self.provenance, "uncertain": values}))
        return tuple(systems)

    # Change by copy

    def replace(self, **changes: Any) -> Uncertain:
        """Copy with another ``system``, ``blocks``, ``error`` or ``provenance``."""
        fields = {"system": self.system, "blocks": self.blocks, "error": self.error, "provenance": self.provenance}
        for name in changes:
            require_name("argument", name, fields, "Uncertain")
        return Uncertain(**{**fields, **changes})

    def select(
        self, *, inputs: str | Iterable[str] | None = None, outputs: str | Iterable[str] | None = None
    ) -> Uncertain:
        """Only these inputs and outputs, by name and in this order; all when left out."""
        into = self.inputs if inputs is None else take_names("input", inputs)
        out = self.outputs if outputs is None else take_names("output", outputs)
        for kind, names, known in (("input", into, self.inputs), ("output", out, self.outputs)):
            for name in names:
                require_name(kind, name, known, "this Uncertain")
        return self.replace(
            system=self.system.select(
                inputs=(*self.system.inputs[: self.rows], *into), outputs=(*self.system.outputs[: self.columns], *out)
            )
        )

    def complex(self) -> Uncertain:
        """The same with complex numbers in place of real ones: the larger family of the classical bound."""
        blocks = [replace(block, kind="complex") if block.kind == "real" else block for block in self.blocks]
        return self.replace(blocks=blocks)

    def gather(
        self,
        system: StateSpace,
        placed: Sequence[tuple[UncertainBlock, tuple[str, ...], tuple[str, ...]]],
        error: float,
    ) -> Uncertain:
        """A joined system with blocks on these channels; parameters of one name and one range are one block."""
        blocks: dict[str, tuple[UncertainBlock, list[str], list[str]]] = {}
        for block, rows, columns in placed:
            if block.name not in blocks:
                blocks[block.name] = (block, list(rows), list(columns))
                continue
            same, into, out = blocks[block.name]
            problem = f"two systems have an uncertainty {block.name!r}, and they are not the same parameter."
            alike = block.is_scalar and replace(block, rows=0, columns=0) == replace(same, rows=0, columns=0)
            DataError.when(not alike, "taken-name", problem)
            into += rows
            out += columns
            blocks[block.name] = (replace(same, rows=len(into), columns=len(out)), into, out)
        into = [name for _, names, _ in blocks.values() for name in names]
        out = [name for _, _, names in blocks.values() for name in names]
        free_in = [name for name in system.inputs if name not in set(into)]
        free_out = [name for name in system.outputs if name not in set(out)]
        ordered = system.select(inputs=into + free_in, outputs=out + free_out)
        return Uncertain(ordered, [block for block, _, _ in blocks.values()], error=error)

    def _outer_units(self, states: Sequence[str]) -> dict[str, str]:
        names = {*states, *self.inputs, *self.outputs}
        return {name: unit for name, unit in self.system.units.items() if name in names}

    def table(self) -> str:
        """One line per block."""
        rows = []
        for block in self.blocks:
            limits = (
                f"{block.low:.6g} to {block.high:.6g} {block.unit}".strip() if block.kind == "real" else "gain up to 1"
            )
            size = f"{block.rows}" if block.is_scalar else f"{block.rows} x {block.columns}"
            rows.append((block.name, block.kind, size, limits))
        return align_columns(("uncertainty", "kind", "size", "range"), rows, left=(0, 1))

    def __repr__(self) -> str:
        counted = {"state": self.states, "input": self.inputs, "output": self.outputs, "block": self.blocks}
        sizes = [count_noun(len(names), word) for word, names in counted.items()]
        fitted = f"; fitted to {self.error:.1e}" if self.error else ""
        lines = [f"Uncertain: {', '.join(sizes)}{fitted}"]
        for kind, names in (("inputs", self.inputs), ("outputs", self.outputs)):
            if names:
                lines.append(f"  {kind.ljust(7)}  {list_names(names, self.system.units)}")
        return "\n".join([*lines, self.table()])


def all_pass(corner: float, direction: FloatArray, dt: float | None = None) -> StateSpace:
    """direction (a - s) / (a + s) with corner a [rad/s], with a state per rank; sampled by Tustin's rule."""
    U, sizes, Vt = np.linalg.svd(np.atleast_2d(direction), full_matrices=False)
    n = len(sizes)
    lag = StateSpace(-corner * np.eye(n), 2.0 * corner * Vt, U * sizes, -(U * sizes) @ Vt)
    return lag if dt is None else lag.to_discrete(dt, "tustin")


@checked
def dynamic_block(
    name: str,
    *,
    inputs: str | Iterable[str],
    outputs: str | Iterable[str],
    weight: StateSpaceSystem | None = None,
) -> Uncertain:
    """y = Δ W u with an unknown stable Δ, ‖Δ‖∞ ≤ 1: neglected dynamics, to be joined by `connect`.

    Parameters
    ----------
    name : of the uncertainty.
    inputs, outputs : names of u and y.
    weight : W, stable, with as many inputs as there are names; of one input and output for each of them.

    Examples
    --------
    >>> from dalembert.linear import StateSpace, connect
    >>> plant = StateSpace(-1.0, 1.0, 1.0, inputs="v", outputs="y")
    >>> lag = dynamic_block("actuator", inputs="u", outputs="d", weight=StateSpace.gain([[0.2]]))
    >>> uncertain = connect([plant, lag, StateSpace.gain([[1, 1]], inputs=["u", "d"], outputs="v")], inputs="u")
    >>> uncertain.at(actuator=1.0).dc_gain()[0].round(6).tolist()
    [1.2]
    """
    into, out = take_names("input", inputs), take_names("output", outputs)
    DataError.when(not into or not out, "empty", f"{name!r} needs at least one input and one output.")
    scaled = StateSpace.gain(np.eye(len(into))) if weight is None else weight
    if scaled.nu == scaled.ny == 1 < len(into):
        scaled = interconnect.append([scaled] * len(into))
    problem = f"the weight of {name!r} has {count_noun(scaled.nu, 'input')} for {count_noun(len(into), 'signal')}."
    DataError.when(scaled.nu != len(into), "wrong-shape", problem)
    unstable = bool(scaled.nx) and not scaled.is_stable
    DataError.when(unstable, "unstable", f"the weight of {name!r} must be stable.", where={"argument": "weight"})
    ny, n = scaled.ny, len(out)
    system = scaled.replace(
        B=np.hstack([np.zeros((scaled.nx, n)), scaled.B]),
        C=np.vstack([scaled.C, np.zeros((n, scaled.nx))]),
        D=np.block([[np.zeros((ny, n)), scaled.D], [np.eye(n), np.zeros((n, scaled.nu))]]),
        states=[f"{name}.{state}" for state in scaled.states],
        inputs=[*channel_names(name, "w", n), *into],
        outputs=[*channel_names(name, "z", ny), *out],
    )
    return Uncertain(system, [UncertainBlock(name, "full", n, ny)])


def channel_names(block: str, letter: str, number: int) -> list[str]:
    """Names of the channels of a block: its rows w, its columns z."""
    return [f"{block} {letter}{k + 1}" for k in range(number)]
