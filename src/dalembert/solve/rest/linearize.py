"""Linear models about an equilibrium or a steady motion.

With independent coordinates s, independent speeds w and internal states z, every small motion the joints allow is

    δξ = X δs ,   δv = V δs + W δw      (A_h X = 0,  S X = 1;   A W = 0,  S W = 1;   δ(rates) = 0,  δw = 0 along V)

and the linearized equations M δa - (f_λ + Aᵀ) δλ = -δR₁ , A δa = -δR₂ give δa and δλ exactly, without differentiating
a factorization. Where nothing rolls and there are no internal states the same is written as a second-order system by
projection on W: M̄ = Wᵀ M W, K̄ = Wᵀ (∂R₁/∂ξ X + ∂R₁/∂v V + M P), with P the accelerations that go with δs at s̈ = 0.
Deviations are meant throughout: the constant term vanishes only at an equilibrium, and the result is
the Jacobian, not the coefficients A(x) frozen at a point, unless that is requested.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np

from dalembert.core.arguments import take_names
from dalembert.core.errors import ModelError, ModelWarning
from dalembert.core.findings import Advice, Argument, Call, Finding
from dalembert.equations import EquationsOfMotion, State, require_equations
from dalembert.expressions import Array
from dalembert.linear import SecondOrder, StateSpace
from dalembert.linear.second_order import OperatingPoint
from dalembert.solve.constrained.solve import depends_on_reactions
from dalembert.solve.integrate.inputs import Inputs, read_inputs
from dalembert.solve.integrate.stick_slip import fix_modes
from dalembert.solve.position.assemble import assemble, check_start
from dalembert.solve.position.chart import Chart
from dalembert.solve.position.limits import find_broken
from dalembert.solve.position.tangent import Instant, Saddle, Terms, accelerations, split, terms, terms_together
from dalembert.solve.rest.equilibrium import equilibrium
from dalembert.solve.rest.linear_matrices import IGNORABLE, StateMatrices, find_first_order, make_model, read_outputs
from dalembert.solve.rest.steady_motion import MOVING, later

BLOCK = 64  # states in one call: their matrices are in memory at the same time


@overload
def linearize(
    eqs: EquationsOfMotion, at: State | None = None, *, inputs: Mapping[str, Any] | None = None,
    outputs: str | Iterable[str] | None = None, coordinates: str | Iterable[str] | None = None,
    anywhere: bool = False, frozen: bool = False, friction: bool = True,
) -> SecondOrder | StateSpace: ...  # fmt: skip


@overload
def linearize(
    eqs: EquationsOfMotion, at: Sequence[State], *, inputs: Mapping[str, Any] | None = None,
    outputs: str | Iterable[str] | None = None, coordinates: str | Iterable[str] | None = None,
    anywhere: bool = False, frozen: bool = False, friction: bool = True,
) -> tuple[SecondOrder | StateSpace, ...]: ...  # fmt: skip


def linearize(
    eqs: EquationsOfMotion,
    at: State | Sequence[State] | None = None,
    *,
    inputs: Mapping[str, Any] | None = None,
    outputs: str | Iterable[str] | None = None,
    coordinates: str | Iterable[str] | None = None,
    anywhere: bool = False,
    frozen: bool = False,
    friction: bool = True,
) -> SecondOrder | StateSpace | tuple[SecondOrder | StateSpace, ...]:
    """Linear model of small motions about an equilibrium or a steady motion; exact derivatives.

    Parameters
    ----------
    at : an equilibrium or a state of steady motion, from `da.equilibrium`; found when left out. Several in a list, each
        with the parameters of its own equations (``eqs.replace(...)``): models in the coordinates of the first one.
    inputs : values of the input channels there (zero when left out). All inputs stay inputs of the linear model.
    outputs : sensors (``"imu"`` means all its axes), coordinates or rates to have as outputs; all sensors when
        left out, the coordinates themselves where there are none.
    coordinates : names of the independent coordinates: joint coordinates, body coordinates (``"crank.x"``) or small
        turns of a body from its reference pose about its own axes (``"disc.rx"``, ``.ry``, ``.rz``) or about the
        world's (``"disc.rX"``, ...). Chosen when left out: joint coordinates first. Coordinates that are left out
        of the list must have no influence (cyclic); their rates stay among the states.
    anywhere : accept a state that is not an equilibrium. The model then describes deviations from the motion through
        that state, near that instant only; ``provenance["drift"]`` has the accelerations there.
    frozen : state-dependent coefficients instead of the Jacobian: A(x), C(x) with ẋ = A(x) (x - x₀) exactly, x₀ the
        equilibrium the machine would sink to, frozen at the state `at` (any state). Deviations are from x₀.
    friction : with exact dry friction, a coordinate that sticks is held (it is no coordinate of the linear model), one
        that slides has its constant effort; False leaves Coulomb friction out of the model. A regularised law has its
        slope, which acts as viscous damping. A `ModelWarning` and ``provenance["friction"]`` report it.

    Returns
    -------
    SecondOrder where all constraints are holonomic and there are no internal states, else StateSpace; of several states
    as many, in order. Values are deviations from the reference.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("pendulum", planar=True, gravity=(0, -10))
    >>> length = m.parameter("length", 2.5)
    >>> bob = m.add_body("bob", mass=1.0)
    >>> joint = m.add_revolute("hinge", m.ground.at(0, 0), bob.at(0, length))
    >>> eqs = da.equations(m)
    >>> da.linearize(eqs).modes().frequencies.round(9).tolist()
    [2.0]
    >>> rests = [da.equilibrium(eqs.replace(length=length)) for length in (2.5, 0.1)]
    >>> [one.modes().frequencies.round(9).tolist() for one in da.linearize(eqs, at=rests)]
    [[2.0], [10.0]]
    """
    require_equations(eqs)
    states = [equilibrium(eqs, inputs=inputs)] if at is None else [at] if isinstance(at, State) else at
    _check_states(eqs, states)
    named = None if coordinates is None else list(take_names("coordinate", coordinates))
    many = not (at is None or isinstance(at, State))
    models: list[SecondOrder | StateSpace] = []
    chart: Chart | None = None
    broken: dict[tuple[str, str], Finding] = {}
    for point in _evaluate(eqs, list(states), read_inputs(eqs, inputs), own=many, friction=friction):
        wanted = read_outputs(point.eqs, outputs)
        if at is not None and not frozen:
            broken |= {(one.code, repr(one.where)): one for one in find_broken(point.eqs, point.x)}
        if frozen:
            rest = point.eqs.state(point.x.q, None, point.x.z, point.x.t)
            models.append(_freeze(point.eqs, point.x, equilibrium(point.eqs, start=rest, inputs=inputs), named, wanted))
            continue
        model, used = _linearize_point(point, named, wanted, chart, anywhere=anywhere)
        chart = used if chart is None else chart
        models.append(model)
    ModelWarning.report(list(broken.values()))
    return tuple(models) if many else models[0]


def _check_states(eqs: EquationsOfMotion, states: Any) -> None:
    for one in states if isinstance(states, (list, tuple)) else [states]:
        if not isinstance(one, State):
            raise ModelError(
                "wrong-type",
                f"at must be a State, or a list of states; got {type(one).__name__}.",
                Advice("Make one with {}.", Call("da.equilibrium"), Call("da.assemble")),
            )
        if one.eqs.coordinates.names != eqs.coordinates.names:
            raise ModelError("wrong-owner", f"at belongs to equations {one.eqs.name!r}, not to {eqs.name!r}.")


@dataclass(frozen=True)
class _Point:
    """A state to linearize at.

    eqs : without dry friction, with the parameters of the state.  x : with accelerations.  notes : about friction.
    """

    eqs: EquationsOfMotion
    at: State
    x: Instant
    T: Terms
    saddle: Saddle | None
    notes: dict[str, str]


def _evaluate(
    eqs: EquationsOfMotion, states: list[State], inputs: Inputs, *, own: bool, friction: bool
) -> Iterator[_Point]:
    """Derivatives at states, many in one call; own : each with the parameters of its own equations."""
    for first in range(0, len(states), BLOCK):
        block = states[first : first + BLOCK]
        u = inputs.values(eqs, np.array([one.t for one in block]))
        near = []
        for one, values in zip(block, u, strict=True):
            machine = one.eqs if own else eqs
            check_start(machine, one)
            near.append((*_without_dry_friction(machine, one, values, friction), values))
        begun = [Instant(s.q, s.v, s.z, values, s.t, np.zeros(e.nv), s.lam) for e, s, _, values in near]
        alike = all(e._kernels is near[0][0]._kernels for e, *_ in near)
        if not alike or len(near) == 1 or depends_on_reactions(near[0][0]):
            for (e, s, notes, _), x in zip(near, begun, strict=True):
                x = accelerations(e, x)
                yield _Point(e, s, x, terms(e, x), None, notes)
            continue
        machine, p = near[0][0], np.stack([e.p for e, *_ in near])
        saddles, full = [], []
        for T, x in zip(terms_together(machine, begun, p), begun, strict=True):
            saddles.append(Saddle(T.M, T.A))
            a, lam = saddles[-1].solve(T.f, -T.R2)
            full.append(replace(x, a=a, lam=lam))
        for (e, s, notes, _), x, T, saddle in zip(near, full, terms_together(machine, full, p), saddles, strict=True):
            yield _Point(e, s, x, T, saddle, notes)


def _linearize_point(
    point: _Point, named: list[str] | None, wanted: list[tuple[str, int]], like: Chart | None, *, anywhere: bool
) -> tuple[SecondOrder | StateSpace, Chart]:
    """The linear model at a state, and its coordinates: those of another model, if there is one."""
    eqs, at, x = point.eqs, point.at, point.x
    moving = bool(np.abs(at.v).max(initial=0.0) > MOVING)
    then: Instant | None = None
    problem: ModelError | None = None
    for world in (False, True) if moving and eqs.quaternions and like is None else (False,):
        if like is None:
            chart = Chart(eqs, x, named, world=world, T=point.T)
        else:
            chart = like.at_state(eqs, x, point.T)
        if not chart.positions and not chart.speeds and not eqs.nz:
            raise ModelError(
                "no-freedom",
                f"nothing in {eqs.name!r} is free to move: its joints{' and drivers' if eqs.drivers else ''} decide "
                "the whole motion, so there are no small motions to linearize.",
                Advice("Use {}.", Call("da.kinematics"), Call("da.simulate")),
                *[Advice("Or leave out a driver.")] * bool(eqs.drivers),
            )
        drift = chart.drift(strict=not anywhere)
        first = find_first_order(eqs, x, chart, wanted, point.saddle)
        if anywhere or not moving:
            break
        then = later(eqs, x) if then is None else then
        problem = _changes(eqs, chart, first, find_first_order(eqs, then, chart.move_to(then), wanted))
        if problem is None:
            break
    if problem is not None:
        raise problem
    about = OperatingPoint.STATE if anywhere else OperatingPoint.STEADY_MOTION if moving else OperatingPoint.EQUILIBRIUM
    provenance: dict[str, Any] = {"made by": "da.linearize", "about": str(about)}
    if anywhere:
        provenance["drift"] = drift
    if point.notes:
        provenance["friction"] = point.notes
    provenance |= _reference(eqs, at, x, chart, first.outputs)
    return make_model(eqs, chart, first, about, provenance), chart


def _without_dry_friction(
    eqs: EquationsOfMotion, at: State, u: Array, friction: bool
) -> tuple[EquationsOfMotion, State, dict[str, str]]:
    """Equations that can be differentiated at a state, the state, and by coordinate or contact what friction does."""
    notes: dict[str, str] = {}
    near = fix_modes(eqs, at, u, without=not friction)
    for d in (d for d in eqs.dry if d.speed is None):
        mode = near.sliding.get(d.coordinate)
        if mode is None:
            notes[d.coordinate] = f"Coulomb friction {d.name!r} is left out"
        elif mode == 0:
            share = near.share[d.coordinate]
            notes[d.coordinate] = f"held by friction {d.name!r} ({share:.1%} of its limit)"
        else:
            way = "forward" if mode > 0 else "backward"
            notes[d.coordinate] = f"slides {way}, friction {d.name!r} keeps its direction"
    inside = [d for d in eqs.dry if d.measure >= 0]
    if inside and any(d.speed is not None for d in eqs.dry):
        rate, _, limit = eqs.kernel("friction")(at.q, at.v, eqs.p, at.t, at.lam)
    for d in (d for d in eqs.dry if d.speed is not None):
        slope = ""
        if d.measure >= 0:
            assert d.speed is not None
            k = inside.index(d)
            value = float(limit[k]) * d.speed**2 / (float(rate[k]) ** 2 + d.speed**2) ** 1.5
            slope = f" of {value:.4g} {d.unit} s/{'rad' if d.unit == 'N m' else 'm'}"
        notes[d.coordinate or d.name] = f"regularised friction {d.name!r} (speed={d.speed:g}) acts as damping{slope}"
    if near.sliding or any(d.speed is not None for d in eqs.dry):
        text = "; ".join(f"{name}: {note}" for name, note in notes.items())
        held = any(mode == 0 for mode in near.sliding.values())
        advice = [Advice("Use {} to leave Coulomb friction out.", Argument("friction", False))] * held
        warnings.warn(ModelWarning("linear-friction", f"linear model of {eqs.name!r}: {text}.", *advice), stacklevel=3)
    if 0.0 in near.sliding.values() and not eqs.nz:
        A = near.eqs.kernel("rows").sparse(0, at.q, at.v, at.z, u, near.eqs.p, at.t).toarray()
        if split(A)[4].shape[1] == 0:
            raise ModelError(
                "no-freedom",
                f"friction blocks every freedom of {eqs.name!r}, so there is nothing to linearize.",
                Advice("Use {} to leave it out.", Argument("friction", False)),
                Advice("A friction with a speed is smooth and can be linearized."),
            )
    return near.eqs, near.state, notes


def _reference(eqs: EquationsOfMotion, at: State, x: Instant, chart: Chart, outputs: tuple[str, ...]) -> dict[str, Any]:
    """Reference values of the deviations, by name, and the machine's names of the rates of the coordinates."""
    values: dict[str, float] = {}
    for c in (*chart.positions, *chart.speeds):
        if c.kind == "measure":
            values |= {c.name: at[c.name], c.rate_name: at[c.rate_name]}
        elif c.kind == "speed":
            values[c.name] = at[c.name]
    values |= {name: float(value) for name, value in zip(eqs.internal.names, x.z, strict=True)}
    values |= {name: float(value) for name, value in zip(eqs.inputs.names, x.u, strict=True)}
    if eqs.ny:
        y = np.ravel(eqs.kernel("outputs")(x.q, x.v, x.a, x.lam, x.z, x.u, eqs.p, x.t)[0])
        sensors = dict(zip(eqs.outputs.names, map(float, y), strict=True))
        values |= {name: value for name, value in sensors.items() if name in outputs}
    rates = {c.name: c.rate_name for c in chart.positions if c.kind == "measure"}
    return {"reference": values, "rates": rates}


