"""From the states of a run to a Record: states at the sample times, and all channels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import casadi as ca
import numpy as np

from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array, Kernel
from dalembert.numerics.sample_times import slack
from dalembert.record import Record
from dalembert.record.units import per_second
from dalembert.solve.constrained.solve import LARGE
from dalembert.solve.integrate.column import Layout
from dalembert.solve.position.prescribed_motion import acceleration_name

SX = ca.SX


@dataclass(frozen=True)
class Samples:
    """States at the times of a record, one per row."""

    t: Array
    q: Array
    v: Array
    z: Array
    work: Array
    a: Array
    lam: Array

    @classmethod
    def join(cls, runs: Sequence[Samples]) -> Samples:
        """The samples of several runs, one after the other."""
        return cls(*(np.concatenate([getattr(run, field.name) for run in runs]) for field in fields(cls)))


class Sampler:
    """Collects states at chosen times from blocks of steps.

    A time between two steps is reached by one shorter step of the same method from the left: as exact as the run.
    """

    def __init__(self, layout: Layout, times: Array) -> None:
        self.where = layout.starts
        self.times = times
        self.next = 0
        self.blocks: list[Array] = []

    def take(self, before: Array, block: Array, step_to: Callable[[Array, Array], Array]) -> None:
        """Samples in (t of `before`, t of the last row]; `block` has one state per row.

        Runs that share their times have one state each in the last axis.
        """
        times, steps = (block[:, k].reshape(len(block), -1)[:, 0] for k in (0, 1))
        last = float(times[-1])
        rounding = slack(max(float(steps[-1]), 0.0)) + 4e-16 * abs(last)
        stop = int(np.searchsorted(self.times, last + rounding, side="right"))
        if stop <= self.next:
            return
        wanted = self.times[self.next : stop]
        self.next = stop
        t = np.concatenate((np.ravel(before[0])[:1], times))
        index = np.minimum(np.searchsorted(t, wanted - rounding, side="left"), len(t) - 1)
        exact = np.abs(t[index] - wanted) <= rounding

        def states(at: Any) -> Array:
            found: Array = block[at - 1]
            found[at == 0] = before
            return found

        if exact.all():
            rows = states(index)
        else:
            rows = np.empty((len(wanted), *block.shape[1:]))
            rows[exact] = states(index[exact])
            left = np.searchsorted(t, t[index[~exact]], side="left") - 1
            rows[~exact] = step_to(states(left), wanted[~exact])
        rows[:, 0] = wanted if block.ndim == 2 else wanted[:, None]
        self.blocks.append(rows)

    def samples(self, lane: int | None = None) -> Samples:
        """All samples; of one run where several share their times."""
        rows = np.concatenate(self.blocks if lane is None else [block[..., lane] for block in self.blocks])
        part = {k: rows[:, a:b] for k, (a, b) in self.where.items()}
        return Samples(part["t"][:, 0], part["q"], part["v"], part["z"], part["work"][:, 0], part["a"], part["lam"])


# --- channels ------------------------------------------------------------------------------------------------------


def _choose_measures(eqs: EquationsOfMotion) -> list[int]:
    """Measures that records hold."""
    return [*eqs.recorded_measures, *eqs.carried_measures]


def observation(eqs: EquationsOfMotion) -> tuple[Kernel, tuple[str, ...], tuple[str, ...]]:
    """Kernel (q,v,v̇,λ,z,u,p,t) -> all derived channels, with the names and units of a whole record."""

    def make() -> tuple[Kernel, tuple[str, ...], tuple[str, ...]]:
        s = eqs.symbols()
        F = eqs.functions
        value, rate, S, bias = F["measures"](s.q, s.v, s.p, s.t)
        chosen, drawn = _choose_measures(eqs), list(eqs.drawn_measures)
        kinetic, potential = F["energy"](s.q, s.v, s.z, s.p, s.t)
        phi = F["position"](s.q, s.p, s.t)
        rates = F["rates"](s.q, s.v, s.p, s.t)
        parts = [
            value[chosen + drawn],
            rate[chosen],
            F["reactions"](s.q, s.v, s.a, s.lam, s.z, s.u, s.p, s.t),
            F["outputs"](s.q, s.v, s.a, s.lam, s.z, s.u, s.p, s.t),
            kinetic,
            potential,
            ca.norm_inf(phi) if phi.shape[0] else SX(0),
            ca.norm_inf(rates) if rates.shape[0] else SX(0),
            s.a,
            (S @ s.a + bias)[chosen],
        ]
        inputs = [s.q, s.v, s.a, s.lam, s.z, s.u, s.p, s.t]
        kernel = Kernel(ca.Function("observe", inputs, [ca.densify(ca.vertcat(*parts))], {"cse": eqs.nv < LARGE}))
        m, r, x, y = eqs.measures, eqs.measure_rates, eqs.reaction_channels, eqs.outputs
        names = (
            *eqs.coordinates.names,
            *eqs.speeds.names,
            *eqs.internal.names,
            *eqs.inputs.names,
            *(m.names[k] for k in chosen + drawn),
            *(r.names[k] for k in chosen),
            *x.names,
            *y.names,
            "energy.kinetic",
            "energy.potential",
            "residual.position",
            "residual.velocity",
            *(acceleration_name(n, eqs.speeds.index) for n in eqs.speeds.names),
            *(acceleration_name(r.names[k], r.index) for k in chosen),
            "energy",
            "energy.balance",
        )
        units = (
            *eqs.coordinates.units,
            *eqs.speeds.units,
            *eqs.internal.units,
            *eqs.inputs.units,
            *(m.units[k] for k in chosen + drawn),
            *(r.units[k] for k in chosen),
            *x.units,
            *y.units,
            "J",
            "J",
            "m",  # a wrong direction counts with the gap it makes 1 m away
            "m/s",
            *map(per_second, eqs.speeds.units),
            *(per_second(m.units[k], 2) for k in chosen),
            "J",
            "J",
        )
        # a curve parameter is both coordinate and measure; a sensor may be named as an acceleration is
        first = {name: k for k, name in reversed(list(enumerate(names)))}
        keep = [k for k, name in enumerate(names) if first[name] == k and name not in eqs.unrecorded]
        return kernel, tuple(names[k] for k in keep), tuple(units[k] for k in keep), keep  # type: ignore[return-value]

    return eqs.cache("observation", make)  # type: ignore[no-any-return]


def channel_values(eqs: EquationsOfMotion, samples: Samples, u: Array, p: Array, *, runs: int = 1) -> Array:
    """(n, k) every channel of `observation` at the samples of as many runs of equal length, one after the other.

    p : one row, or one per sample.
    """
    kernel, _, _, keep = observation(eqs)  # type: ignore[misc]
    time = samples.t.reshape(-1, 1)
    (derived,) = kernel.many(samples.q, samples.v, samples.a, samples.lam, samples.z, u, p, time)
    first = derived.shape[1] - eqs.nv - len(_choose_measures(eqs)) - 4
    energy = derived[:, first] + derived[:, first + 1]
    gained = (energy - samples.work).reshape(runs, -1)
    balance = (gained - gained[:, :1]).reshape(-1)
    data = np.hstack((samples.q, samples.v, samples.z, u, derived, energy[:, None], balance[:, None]))
    return data if len(keep) == data.shape[1] else data[:, keep]


def to_record(
    eqs: EquationsOfMotion, samples: Samples, u: Array, parameters: Array | None = None, **details: Any
) -> Record:
    """Every channel of a run at its sample times; `parameters` has one row per sample where they changed on the way."""
    _, names, units, _ = observation(eqs)  # type: ignore[misc]
    data = channel_values(eqs, samples, u, eqs.p if parameters is None else parameters)
    return Record(samples.t, data, names, units, name=eqs.name, scene=eqs.scene_data, **details)
