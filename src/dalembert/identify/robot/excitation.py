"""Excitation motions for the dynamic parameters of a robot: Fourier series whose regressor is well conditioned.

With W the base regressor over a period, rows divided by the size of the efforts, the search minimises the logarithm of

    condition     σ₁ / σ_n of W with columns of length 1: independent of the units of the parameters
    information   (det WᵀW)^(-1/2n), the mean deviation of the parameters (D-optimal), in their units and scale

(Swevers, Ganseman, Tükel and others 1997). Both are functions of W with a gradient G = ∂/∂W; that of q, v and v̇ is the
gradient of Σ G·W at a fixed G, one derivative of the regressor in reverse. The search takes quasi-Newton steps
from several random series; the best of them is scaled to its limits.
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np

from dalembert.core.arguments import one_of, positive_number, whole_number
from dalembert.core.errors import DataError, ModelError, require_name
from dalembert.core.findings import Advice, Argument, Finding
from dalembert.core.progress import Progress, Setting
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array, Kernel
from dalembert.identify.records.reporting import IdentificationWarning
from dalembert.identify.robot.fourier_series import (
    FINE,
    FourierBasis,
    JointRange,
    move,
    scale_exactly,
    smooth_scale,
)
from dalembert.record import Record
from dalembert.solve.position.prescribed_motion import acceleration_name
from dalembert.tree.base_parameters import base_parameters
from dalembert.tree.dynamics import inverse_dynamics
from dalembert.tree.evaluation import evaluate, require_tree
from dalembert.tree.regressor import JointColumns, Names, joint_speeds, read_joint_columns

SX = ca.SX
CRITERIA = ("condition", "information")
KEYS = ("lower", "upper", "speed", "acceleration", "effort")


def excitation(
    eqs: EquationsOfMotion, until: float, *, harmonics: int = 5,
    limits: Mapping[str, Mapping[str, float]] | None = None, friction: Names = ("viscous", "coulomb"),
    rotors: bool = False, joints: Names | None = None, noise: Mapping[str, float] | None = None,
    criterion: str = "condition", every: float | None = None, iterations: int = 200, starts: int = 3, seed: int = 0,
    progress: Setting = None,
) -> Record:  # fmt: skip
    """Design a motion for `da.identify.robot`: a Fourier series of each joint within limits, at rest at both ends.

    Parameters
    ----------
    eqs : equations of the drawing in joint coordinates
    until : period of the motion [s]
    harmonics : of the series; the highest has the frequency harmonics / until
    limits : joint -> ``lower``, ``upper``, ``speed``, ``acceleration``, ``effort``, in SI units and radians
        Those of the joints where left out; angles without limits stay within a turn.
    friction, rotors, joints : columns of joints that will be identified, as for `da.identify.robot`
    noise : joint -> standard deviation of its torque, for the weights of the rows
        In proportion to the torques of the drawing where left out.
    criterion : "condition" or "information"
    every : sample time of the result [s]; a hundredth of the period of the highest harmonic when left out
    iterations, starts : of the search; 0 iterations give a random series, the first of ``seed``
    progress : None, True, False or a function of the fraction done

    Returns
    -------
    Record of one period: positions, rates and accelerations of all joints, for `da.inverse_dynamics`, for a controller,
    and for a robot. ``statistics`` has the condition number, the coefficients, and the largest torques of the drawing.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("arm", planar=True)
    >>> arm = m.add_body("arm", mass=2.0, inertia=da.rod(1.0))
    >>> joint = m.add_revolute("shoulder", m.ground.at(0, 0), arm.at(-0.5, 0))
    >>> plan = excitation(da.equations(m, coordinates="joint"), 5.0, limits={"shoulder": {"speed": 2.0}})
    >>> bool(abs(plan["shoulder.rate"]).max() <= 2.0), plan.statistics["condition number"] < 10
    (True, True)
    """
    most_starts = 10_000  # of searches, each of which takes seconds
    samples = 20  # per period of the highest harmonic
    require_tree(eqs)
    period, top = positive_number("until", until), whole_number("harmonics", harmonics, 2)
    whole_number("iterations", iterations, 0), whole_number("starts", starts, 1, most_starts)
    one_of("criterion", criterion, CRITERIA)
    labels = _moving_joints(eqs)
    ranges, efforts = _ranges(eqs, labels, limits)
    columns = read_joint_columns(eqs, friction, rotors, joints)
    base = base_parameters(eqs, friction=friction, rotors=rotors, joints=joints)
    step = period / (100 * top) if every is None else positive_number("every", every)
    coarse = FourierBasis(period, top, np.linspace(0.0, period, samples * top, endpoint=False))
    fine = FourierBasis(period, top, np.linspace(0.0, period, FINE * samples * top, endpoint=False))
    rng = np.random.default_rng(whole_number("seed", seed))
    random = [_random_series(fine, ranges, rng) for _ in range(starts)]
    weights = _weights(eqs, labels, noise, coarse, random, ranges)
    search = _Search(eqs, columns, list(base.kept), coarse, ranges, list(labels.values()), weights, criterion)
    if iterations == 0:
        chosen = random[0]
    else:
        with Progress(progress, "excitation") as bar:
            designs = []
            for k, first in enumerate(random):
                best = search.run(first, iterations)
                designs += [scale_exactly(fine, best, ranges, fill=fill) for fill in (False, True)]
                bar.update((k + 1) / starts)
        chosen = min(designs, key=search.value_of)
    return _record(eqs, labels, period, top, step, chosen, ranges, search, criterion, efforts, seed)


def condition_number(W: Array) -> float:
    """Of a matrix with columns of length 1."""
    values = np.linalg.svd(W / np.linalg.norm(W, axis=0), compute_uv=False)
    return float(values[0] / values[-1])


# -- arguments -----------------------------------------------------------------------------------------------------


def _moving_joints(eqs: EquationsOfMotion) -> dict[str, int]:
    labels = joint_speeds(eqs)
    owners = dict.fromkeys(row.owner for row in eqs.rows)
    others = [name for k, name in enumerate(eqs.speeds.names) if k not in labels.values()]
    if owners or others:
        reasons = [f"rows of {', '.join(map(repr, owners))}"] if owners else []
        reasons += [f"the speeds {', '.join(map(repr, others[:6]))}"] if others else []
        raise ModelError(
            "not-supported",
            f"an excitation moves joints of one coordinate each, without rows; {eqs.name!r} has "
            f"{' and '.join(reasons)}.",
            Advice("Use a mechanism without them: with a fixed base, and with fixed joints in place of coupled ones."),
            where={"rows": list(owners), "speeds": others},
        )
    return labels


def _ranges(
    eqs: EquationsOfMotion, labels: Mapping[str, int], given: Mapping[str, Mapping[str, float]] | None
) -> tuple[list[JointRange], dict[str, float]]:
    measures = dict(zip(eqs.measure_rates.names, eqs.measures.names, strict=True))
    for name in given or {}:
        require_name("joint", name, labels, f"equations {eqs.name!r}", argument="limits", where={"joint": name})
    ranges, efforts = [], {}
    for label, k in labels.items():
        drawn = eqs.limits.get(measures[eqs.speeds.names[k]])
        values = {key: x for key in KEYS if (x := getattr(drawn, key, None)) is not None}
        for key, value in (given or {}).get(label, {}).items():
            require_name("limit", key, KEYS, f"limits of {label!r}", argument="limits")
            values[key] = float(value)
        if eqs.speeds.units[k].startswith("rad"):
            values.setdefault("lower", min(-np.pi, values.get("upper", np.pi) - 2 * np.pi))
            values.setdefault("upper", values["lower"] + 2 * np.pi)
        missing = [key for key in ("lower", "upper") if key not in values]
        if missing:
            raise DataError(
                "missing-argument", f"the slide {label!r} has no limits.",
                Advice("Give {}.", Argument("limits", {label: {"lower": -0.1, "upper": 0.1}})), where={"joint": label},
            )  # fmt: skip
        if not values["lower"] < values["upper"]:
            problem = f"limits of {label!r}: {values['lower']:g} is not below {values['upper']:g}."
            raise DataError("out-of-range", problem, where={"joint": label})
        for key in ("speed", "acceleration", "effort"):
            if key in values:
                positive_number(f"{key} limit of {label!r}", values[key])
        ranges.append(
            JointRange(
                values["lower"], values["upper"], values.get("speed", np.inf), values.get("acceleration", np.inf)
            )
        )
        if "effort" in values:
            efforts[label] = values["effort"]
    return ranges, efforts


def _random_series(fine: FourierBasis, ranges: list[JointRange], rng: np.random.Generator) -> Array:
    """Random coefficients, scaled to the limits."""
    return scale_exactly(fine, rng.normal(size=(len(ranges), fine.count)), ranges, fill=True)


def _weights(
    eqs: EquationsOfMotion, labels: Mapping[str, int], noise: Mapping[str, float] | None, basis: FourierBasis,
    random: list[Array], ranges: list[JointRange], smallest_effort: float = 0.01,
) -> Array:  # fmt: skip
    """1 / (standard deviation of the effort) of every row, in the order of the joints.

    smallest_effort : of the largest effort: motors of a wrist are not much finer than those of the base
    """
    if noise is not None:
        for name in noise:
            require_name("joint", name, labels, f"equations {eqs.name!r}", argument="noise")
        missing = [name for name in labels if name not in noise]
        if missing:
            raise DataError("missing-argument", f"noise needs one entry for every joint; {missing[0]!r} is missing.")
        return np.array([1.0 / positive_number(f"noise of {name!r}", noise[name]) for name in labels])
    order = list(labels.values())
    sizes = []
    for motion in random:
        q, v, a = (_reorder_by_speed(x, order) for x in move(basis, motion, ranges))
        sizes.append(np.sqrt((inverse_dynamics(eqs, (q, v), a) ** 2).mean(axis=0)))
    efforts = np.mean(sizes, axis=0)[order]
    return np.asarray(1.0 / np.maximum(efforts, smallest_effort * max(float(efforts.max()), 1e-300)))


def _reorder_by_speed(values: Array, order: list[int]) -> Array:
    """Columns in the order of the joints put in that of the speeds."""
    ordered = np.empty_like(values)
    ordered[:, order] = values
    return ordered


# -- search --------------------------------------------------------------------------------------------------------


class _Search:
    """The criterion of a series and its gradient."""

    def __init__(
        self, eqs: EquationsOfMotion, columns: JointColumns, kept: list[int], basis: FourierBasis,
        ranges: list[JointRange], order: list[int], weights: Array, criterion: str,
    ) -> None:  # fmt: skip
        self.eqs, self.columns, self.kept, self.basis, self.ranges = eqs, columns, kept, basis, ranges
        self.order, self.weights, self.criterion = order, weights, criterion
        self.gradient_kernel = self._gradient_kernel()

    def _gradient_kernel(self) -> Kernel:
        """(q, v, a, G, p, t) -> gradient of Σ G·Y by q, v and a."""
        eqs, columns = self.eqs, self.columns

        def make() -> Kernel:
            assert eqs.tree is not None
            # the sign of a speed counts as constant: its derivative is zero
            smooth = eqs.tree.function("regressor", columns.speeds, columns.terms, columns.speed)
            s = eqs.symbols()
            G = SX.sym("G", eqs.nv * len(self.kept))
            Y = smooth(s.q, s.v, s.a, s.p, s.t)[:, self.kept]
            total = ca.dot(ca.densify(ca.vec(Y)), G)
            slopes = [ca.densify(ca.gradient(total, x)) for x in (s.q, s.v, s.a)]
            return Kernel(ca.Function("regressor_gradient", [s.q, s.v, s.a, G, s.p, s.t], slopes, {"cse": True}))

        return eqs.cache(("regressor gradient", columns, tuple(self.kept)), make)  # type: ignore[no-any-return]

    def regressor(self, q: Array, v: Array, a: Array) -> Array:
        """W (samples · joints, columns), rows weighted; q, v, a in the order of the joints."""
        columns = self.columns
        at = [_reorder_by_speed(x, self.order) for x in (q, v, a)]
        Y = evaluate(self.eqs, (at[0], at[1]), "regressor", columns.speeds, columns.terms, columns.speed, a=at[2])[0]
        return np.asarray((Y[:, self.order][:, :, self.kept] * self.weights[:, None]).reshape(-1, len(self.kept)))

    def condition(self, coefficients: Array) -> float:
        return condition_number(self.regressor(*move(self.basis, coefficients, self.ranges)))

    def value_of(self, coefficients: Array) -> float:
        return judge(self.regressor(*move(self.basis, coefficients, self.ranges)), self.criterion)[0]

    def evaluate(self, x: Array) -> tuple[float, Array]:
        """Criterion and gradient at coefficients (joints · n), scaled smoothly to their limits."""
        X = x.reshape(len(self.ranges), -1)
        scales = [
            smooth_scale(self.basis, coefficients, span.limits)
            for coefficients, span in zip(X, self.ranges, strict=True)
        ]
        scaled = X * np.array([s for s, _ in scales])[:, None]
        q, v, a = move(self.basis, scaled, self.ranges)
        value, G = judge(self.regressor(q, v, a), self.criterion)
        weighted = G.reshape(len(q), len(self.order), -1) * self.weights[:, None]
        at_speed = np.empty_like(weighted)
        at_speed[:, self.order] = weighted
        flat = at_speed.transpose(0, 2, 1).reshape(len(q), -1)  # by columns
        at = [_reorder_by_speed(y, self.order) for y in (q, v, a)]
        slopes = self.gradient_kernel.many(*at, flat, self.eqs.p, np.zeros((len(q), 1)))
        by_scaled = sum(
            (B.T @ slope.reshape(len(q), -1)[:, self.order]).T
            for B, slope in zip(self.basis.matrices, slopes, strict=True)
        )
        gradient = np.empty_like(X)
        for j, (s, ds) in enumerate(scales):
            gradient[j] = s * by_scaled[j] + (by_scaled[j] @ X[j]) * ds
        return value, gradient.ravel()

    def run(self, first: Array, iterations: int) -> Array:
        """The best coefficients found from these, within smooth limits."""
        import scipy.optimize

        minimum = scipy.optimize.minimize(
            self.evaluate, first.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": iterations}
        )
        X = minimum.x.reshape(len(self.ranges), -1)
        scales = [smooth_scale(self.basis, x, span.limits)[0] for x, span in zip(X, self.ranges, strict=True)]
        return np.asarray(X * np.array(scales)[:, None])


def judge(W: Array, criterion: str) -> tuple[float, Array]:
    """Logarithm of the criterion of a regressor, and its gradient by W."""
    n = W.shape[1]
    if criterion == "information":
        U, s, Vt = np.linalg.svd(W, full_matrices=False)
        s = np.maximum(s, 1e-12 * s[0])
        return float(-np.log(s).mean()), -(U / s) @ Vt / n
    length = np.maximum(np.linalg.norm(W, axis=0), 1e-300)
    N = W / length
    U, s, Vt = np.linalg.svd(N, full_matrices=False)
    last = max(float(s[-1]), 1e-12 * float(s[0]))
    G = np.outer(U[:, 0], Vt[0]) / s[0] - np.outer(U[:, -1], Vt[-1]) / last
    return float(np.log(s[0] / last)), (G - N * (N * G).sum(axis=0)) / length


# -- result --------------------------------------------------------------------------------------------------------


def _record(
    eqs: EquationsOfMotion, labels: Mapping[str, int], period: float, harmonics: int, step: float, chosen: Array,
    ranges: list[JointRange], search: _Search, criterion: str, limits: Mapping[str, float], seed: int,
) -> Record:  # fmt: skip
    count = max(2, round(period / step))
    times = np.linspace(0.0, period, count + 1)
    basis = FourierBasis(period, harmonics, times)
    q, v, a = move(basis, chosen, ranges)
    order = list(labels.values())
    efforts = np.abs(
        inverse_dynamics(eqs, (_reorder_by_speed(q, order), _reorder_by_speed(v, order)), _reorder_by_speed(a, order))
    )
    largest = {label: float(efforts[:, k].max()) for label, k in labels.items()}
    over = [
        Finding(
            "out-of-range",
            f"the motion needs {largest[label]:.3g} of joint {label!r} by the drawing; its limit is {limit:.3g}.",
            {"joint": label}, {"effort": largest[label], "limit": limit},
            (Advice("Lower the limits of acceleration and speed, or take a longer {}.", Argument("until")),),
        )
        for label, limit in limits.items() if largest[label] > limit
    ]  # fmt: skip
    IdentificationWarning.report(over, stacklevel=2)
    measures = dict(zip(eqs.measure_rates.names, eqs.measures.names, strict=True))
    columns, units = {}, {}
    for values, kind in ((q, 0), (v, 1), (a, 2)):
        for j, k in enumerate(order):
            rate = eqs.speeds.names[k]
            name = (measures[rate], rate, acceleration_name(rate, eqs.speeds.index))[kind]
            columns[name] = values[:, j]
            units[name] = eqs.speeds.units[k].removesuffix("/s") + ("", "/s", "/s^2")[kind]
    statistics = {
        "condition number": search.condition(chosen), "criterion": criterion, "period": period,
        "coefficients": (search.basis.free @ chosen.T).T.tolist(), "largest efforts": largest, "seed": seed,
    }  # fmt: skip
    return Record.from_channels(times, columns, units, name=f"{eqs.name} excitation", statistics=statistics)