def _freeze(
    eqs: EquationsOfMotion,
    x: Instant,
    rest: State,
    named: list[str] | None,
    wanted: list[tuple[str, int]],
    nodes: int = 16,
) -> StateSpace:
    """A(x) = ∫₀¹ ∂ẋ/∂x at x₀ + τ (x - x₀) dτ, by Gauss's rule: the mean of Jacobians has A(x) (x - x₀) = ẋ.

    nodes : of the mean of frozen coefficients; exact for polynomials of degree 31.
    """
    here = Chart(eqs, x, named, world=False)
    here.second_order = False
    if any(c.kind != "measure" for c in (*here.positions, *here.speeds)):
        raise ModelError(
            "not-supported", f"a frozen model needs joint or body coordinates that describe all of {eqs.name!r}."
        )
    end = eqs.state(x.q, x.v, x.z, x.t)
    last = find_first_order(eqs, x, here, wanted)
    A, C = np.zeros_like(last.A), np.zeros_like(last.C)
    state = rest
    for node, weight in zip(*np.polynomial.legendre.leggauss(nodes), strict=True):
        tau = 0.5 * (1 + node)
        place = {c.name: (1 - tau) * rest[c.name] + tau * end[c.name] for c in here.positions}
        speed = {c.rate_name: tau * end[c.rate_name] for c in here.speeds}
        state = eqs.state(state.q, state.v, (1 - tau) * rest.z + tau * end.z, x.t)
        state = assemble(eqs, place, velocity=speed, start=state, t=x.t)
        y = accelerations(eqs, Instant(state.q, state.v, state.z, x.u, x.t, np.zeros(eqs.nv), x.lam))
        jacobian = find_first_order(eqs, y, here.move_to(y), wanted)
        A, C = A + 0.5 * weight * jacobian.A, C + 0.5 * weight * jacobian.C
    first = replace(last, A=A, C=C)
    provenance = {"made by": "da.linearize", "about": "a state, coefficients frozen"}
    result = make_model(eqs, here, first, OperatingPoint.STATE, provenance)
    assert isinstance(result, StateSpace)
    return result


