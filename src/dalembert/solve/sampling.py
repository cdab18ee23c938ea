"""From the states of a run to a Record: sampling between steps, and every channel a user may ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array, Kernel
from dalembert.record import Record
from dalembert.solve.constrained import forward_function, projection_function
from dalembert.solve.explicit import Layout
from dalembert.solve.inputs import Inputs

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


class Sampler:
    """Collects states at chosen times from blocks of steps; between steps by quintic Hermite interpolation."""

    def __init__(self, eqs: EquationsOfMotion, layout: Layout, times: Array, inputs: Inputs) -> None:
        self.eqs = eqs
        self.where = layout.starts
        self.times = times
        self.inputs = inputs
        self.next = 0
        self.blocks: list[Array] = []
        self.between: list[Array] = []

    def take(self, before: Array, block: Array) -> None:
        """Samples in (t of `before`, t of the last column]; `block` has one state per row."""
        last = float(block[-1, 0])
        slack = 1e-9 * max(float(block[-1, 1]), 1e-300) + 4e-16 * abs(last)
        stop = int(np.searchsorted(self.times, last + slack, side="right"))
        if stop <= self.next:
            return
        wanted = self.times[self.next : stop]
        self.next = stop
        t = np.concatenate(([before[0]], block[:, 0]))
        index = np.searchsorted(t, wanted - slack, side="left")
        index = np.minimum(index, len(t) - 1)
        exact = np.abs(t[index] - wanted) <= slack
        rows = np.empty((len(wanted), block.shape[1]))
        rows[exact] = block[index[exact] - 1]
        if (at_start := exact & (index == 0)).any():
            rows[at_start] = before
        if not exact.all():
            # skip columns of rejected attempts: the left end is the last state with a smaller time
            right = index[~exact]
            left = np.searchsorted(t, t[right], side="left") - 1
            full = np.vstack((before, block))
            rows[~exact] = self._interpolate(full[left], full[right], wanted[~exact])
        rows[:, 0] = wanted
        self.blocks.append(rows)
        self.between.append(~exact)

    def _interpolate(self, x0: Array, x1: Array, wanted: Array) -> Array:
        """q by the quintic through (q, q̇, q̈) at both ends, v by the cubic of (v, v̇) raised by its own data."""
        w = self.where
        h = (x1[:, 0] - x0[:, 0])[:, None]
        s = (wanted[:, None] - x0[:, :1]) / h
        rows = x0 + s * (x1 - x0)
        part = {k: (x0[:, a:b], x1[:, a:b]) for k, (a, b) in w.items()}
        kernel = self.eqs.cached("acceleration of q", lambda: Kernel(_second_rate(self.eqs), compiled=False))
        ends = []
        for side, x in enumerate((x0, x1)):
            p = [part[k][side] for k in ("q", "v", "a")]
            ends.append(kernel.many(*p, self.eqs.p, x[:, :1]))
        (d0, dd0), (d1, dd1) = ends
        a, b = w["q"]
        rows[:, a:b] = quintic(s, h, part["q"][0], d0, dd0, part["q"][1], d1, dd1)
        a, b = w["v"]
        rows[:, a:b] = cubic(s, h, part["v"][0], part["a"][0], part["v"][1], part["a"][1])
        if self.eqs.is_holonomic and not self.eqs.rotations and self.eqs.nq == self.eqs.nv:
            rows[:, a:b] = quintic_rate(s, h, part["q"][0], d0, dd0, part["q"][1], d1, dd1)
        a, b = w["z"]
        rows[:, a:b] = cubic(s, h, part["z"][0], part["zdot"][0], part["z"][1], part["zdot"][1])
        a, b = w["work"]
        rows[:, a:b] = cubic(s, h, part["work"][0], part["power"][0], part["work"][1], part["power"][1])
        return rows

    def samples(self, *, project: bool) -> Samples:
        rows = np.vstack(self.blocks)
        between = np.concatenate(self.between)
        w = self.where
        part = {k: rows[:, a:b] for k, (a, b) in w.items()}
        q, v, a, lam = (part[k] for k in ("q", "v", "a", "lam"))
        if between.any():
            q, v, a, lam = q.copy(), v.copy(), a.copy(), lam.copy()
            t = part["t"][between]
            if project:
                kernel = self.eqs.cached("project kernel", lambda: Kernel(projection_function(self.eqs), compiled=False))
                q[between], v[between] = kernel.many(q[between], v[between], self.eqs.p, t)
            forward = self.eqs.cached("forward kernel", lambda: Kernel(forward_function(self.eqs), compiled=self.eqs.use_c))
            u = self.inputs.values(t[:, 0])
            _, a[between], _, _, lam[between], _ = forward.many(q[between], v[between], part["z"][between], u, self.eqs.p, t, lam[between])
        return Samples(part["t"][:, 0], q, v, part["z"], part["work"][:, 0], a, lam)


def _second_rate(eqs: EquationsOfMotion) -> ca.Function:
    """(q, v, v̇, p, t) -> q̇, q̈."""
    s = eqs.symbols()
    N, n = eqs.functions["kinematics"](s.q, s.p, s.t)
    rate = N @ s.v + n
    second = N @ s.a + ca.jtimes(rate, s.q, rate) + ca.jacobian(rate, s.t)
    return ca.Function("second_rate", [s.q, s.v, s.a, s.p, s.t], [ca.densify(rate), ca.densify(second)])


def quintic(s: Array, h: Array, y0: Array, d0: Array, c0: Array, y1: Array, d1: Array, c1: Array) -> Array:
    """Hermite quintic through value, slope and curvature at both ends."""
    s3, s4, s5 = s**3, s**4, s**5
    p1 = 10 * s3 - 15 * s4 + 6 * s5
    return (
        (1 - p1) * y0
        + p1 * y1
        + h * ((s - 6 * s3 + 8 * s4 - 3 * s5) * d0 + (-4 * s3 + 7 * s4 - 3 * s5) * d1)
        + h**2 * ((0.5 * s**2 - 1.5 * s3 + 1.5 * s4 - 0.5 * s5) * c0 + (0.5 * s3 - s4 + 0.5 * s5) * c1)
    )


def quintic_rate(s: Array, h: Array, y0: Array, d0: Array, c0: Array, y1: Array, d1: Array, c1: Array) -> Array:
    """Time derivative of `quintic`."""
    s2, s3, s4 = s**2, s**3, s**4
    p1 = 30 * s2 - 60 * s3 + 30 * s4
    return (
        p1 * (y1 - y0) / h
        + (1 - 18 * s2 + 32 * s3 - 15 * s4) * d0
        + (-12 * s2 + 28 * s3 - 15 * s4) * d1
        + h * ((s - 4.5 * s2 + 6 * s3 - 2.5 * s4) * c0 + (1.5 * s2 - 4 * s3 + 2.5 * s4) * c1)
    )


def cubic(s: Array, h: Array, y0: Array, d0: Array, y1: Array, d1: Array) -> Array:
    """Hermite cubic through value and slope at both ends."""
    s2, s3 = s**2, s**3
    p1 = 3 * s2 - 2 * s3
    return (1 - p1) * y0 + p1 * y1 + h * ((s - 2 * s2 + s3) * d0 + (s3 - s2) * d1)


# --- channels ------------------------------------------------------------------------------------------------------


def observation(eqs: EquationsOfMotion) -> tuple[Kernel, tuple[str, ...], tuple[str, ...]]:
    """Kernel (q,v,v̇,λ,z,u,p,t) -> all derived channels, with the names and units of a whole record."""

    def make() -> tuple[Kernel, tuple[str, ...], tuple[str, ...]]:
        s = eqs.symbols()
        F = eqs.functions
        value, rate, _, _ = F["measures"](s.q, s.v, s.p, s.t)
        chosen = list(eqs.recorded_measures)
        kinetic, potential = F["energy"](s.q, s.v, s.z, s.p, s.t)
        phi = F["position"](s.q, s.p, s.t)
        rates = F["rates"](s.q, s.v, s.p, s.t)
        parts = [
            value[chosen],
            rate[chosen],
            F["reactions"](s.q, s.v, s.lam, s.p, s.t),
            F["outputs"](s.q, s.v, s.a, s.lam, s.z, s.u, s.p, s.t),
            kinetic,
            potential,
            ca.norm_inf(phi) if phi.shape[0] else SX(0),
            ca.norm_inf(rates) if rates.shape[0] else SX(0),
        ]
        inputs = [s.q, s.v, s.a, s.lam, s.z, s.u, s.p, s.t]
        kernel = Kernel(ca.Function("observe", inputs, [ca.densify(ca.vertcat(*parts))], {"cse": eqs.nv < 600}), compiled=eqs.use_c)
        m, r, x, y = eqs.measures, eqs.measure_rates, eqs.reaction_channels, eqs.outputs
        names = (
            *eqs.coordinates.names,
            *eqs.speeds.names,
            *eqs.internal.names,
            *eqs.inputs.names,
            *(m.names[k] for k in chosen),
            *(r.names[k] for k in chosen),
            *x.names,
            *y.names,
            "energy.kinetic",
            "energy.potential",
            "residual.position",
            "residual.velocity",
            "energy",
            "energy.balance",
        )
        units = (
            *eqs.coordinates.units,
            *eqs.speeds.units,
            *eqs.internal.units,
            *eqs.inputs.units,
            *(m.units[k] for k in chosen),
            *(r.units[k] for k in chosen),
            *x.units,
            *y.units,
            "J",
            "J",
            "",
            "",
            "J",
            "J",
        )
        keep = [k for k, name in enumerate(names) if name not in names[:k]]  # a curve parameter is both q and measure
        return kernel, tuple(names[k] for k in keep), tuple(units[k] for k in keep), keep  # type: ignore[return-value]

    return eqs.cached("observation", make)  # type: ignore[no-any-return]


def to_record(eqs: EquationsOfMotion, samples: Samples, u: Array, **details: Any) -> Record:
    """Every channel of a run at its sample times."""
    kernel, names, units, keep = observation(eqs)  # type: ignore[misc]
    time = samples.t
    (derived,) = kernel.many(samples.q, samples.v, samples.a, samples.lam, samples.z, u, eqs.p, time.reshape(-1, 1))
    _unwrap(eqs, derived, time)
    n = derived.shape[1]
    energy = derived[:, n - 4] + derived[:, n - 3]
    balance = energy - energy[0] - (samples.work - samples.work[0])
    data = np.hstack((samples.q, samples.v, samples.z, u, derived, energy[:, None], balance[:, None]))
    if len(keep) != data.shape[1]:
        data = data[:, keep]
    return Record(time, data, names, units, name=eqs.name, scene=eqs.scene, **details)


def _unwrap(eqs: EquationsOfMotion, derived: Array, time: Array) -> None:
    """Spatial joint angles come from atan2; make them continuous, using their rate to count turns."""
    chosen = list(eqs.recorded_measures)
    for column, k in enumerate(chosen):
        if k in eqs.angles and len(time) > 1:
            angle, rate = derived[:, column], derived[:, column + len(chosen)]
            expected = 0.5 * (rate[1:] + rate[:-1]) * np.diff(time)
            turns = np.round((expected - np.diff(angle)) / (2 * np.pi))
            angle[1:] += 2 * np.pi * np.cumsum(turns)
