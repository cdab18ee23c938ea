"""Observability over the poses of a machine, and the sensors that keep it everywhere (Popov, Belevitch and Hautus).

About a state at rest errors follow ė = A e, y = C e. They are observable if [A - λ 1; C] has full column rank at every
eigenvalue λ of A; its smallest singular value over all λ is the distance to a model that is not (Eising 1984). Sizes
are compared in scaled errors: a speed by itself has the kinetic energy of one unit, a position is what such a speed
covers in 1/ω₀, with ω₀ the median modulus of the eigenvalues at the first pose; A is divided by ω₀, rows of C have
length 1 at the pose where they are longest.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dalembert.core.arrays import ComplexArray, FloatArray, IntArray, frozen
from dalembert.core.declare import count, instance, mapping, positive
from dalembert.core.errors import DataError, require_name
from dalembert.core.findings import Advice, Argument
from dalembert.core.tables import align_columns
from dalembert.equations import EquationsOfMotion
from dalembert.estimate.engine.tangent import error_rates
from dalembert.estimate.models.machine import machine_process
from dalembert.estimate.models.process import find_places
from dalembert.expressions import Kernel
from dalembert.solve.position.assemble import assemble

__all__ = ["ObservabilityMap", "observability_map"]


@frozen
class ObservabilityMap:
    """Observability at every pose of a grid; made by `observability_map`.

    Attributes
    ----------
    axes : values of each coordinate of the grid
    outputs : names
    strength : (grid) smallest singular value over all eigenvalues, in scaled errors
    rank : (grid) smallest rank: states less the largest number of independent unseen eigenvectors of one eigenvalue
    weakest : (grid) complex, the eigenvalue [rad/s] of the smallest singular value
    """

    axes: Mapping[str, FloatArray]
    states: tuple[str, ...]
    outputs: tuple[str, ...]
    strength: FloatArray
    rank: IntArray
    weakest: ComplexArray
    rates: FloatArray  # scaled A (poses, n, n)
    rows: FloatArray  # scaled C of everything that can be measured (poses, m, n)
    measurable: tuple[str, ...]
    omega: float

    def of(self, outputs: Iterable[str]) -> ObservabilityMap:
        """The map for other outputs."""
        names = tuple(outputs)
        for name in names:
            require_name("output", name, self.measurable, "this map")
        strength, rank, weakest = _judge(self.rates, self.rows[:, [self.measurable.index(name) for name in names]])
        shape = self.strength.shape
        return ObservabilityMap(
            axes=self.axes, states=self.states, outputs=names, strength=strength.reshape(shape),
            rank=rank.reshape(shape), weakest=self.omega * weakest.reshape(shape), rates=self.rates, rows=self.rows,
            measurable=self.measurable, omega=self.omega,
        )  # fmt: skip

    def best(self, k: int, among: Iterable[str], beside: Iterable[str] = (), gain: float = 1e-6) -> ObservabilityMap:
        """The map for the k outputs ``among`` some that, with those ``beside`` them, see best at the worst pose.

        Outputs are added one at a time, each the best, then exchanged as long as one gains.
        gain : least relative gain of an exchange: rounding leaves 1e-10
        """
        candidates, kept = list(dict.fromkeys(among)), list(beside)
        count(1, len(candidates))("k", k)

        def worst(names: list[str]) -> tuple[int, float]:
            judged = self.of([*kept, *names])
            return int(judged.rank.min()), float(judged.strength.min())

        def better(a: tuple[int, float], b: tuple[int, float]) -> bool:
            return a[0] > b[0] or (a[0] == b[0] and a[1] > (1.0 + gain) * b[1])

        chosen: list[str] = []
        value = (-1, 0.0)
        for _ in range(k):
            base, value = list(chosen), (-1, 0.0)
            for name in candidates:
                if name not in base and better(trial := worst([*base, name]), value):
                    chosen, value = [*base, name], trial
        improved = k > 1
        while improved:
            improved = False
            for place, name in itertools.product(range(k), candidates):
                exchanged = [*chosen[:place], name, *chosen[place + 1 :]]
                if name not in chosen and better(trial := worst(exchanged), value):
                    chosen, value, improved = exchanged, trial, True
        return self.of([*kept, *chosen])

    def table(self) -> str:
        """Strength and rank at the worst and the best pose."""
        flat = self.strength.ravel()
        places = (("worst", int(np.argmin(flat))), ("best", int(np.argmax(flat))))
        rows = []
        for word, place in places:
            at = np.unravel_index(place, self.strength.shape)
            pose = (f"{values[k]:.4g}" for values, k in zip(self.axes.values(), at, strict=True))
            hertz = abs(self.weakest[at]) / (2.0 * np.pi)
            rows.append((word, *pose, f"{flat[place]:.3g}", str(self.rank[at]), f"{hertz:.4g}"))
        return align_columns(("pose", *self.axes, "strength", "rank", "at [Hz]"), rows)

    def __repr__(self) -> str:
        return f"ObservabilityMap of {len(self.states)} states from {', '.join(self.outputs)}\n{self.table()}"


def observability_map(
    model: EquationsOfMotion, over: Mapping[str, Any], *, outputs: str | Iterable[str] | None = None,
    fixed: Mapping[str, float] | None = None, scales: Mapping[str, float] | None = None, **options: Any,
) -> ObservabilityMap:  # fmt: skip
    """How well outputs determine the states at every pose of a grid, at rest and without input.

    Parameters
    ----------
    over : coordinate -> values, the axes of the grid
    outputs : sensors; all when left out. `ObservabilityMap.of` and `.best` take all sensors, too.
    fixed : coordinates that are the same at every pose
    scales : state -> its typical size; by kinetic energy (see above) when left out

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("cart", planar=True)
    >>> cart = m.add_body("cart", mass=1.0, inertia=0.1)
    >>> slide = m.add_prismatic("S", m.ground.at(0, 0), cart.at(0, 0))
    >>> place, speed = m.add_sensor("ruler", da.displacement("S")), m.add_sensor("speed", da.speed("S"))
    >>> seen = observability_map(da.equations(m), {"S.displacement": [0.0, 1.0]}, outputs="speed")
    >>> seen.rank.tolist(), seen.best(1, ["ruler", "speed"]).outputs
    ([1, 1], ('ruler',))
    """
    eqs: EquationsOfMotion = instance(EquationsOfMotion)("model", model)
    grid = {name: np.atleast_1d(np.asarray(values, dtype=np.float64)) for name, values in over.items()}
    DataError.when(not grid or not all(len(values) for values in grid.values()), "empty", "over has no pose.")
    machine = machine_process(eqs, **options)
    chosen = find_places(outputs, machine.outputs.names, "output")
    kernel = error_rates(machine)
    poses = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    n, m = machine.ne, machine.ny
    rates, rows = np.empty((len(poses), n, n)), np.empty((len(poses), m, n))
    omega, sizes = 1.0, np.ones(n)
    for k, pose in enumerate(poses):
        state = assemble(eqs, {**(fixed or {}), **pose})
        assert machine.placed is not None
        A, C, slope = kernel(machine.placed(state), np.zeros(machine.nu), machine.p, state.t)
        A, C = A.reshape(n, n), C.reshape(m, n)
        speeds = slope.reshape(machine.nx, n)[eqs.nq : eqs.nq + eqs.nv]
        if k == 0:
            moduli = np.abs(np.linalg.eigvals(A))
            oscillating = moduli[~slow(moduli)]
            omega = float(np.median(oscillating)) if len(oscillating) else 1.0
            inertia = Kernel(eqs.functions["inertia"])
            M = inertia(state.q, eqs.p, state.t)[0].reshape(eqs.nv, eqs.nv)
            sizes = _sizes(machine.errors.names, scales, np.einsum("vi,vw,wi->i", speeds, M, speeds), omega, eqs.name)
        rates[k] = A * sizes / sizes[:, None] / omega
        rows[k] = C * sizes
    length = np.linalg.norm(rows, axis=2).max(axis=0)[:, None]
    rows /= np.where(length > 0.0, length, 1.0)
    shape = tuple(len(values) for values in grid.values())
    empty = np.zeros(shape)
    every = ObservabilityMap(
        axes=grid, states=machine.errors.names, outputs=(), strength=empty, rank=empty.astype(np.intp),
        weakest=empty.astype(np.complex128), rates=rates, rows=rows, measurable=machine.outputs.names, omega=omega,
    )  # fmt: skip
    return every.of([machine.outputs.names[k] for k in chosen])


def slow(values: Any, share: float = 1e-6) -> Any:
    """Eigenvalues that count as 0.

    share : their modulus as a share of the largest: a double 0 comes out as √ε = 1e-8.
    """
    moduli = np.abs(values)
    return moduli <= share * moduli.max(initial=0.0)


def _sizes(
    names: tuple[str, ...], scales: Mapping[str, float] | None, energies: FloatArray, omega: float, model: str
) -> FloatArray:
    """(n,) sizes of errors: as given, or by kinetic energy; those of internal states are 1."""
    n, half = len(names), int(np.count_nonzero(energies > 0.0))
    if scales is None:
        DataError.when(
            not (energies[half : 2 * half] > 0.0).all(), "missing-argument",
            f"positions and speeds of {model!r} do not correspond one to one; give scales of the states.",
        )  # fmt: skip
        speeds = 1.0 / np.sqrt(energies[half : 2 * half])
        return np.concatenate([speeds / omega, speeds, np.ones(n - 2 * half)])
    read = mapping("state", positive)("scales", scales)
    missing = [name for name in names if name not in read]
    if missing:
        problem = f"{len(missing)} states of {model!r} have no scale, the first is {missing[0]}."
        raise DataError("missing-argument", problem, Advice("Give all in {}.", Argument("scales")))
    return np.array([read[name] for name in names])


def _judge(rates: FloatArray, rows: FloatArray, unseen: float = 1e-8) -> tuple[FloatArray, IntArray, ComplexArray]:
    """Strength, rank and weakest eigenvalue at every pose.

    unseen : smallest singular value, of the largest, that counts as 0: eigenvalues are exact to 1e-12.
    """
    poses, n, _ = rates.shape
    strength, rank = np.empty(poses), np.empty(poses, dtype=np.intp)
    weakest = np.empty(poses, dtype=np.complex128)
    for k, (A, C) in enumerate(zip(rates, rows, strict=True)):
        values = np.linalg.eigvals(A)
        values = np.where(slow(values), 0.0, values)
        values = np.unique(values[values.imag >= 0.0])
        stacked = np.concatenate(
            [A - values[:, None, None] * np.eye(n), np.broadcast_to(C, (len(values), *C.shape))], axis=1
        )
        singular = np.linalg.svd(stacked, compute_uv=False)
        least = int(np.argmin(singular[:, -1]))
        strength[k], weakest[k] = singular[least, -1], values[least]
        rank[k] = int((singular > unseen * singular[:, :1]).sum(axis=1).min())
    return strength, rank, weakest