# --- steady motion ----------------------------------------------------------------------------------------------------


def _changes(
    eqs: EquationsOfMotion, chart: Chart, now: StateMatrices, then: StateMatrices, steady: float = 1e-6
) -> ModelError | None:
    """An error if the matrices are not constant along the motion.

    steady : relative change of the matrices along a steady motion that passes for none: far above the error of the
    short reference run (some 1e-10), far below any true periodic term.
    """
    if not np.all(np.isfinite(then.A)):
        return ModelError("no-solution", f"the motion of {eqs.name!r} cannot be continued from this state.")
    states = [c.name for c in chart.positions] + [c.rate_name for c in chart.speeds] + list(eqs.internal.names)
    dropped = [k for k, c in enumerate(chart.positions) if c not in chart.kept]
    change = np.abs(then.A - now.A)
    change[dropped] = 0.0
    change[:, dropped] = 0.0
    size = max(float(np.abs(now.A).max(initial=0.0)), 1e-300)
    if float(change.max(initial=0.0)) <= steady * size:
        moved = np.abs(np.hstack((then.C - now.C, then.D - now.D)))
        size = float(np.abs(now.C).max(initial=0.0)) + float(np.abs(now.D).max(initial=0.0)) + 1e-300
        if float(moved.max(initial=0.0)) <= steady * size:
            return None
        output = now.outputs[int(np.argmax(moved.max(axis=1)))]
        return ModelError(
            "not-at-rest",
            f"the output {output!r} of {eqs.name!r} does not stay the same function of the deviations along the "
            "motion.",
            Advice("Leave it out with {}.", Argument("outputs")),
        )
    drop = _cyclic(now.A, [k for k in range(len(chart.positions)) if k not in dropped], size)
    drop = [k for k in drop if float(change[k].max()) > steady * size]
    rest = change.copy()
    rest[drop] = 0.0
    if float(rest.max(initial=0.0)) <= steady * size:
        names = ", ".join(repr(states[k]) for k in drop)
        keep = [c.name for k, c in enumerate(chart.positions) if k not in drop and c in chart.kept]
        return ModelError(
            "not-at-rest",
            f"the rates of {names} change along the motion of {eqs.name!r}, but nothing depends on these coordinates.",
            Advice("Drop them: {}.", Argument("coordinates", keep)),
        )
    worst = int(np.argmax(rest.max(axis=0)))
    return ModelError(
        "not-at-rest",
        f"the motion of {eqs.name!r} is not steady in these coordinates: the influence of {states[worst]!r} changes "
        f"along it (by {rest[:, worst].max():.2g} within a third of a radian).",
        Advice(
            f"Choose {{}} without {states[worst]!r}, such as angles of joints in place of turns of a spinning body.",
            Argument("coordinates"),
        ),
    )


def _cyclic(A: Array, positions: list[int], size: float) -> list[int]:
    """The largest set of coordinates that nothing outside the set depends on."""
    found = list(positions)
    while True:
        outside = [k for k in range(len(A)) if k not in found]
        rest = [k for k in found if float(np.abs(A[outside, k]).max(initial=0.0)) <= IGNORABLE * size]
        if rest == found:
            return found
        found = rest
