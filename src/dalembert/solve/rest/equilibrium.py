"""Equilibrium: where a machine stays at rest, and motions that stay the same.

Rest: f(q, 0, z, u, t, λ) + Aᵀ λ = 0, φ = 0, g = 0. From a pose the machine follows the forces as in a viscous fluid:
steps of (K + μ M) δξ - Aᵀ δλ = f + Aᵀ λ with μ falling from large (short steps along the force) to zero (Newton's
method), so that a stable equilibrium is found where there is one; no potential is needed.
Internal states follow the pose where ∂g/∂z is regular. An integrator has ∂g/∂z = 0, and the pose follows from it: then
Newton's method takes (ξ, z, λ) together.
Steady motion: the same rows with v and a as unknowns too, constant rates of the named coordinates, see `steady_motion`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.core.arguments import real_number, take_names
from dalembert.core.errors import AssemblyError, ConvergenceError, ModelError, ModelWarning
from dalembert.core.findings import Advice, Argument
from dalembert.equations import EquationsOfMotion, State, require_equations
from dalembert.expressions import Array
from dalembert.solve.integrate.inputs import read_inputs
from dalembert.solve.integrate.stick_slip import convert, fix_modes
from dalembert.solve.position.assemble import DENSE, assemble, check_start, require_state
from dalembert.solve.position.limits import find_broken
from dalembert.solve.position.tangent import Instant, accelerations, named_values, require_mapping
from dalembert.solve.rest.rest_equations import (
    ACCEPTED,
    CLOSED,
    CONVERGED,
    GOOD,
    INTEGRATOR,
    NEWTON_STEPS,
    STEP,
    Place,
    Rest,
)
from dalembert.solve.rest.steady_motion import steady_motion


def equilibrium(
    eqs: EquationsOfMotion,
    *,
    start: State | None = None,
    guess: Mapping[str, float] | None = None,
    inputs: Mapping[str, Any] | None = None,
    hold: Mapping[str, float] | None = None,
    efforts: str | Sequence[str] = (),
    rates: Mapping[str, float | None] | None = None,
    t: float = 0.0,
) -> State:
    """A state in which the machine stays at rest, or moves steadily.

    Parameters
    ----------
    start : a state to sink from; left out, the drawing's pose. A stable equilibrium is preferred; where the machine
        comes to none, the nearest equilibrium of any kind is taken.
    guess : coordinates near the wanted equilibrium. Given, the nearest equilibrium is sought, stable or not
        (``guess={"hinge": 1.5}`` finds the pendulum upright); for steady motion also rates.
    inputs : values of the input channels; zero when left out.
    hold : coordinates that must have these values (one of a family of equilibria). An equilibrium that would need
        an effort to hold them is refused, but for those in `efforts`.
    efforts : held coordinates along which an effort may act, such as that of a motor; it is found.
    rates : steady motion instead of rest: constant rates of named coordinates, ``{"spin.angle": 100.0}``; None for
        one to be found. All other independent coordinates are at rest.
    t : time, for moving joints and inputs.

    With exact dry friction (`add_friction` without ``speed=``) a machine may rest anywhere inside the limits: the pose
    of `start`, `guess` or `hold` is taken where friction holds it; with none of them the equilibrium without friction
    if there is one, else the drawing's pose if friction holds it.

    Where nothing balances, or the search does not get there, an error has the acceleration that is left: no state is
    returned whose forces do not balance along every coordinate to 1e-9 of the weights, loads and reactions along it
    (and to what rounding of a stiff coordinate makes). A `ModelWarning` reports flexible bodies that leave the range of
    their linear deformations, as in a run.

    Returns
    -------
    State, with the joints' multipliers in ``lam``, in ``friction`` the share of its limit with which dry friction holds
    each coordinate, and in ``free`` the coordinates whose value does not matter: one of a family of equilibria along
    them; in ``efforts`` the efforts that were found.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("pendulum", planar=True)
    >>> bob = m.add_body("bob", mass=1.0)
    >>> joint = m.add_revolute("hinge", m.ground.at(0, 0), bob.at(-2, 0))
    >>> rest = da.equilibrium(da.equations(m))
    >>> round(rest["bob.y"], 9)
    -2.0
    >>> level = da.equilibrium(da.equations(m), hold={"hinge": 0.0}, efforts="hinge")
    >>> round(level.efforts["hinge.angle"], 6)
    19.62
    """
    require_equations(eqs)
    if start is not None:
        require_state(eqs, start)
        check_start(eqs, start)
        t = start.t
    held = named_values(eqs, hold, "hold")
    driven = [eqs.full_name(name) for name in take_names("coordinate", efforts)]
    for name in driven:
        if name not in held or rates is not None:
            problem = f"efforts: {name!r} is no coordinate that is held at rest; held: {', '.join(held) or 'none'}."
            raise ModelError("unknown-name", problem, Advice("Name it in {}.", Argument("hold", {name: 0.0})))
    guess = None if guess is None else require_mapping(guess, "guess")
    rates = None if rates is None else require_mapping(rates, "rates")
    t = real_number("t", t)
    u = read_inputs(eqs, inputs).values(eqs, np.array([t]))[0]
    if rates is None:
        state = _find_rest(eqs, start, guess, u, held, driven, t)
    else:
        state = _find_steady(eqs, start, guess, u, held, rates, t)
    x = Instant(state.q, state.v, state.z, u, t, np.zeros(eqs.nv), state.lam)
    ModelWarning.report(find_broken(eqs, x if rates is None or not eqs.load_assumptions else accelerations(eqs, x)))
    return state


def _find_steady(
    eqs: EquationsOfMotion,
    start: State | None,
    guess: Mapping[str, float] | None,
    u: Array,
    held: Mapping[str, float],
    rates: Mapping[str, float | None],
    t: float,
) -> State:
    """Steady motion, with the friction that slides at the wanted rates."""
    if eqs.stick_slip is None:
        return steady_motion(eqs, start=start, guess=guess, u=u, hold=held, rates=rates, t=t)
    near = fix_modes(eqs, _set_rates(eqs, start, guess, held, rates, t), u)
    found = steady_motion(near.eqs, start=near.state, guess=guess, u=u, hold=held, rates=rates, t=t)
    return replace(convert(found, eqs), friction=near.share)


def _find_rest(
    eqs: EquationsOfMotion,
    start: State | None,
    guess: Mapping[str, float] | None,
    u: Array,
    held: Mapping[str, float],
    driven: Sequence[str],
    t: float,
) -> State:
    """Rest, where friction holds it or without its help."""
    pose = _first_pose(eqs, start, guess, held, t)
    if eqs.stick_slip is None:
        return _at_rest(eqs, pose, start, guess, u, held, driven, t)
    here = _stick(eqs, pose, u, held, guess) if start is not None or guess or held else None
    if isinstance(here, State):
        return replace(here, efforts=dict.fromkeys(driven, 0.0))
    try:
        free = _at_rest(eqs, pose, start, guess, u, held, driven, t)
    except ConvergenceError as problem:
        here = _stick(eqs, pose, u, held, guess) if here is None else here
        if isinstance(here, State):
            return replace(here, efforts=dict.fromkeys(driven, 0.0))
        both = replace(problem.finding, problem=f"{problem.finding.problem} {here}")
        raise ConvergenceError.of(both) from None
    return replace(free, friction=dict.fromkeys((d.coordinate for d in eqs.dry if d.speed is None), 0.0))


def _set_rates(
    eqs: EquationsOfMotion,
    start: State | None,
    guess: Mapping[str, float] | None,
    held: Mapping[str, float],
    rates: Mapping[str, float | None],
    t: float,
) -> State:
    """A state with the wanted or guessed rates, which decide the direction of sliding."""
    speeds = {n: v for n, v in (guess or {}).items() if eqs.full_name(n) not in eqs.measures.index}
    places = {n: v for n, v in (guess or {}).items() if n not in speeds}
    pose = _first_pose(eqs, start, places, held, t)
    return assemble(eqs, start=pose, velocity={**speeds, **{n: v for n, v in rates.items() if v is not None}}, t=t)


def _stick(
    eqs: EquationsOfMotion, pose: State, u: Array, held: Mapping[str, float], guess: Mapping[str, float] | None
) -> State | str:
    """Rest with every coordinate that has exact friction where it is; else a sentence on what friction cannot hold."""
    s = eqs.kernel("measures")(pose.q, np.zeros(eqs.nv), eqs.p, pose.t)[0]
    dry = [d for d in eqs.dry if d.speed is None]
    problem = Rest(eqs, u, {**{d.coordinate: float(s[d.measure]) for d in dry}, **held}, pose.t)
    problem.measure_size(pose.q)
    place = problem.settle(pose.q, np.array(pose.z))
    if place is None:
        raise AssemblyError("joint-open", f"cannot close the joints of {eqs.name!r} at the start.")
    problem.check_still(place)
    if problem.error(place) > CONVERGED:
        place = _polish(problem, (_newton(problem, place) if guess else None) or _fall(problem, place))
    if problem.error(place) > ACCEPTED:
        return "With friction holding its joints where they are, the rest of the machine finds no equilibrium either."
    found = eqs.state(place.q, None, place.z, pose.t, lam=place.lam[: len(eqs.rows)])
    near = fix_modes(eqs, found, u)
    x = accelerations(near.eqs, Instant(found.q, found.v, found.z, u, found.t, found.v, near.state.lam))
    if place.shares(place.forces.M @ x.a, x.a).max(initial=0.0) <= ACCEPTED:
        lam = x.lam[: len(eqs.rows)]
        at_limit = {d.coordinate: 1.0 for d in dry}  # released although another holds it: it carries its limit
        return replace(eqs.state(found.q, None, found.z, found.t, lam=lam), friction=at_limit | near.share)
    limits = eqs.kernel("friction")(found.q, found.v, eqs.p, found.t, found.lam)[1]
    inside = [d for d in eqs.dry if d.measure >= 0]
    efforts = dict(zip(problem.held, place.lam[len(eqs.rows) :], strict=True))
    needs = [(abs(float(efforts[d.measure])), float(limits[inside.index(d)]), d) for d in dry]
    most, limit, d = max(needs, key=lambda each: each[0] / max(each[1], 1e-300))
    return (
        f"Friction does not hold it where it is: {d.coordinate!r} would need {most:.6g} {d.unit} of friction "
        f"{d.name!r}, whose limit is {limit:.6g} {d.unit}."
    )


def _at_rest(
    eqs: EquationsOfMotion,
    pose: State,
    start: State | None,
    guess: Mapping[str, float] | None,
    u: Array,
    held: Mapping[str, float],
    driven: Sequence[str],
    t: float,
) -> State:
    """Rest without the help of dry friction."""
    problem = Rest(eqs, u, held, t)
    problem.measure_size(pose.q)
    place = problem.settle(pose.q, np.array(pose.z))
    if place is None:
        raise AssemblyError("joint-open", f"cannot close the joints of {eqs.name!r} at the start.")
    problem.check_still(place)
    if guess is not None:
        found = _newton(problem, place)
        if found is None:
            found = _sink(problem, place)
    elif start is not None and problem.error(place) <= ACCEPTED:
        found = place
    else:
        found = _fall(problem, place)
    found = _polish(problem, found)
    if eqs.nz and problem.error(found) > ACCEPTED:  # internal states that do not follow the pose: integrators
        rest = _settle_integrators(problem, place.q, place.z)
        found = (None if rest is None else problem.settle(*rest)) or found
    problem.check_found(found, driven)
    state = eqs.state(found.q, np.zeros(eqs.nv), found.z, t, lam=found.lam[: len(eqs.rows)])
    efforts = dict(zip(held, (float(x) for x in found.lam[len(eqs.rows) :]), strict=True))
    return replace(state, free=problem.free_coordinates(found), efforts={name: efforts[name] for name in driven})


def _first_pose(
    eqs: EquationsOfMotion, start: State | None, guess: Mapping[str, float] | None, held: Mapping[str, float], t: float
) -> State:
    if not guess:
        return assemble(eqs, held, start=start, t=t) if held or start is None else start
    wanted = {eqs.full_name(name): value for name, value in guess.items()}
    prescribed = {name: value for name, value in wanted.items() if name in eqs.measures.index and name not in held}
    try:
        return assemble(eqs, {**prescribed, **held}, guess=guess, start=start, t=t)
    except AssemblyError:  # a guess need not be exact
        return assemble(eqs, held, guess=guess, start=start, t=t)


def _sink(
    problem: Rest,
    place: Place,
    descent: int = 600,
    too_far: float = 1e12,
    least_damping: float = 1e-3,
    no_damping: float = 1e-9,
    overshoot: float = 0.5,
    slowest: float = 0.5,
    fastest: float = 0.05,
) -> Place:
    """Follow the forces downhill, in ever longer steps.

    descent : steps along the forces: 60 sizes of the machine in steps of 0.4, four times.
    too_far : damping over the first one that ends a descent: steps are rounding.
    least_damping : of the first one, after a step that failed.
    no_damping : of the first one, from which a step is Newton's.
    overshoot : or share of its first force that opposes a step at its end: past the minimum, not far.
    slowest : factor by which damping falls after a step that helps, at least.
    fastest : and at most: as fast as the force does, a step of Newton's method is tried four steps later.
    """
    first = problem.accelerations(place)
    if first == 0.0:
        return place
    mu = first / STEP
    began = place.q
    smallest = no_damping * mu
    for _ in range(descent):
        if problem.error(place) <= CONVERGED or problem.is_lost(began, place.q):
            break
        change = problem.step(place, mu)
        size = float(np.abs(change).max(initial=0.0))
        along = float(place.left @ change)
        trial = None
        if np.isfinite(size) and along > 0.0:  # else uphill: a Newton step towards an unstable equilibrium
            share = problem.share(change)
            change, along = share * change, share * along
            trial = problem.settle(problem.move(place.q, change), place.z)
        if trial is not None and problem.is_same_branch(place, trial):
            before, after = place.work(place.left), place.work(trial.left)
            if after >= GOOD * before and problem.error(place) <= ACCEPTED:
                break  # rounding
            if after < GOOD * before or float(trial.left @ change) >= -overshoot * along:
                shorter = min(max(fastest, after / before), slowest)
                if share < 1.0:  # cut, it is no step of the flow: damped more, the next one has that length
                    mu = max(mu, least_damping * first) / share
                else:
                    mu = mu * shorter if mu > smallest else 0.0
                place = trial
                continue
        mu = max(4 * mu, least_damping * first)
        if mu > too_far * first:
            break
    return place


def _fall(problem: Rest, place: Place, perturbations: int = 6, first_move: float = 0.05) -> Place:
    """Where the machine comes to rest; where it falls for ever or comes apart, the nearest equilibrium of any kind.

    perturbations : moves away from unstable equilibria, of 0.05 rad, doubled each time: up to a quarter turn.
    first_move : the first of them [rad].
    """
    try:
        found = _sink(problem, place)
        for k in range(perturbations if problem.eqs.nv <= DENSE else 0):
            away = problem.unstable_direction(found)
            if away is None:
                break
            moved = problem.settle(problem.move(found.q, away * (first_move * 2**k)), found.z)
            if moved is None:
                break
            found = _sink(problem, moved)
    except ConvergenceError:  # a wheel that falls flat
        nearest = _newton(problem, place)
        if nearest is None:
            raise
        return nearest
    if problem.error(found) <= ACCEPTED or problem.eqs.nz:
        return found
    try:
        return _newton(problem, place) or found
    except ConvergenceError:
        return found


def _newton(problem: Rest, place: Place, shortest: float = 1e-3, decrease: float = 1e-4) -> Place | None:
    """Newton's method to the nearest equilibrium of any kind; None where it loses its way.

    shortest : part of a Newton step, halved ten times, that ends the search.
    decrease : share of the predicted decrease that is one (Armijo).
    """
    for _ in range(NEWTON_STEPS):
        if problem.error(place) <= CONVERGED:
            return place
        change = problem.step(place, 0.0)
        size = float(np.abs(change).max(initial=0.0))
        if not np.isfinite(size):
            return None
        change = change * problem.share(change)
        fraction = 1.0
        before = place.work(place.left)
        while True:
            trial = problem.settle(problem.move(place.q, fraction * change), place.z)
            if trial is not None and place.work(trial.left) < (1 - decrease * fraction) * before:
                place = trial
                break
            fraction /= 2
            if fraction < shortest:
                return place if problem.error(place) <= ACCEPTED else None
    return place if problem.error(place) <= ACCEPTED else None


def _polish(problem: Rest, place: Place) -> Place:
    """Newton steps for as long as they help."""
    for _ in range(NEWTON_STEPS):
        if problem.error(place) == 0.0:
            break
        trial = problem.settle(problem.move(place.q, problem.step(place, 0.0)), place.z)
        if trial is None or not problem.error(trial) < GOOD * problem.error(place):
            break
        place = trial
    return place


def _settle_integrators(problem: Rest, q: Array, z: Array) -> tuple[Array, Array] | None:
    """Pose and internal states at rest, nearest to these; None where Newton's method does not get there.

    f + Aᵀλ = 0 ,   φ = 0 ,   g(q, z) = 0     on (ξ, z, λ) together
    """
    lam = np.zeros(len(problem.eqs.rows) + len(problem.held))
    least = np.inf
    for _ in range(NEWTON_STEPS):
        now = problem.forces(q, z, lam)
        A = now.A.toarray()
        left = now.f + A.T @ lam
        size = float(np.linalg.norm(np.concatenate((left, now.gap, now.g))))
        if not np.isfinite(size):
            return None
        if size <= CLOSED * (1 + float(np.abs(now.f).max(initial=0.0))):
            return q, z
        least = min(least, size)
        rows, nz = len(lam), len(z)
        matrix = np.block([
            [now.K.toarray(), -now.f_z.toarray(), -A.T],
            [A, np.zeros((rows, nz + rows))],
            [now.g_x.toarray(), now.g_z.toarray(), np.zeros((nz, rows))],
        ])  # fmt: skip
        change = np.linalg.lstsq(matrix, np.concatenate((left, -now.gap, -now.g)), rcond=INTEGRATOR)[0]
        move = change[: problem.eqs.nv]
        share = problem.share(move)
        q = problem.move(q, share * move)
        z = z + share * change[len(move) : len(move) + nz]
        lam = lam + share * change[len(move) + nz :]
    return (q, z) if least <= ACCEPTED * (1 + float(np.abs(now.f).max(initial=0.0))) else None
