"""Limits of the search for rest: the numbers just inside and just outside."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_matrix

import dalembert as da
from dalembert.core.errors import ConvergenceError, ModelError
from dalembert.solve.position.balance import Scales
from dalembert.solve.rest import equilibrium
from dalembert.solve.rest.rest_equations import Forces, Place, Rest
from tests.helpers.findings import raises


def body(**constraints: float) -> Rest:
    """A body at (2, 0); every constraint gives x a value."""
    m = da.Mechanism("body", planar=True, gravity=0)
    m.add_body("body", mass=1.0, inertia=1.0, position=(2.0, 0.0))
    for name, value in constraints.items():
        m.add_constraint(name, lambda s, at=value: s["body.x"] - at)
    return Rest(da.equations(m), np.zeros(0), {}, 0.0)


def place(**given: Any) -> Place:
    """A pose with forces of 1 N at play along every coordinate, and coordinates that take 1 J along 1 m."""
    zero, one = np.zeros(3), np.ones(1)
    numbers = {"q": zero, "z": np.zeros(0), "lam": zero, "left": zero, "g": np.zeros(0)}
    massless = SimpleNamespace(M=csc_matrix((3, 3)), A=csc_matrix((0, 3)))
    return Place(
        **{**numbers, "acceleration": zero, "forces": massless, "scales": Scales(one, 0 * one), "unit": one, **given}
    )


def test_a_step_is_0_4_rad_or_that_share_of_the_size_of_the_machine() -> None:
    rest = body()
    rest.measure_size(np.array([2.0, 0.0, 0.0]))
    assert rest.share(np.array([1.6, 0.0, 0.0])) == pytest.approx(0.5)
    assert rest.share(np.array([0.0, 0.0, 0.8])) == pytest.approx(0.5)


@pytest.mark.parametrize(("sizes", "lost"), [(59.0, False), (61.0, True)])
def test_a_body_sixty_sizes_away_falls_for_ever(sizes: float, lost: bool) -> None:
    rest, began = body(), np.array([2.0, 0.0, 0.0])
    rest.measure_size(began)
    assert rest.is_lost(began, began - [0.0, 2.0 * sizes, 0.0]) is lost


@pytest.mark.parametrize(("apart", "closes"), [(1.6e-10, True), (2.4e-10, False)])
def test_a_gap_that_stays_below_1e_10_passes(apart: float, closes: bool) -> None:
    """Two values of x: a half of their difference stays open on each."""
    rest = body(one=0.0, two=apart)
    assert (rest.settle(np.zeros(3), np.zeros(0)) is not None) is closes


def test_a_gap_that_a_step_quarters_is_closed_and_one_that_stays_is_given_up_after_25_steps() -> None:
    """x² = 0 has no gradient at its root: Newton's method halves x, from 1 m to √2e-13 m in 22 steps."""
    m = da.Mechanism("body", planar=True, gravity=0)
    m.add_body("body", mass=1.0, inertia=1.0)
    m.add_constraint("touch", lambda s: s["body.x"] ** 2)
    assert Rest(da.equations(m), np.zeros(0), {}, 0.0).settle(np.array([1.0, 0.0, 0.0]), np.zeros(0)) is not None
    rest, poses = body(one=0.0, two=1.0), []
    forces = rest.forces
    rest.forces = lambda q, z, lam: poses.append(q) or forces(q, z, lam)  # type: ignore[method-assign, func-returns-value]
    assert rest.settle(np.zeros(3), np.zeros(0)) is None
    assert len(poses) == 25


def one_step(nv: int, stiffness: float) -> float:
    """Step along a coordinate with this stiffness beside others of 1, from a force as large as the stiffness."""
    K = csc_matrix(np.diag([stiffness, *np.ones(nv - 1)]))
    forces = SimpleNamespace(A=csc_matrix((0, nv)), M=0.0 * K, stiffness=lambda: K)
    left = np.zeros(nv)
    left[0] = stiffness
    state: Any = SimpleNamespace(eqs=SimpleNamespace(nv=nv))
    state.solve = lambda *system: Rest.solve(state, *system)
    return float(Rest.step(state, place(left=left, forces=forces, unit=np.ones(nv)), 0.0)[0])


@pytest.mark.parametrize(("stiffness", "step"), [(0.5e-11, 0.0), (2e-11, 1.0)])
def test_a_direction_below_1e_11_of_a_unit_of_work_does_not_move_in_a_dense_step(stiffness: float, step: float) -> None:
    assert one_step(2, stiffness) == pytest.approx(step)


def test_a_sparse_step_has_1e_11_of_a_unit_of_work_added_and_is_refined_twice() -> None:
    """Half of the step is missed, then half of the rest, twice."""
    assert one_step(41, 1e-11) == pytest.approx(1 - 0.5**3)


@pytest.mark.parametrize(("inertia", "counted"), [(0.9e-6, 1e-6), (1.1e-6, 1.1e-6)])
def test_an_inertia_below_a_millionth_of_the_largest_counts_as_that(inertia: float, counted: float) -> None:
    """Over sizes of 2 m and 1 rad."""
    state: Any = SimpleNamespace(extent=np.array([2.0, 1.0]))
    assert Rest._with_some(state, np.array([0.25, inertia])) == pytest.approx([0.25, counted])


@pytest.mark.parametrize(("rate", "follows"), [(0.5e-12, 0.0), (2e-12, 1.0)])
def test_an_internal_state_below_1e_12_of_the_fastest_does_not_follow_the_pose(rate: float, follows: float) -> None:
    """g_z dz + g_x dx = 0: the second state would follow with -1."""
    none = np.zeros(2)
    g_z, g_x = csc_matrix(np.diag([1.0, rate])), csc_matrix(np.diag([0.0, rate]))
    forces = Forces(none, csc_matrix(np.eye(2)), csc_matrix((2, 2)), none, g_x, g_z, None, none, None)
    assert forces.stiffness().toarray()[1, 1] == pytest.approx(follows)


@pytest.mark.parametrize(("gap", "closes"), [(0.9e3, True), (1.1e3, False)])
def test_joints_a_kilometre_open_have_come_apart(gap: float, closes: bool) -> None:
    assert (body(one=gap).settle(np.zeros(3), np.zeros(0)) is not None) is closes


@pytest.mark.parametrize(("left", "found"), [(0.9e-9, True), (1.1e-9, False)])
def test_an_equilibrium_leaves_a_billionth_of_the_force(left: float, found: bool) -> None:
    with nullcontext() if found else raises(ConvergenceError, "no-solution"):
        body().check_found(place(left=np.array([left, 0.0, 0.0])))


def test_rates_of_internal_states_weigh_a_thousandth_of_forces() -> None:
    assert body().error(place(z=np.zeros(1), g=np.ones(1))) == pytest.approx(1e-3)


@pytest.mark.parametrize(("rate", "named"), [(0.9e-6, True), (1.1e-6, False)])
def test_an_internal_state_is_named_from_a_rate_of_1e_6_on(rate: float, named: bool) -> None:
    """Below it the speed with the largest force is named."""
    eqs = body().eqs
    internal = SimpleNamespace(names=("motor.current",))
    state = SimpleNamespace(
        eqs=SimpleNamespace(nv=3, nz=1, name="body", internal=internal, speeds=eqs.speeds, joints=()),
        error=lambda at: 1.0,
        _creep=list,
    )
    with raises(ConvergenceError, "no-solution") as failure:
        Rest.check_found(state, place(z=np.zeros(1), g=np.array([rate]), left=np.ones(3)))  # type: ignore[arg-type]
    assert ("speed" in failure.value.finding.where) is named


@pytest.mark.parametrize(("speed", "still"), [(0.9e-9, True), (1.1e-9, False)])
def test_a_driven_joint_is_at_rest_below_1e_9(speed: float, still: bool) -> None:
    rest = body(one=0.0)
    rest.still = np.array([speed, 0.0, 0.0])
    with nullcontext() if still else raises(ModelError, "no-solution"):
        rest.check_still(place(lam=np.zeros(1)))


def stiff(stiffness: list[float], error: float = 0.0) -> Any:
    """Two free coordinates with these stiffnesses; directions without one are collected."""
    directions: list[Any] = []
    return SimpleNamespace(
        eqs=SimpleNamespace(nv=2), extent=np.ones(2), error=lambda at: error, directions=directions,
        _freedoms=lambda at: (np.eye(2), np.diag(stiffness)), _goes_on=lambda at, way: directions.append(way),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("stiffness", "error", "falls"),
    [(-0.5e-7, 0.0, False), (-2e-7, 0.0, True), (-1.0, 0.9e-6, True), (-1.0, 1.1e-6, False)],
)
def test_a_pose_is_unstable_from_1e_7_of_a_unit_of_work_on_and_near_rest_only(
    stiffness: float, error: float, falls: bool
) -> None:
    assert (Rest.unstable_direction(stiff([1.0, stiffness], error), place()) is not None) is falls


@pytest.mark.parametrize(("stiffness", "count"), [(0.5e-9, 1), (2e-9, 0)])
def test_a_direction_is_soft_below_a_billionth_of_a_unit_of_work(stiffness: float, count: int) -> None:
    state = stiff([1.0, stiffness])
    assert Rest.free_coordinates(state, place()) == ()
    assert len(state.directions) == count


@pytest.mark.parametrize(("back", "family"), [(-0.4, True), (-0.6, False)])
def test_equilibria_go_on_where_half_of_a_quarter_step_is_left_after_six_of_newton(back: float, family: bool) -> None:
    steps: list[int] = []
    state: Any = SimpleNamespace(
        extent=np.full(1, 2.5), move=lambda q, change: q + change, settle=lambda q, z: place(q=q),
        error=lambda at: 1.0 if len(steps) < 6 else 0.0,
        step=lambda at, mu: steps.append(1) or np.array([back * 0.25 / 6]),
    )  # fmt: skip
    assert Rest._goes_on(state, place(q=np.zeros(1)), np.full(1, 7.0)) is family
    state.error = lambda at: 0.0  # the first step is an equilibrium
    state.settle = lambda q, z: steps.append(float(q[0])) or place(q=q)
    assert Rest._goes_on(state, place(q=np.zeros(1)), np.full(1, 7.0)) is True
    assert steps[-1] == pytest.approx(0.25)
    state.error = lambda at: 1.0  # no equilibrium is reached
    steps.clear()
    state.settle = lambda q, z: place(q=q)
    assert Rest._goes_on(state, place(q=np.zeros(1)), np.full(1, 7.0)) is False
    assert len(steps) == 6


# --- the descent and Newton's method, along one coordinate: q is the last move, `left` the force ----------------------


class Descent:
    """A problem whose force after each attempt is a factor of the one before; None where joints stay open."""

    def __init__(self, factors: Any, error: float = 1.0) -> None:
        self.factors, self.relative, self.now = iter(factors), error, 1.0
        self.dampings: list[float] = []
        self.moves: list[float] = []
        self.eqs = SimpleNamespace(nv=1, nz=0)

    def accelerations(self, at: Place) -> float:
        return 1.0

    def error(self, at: Place) -> float:
        return self.relative

    def is_lost(self, began: Any, q: Any) -> bool:
        return False

    def step(self, at: Place, mu: float) -> Any:
        self.dampings.append(mu)
        self.now = float(at.left[0])
        return np.array([np.sign(self.now)])

    def share(self, change: Any) -> float:
        return 1.0

    def move(self, q: Any, change: Any) -> Any:
        self.moves.append(float(np.abs(change).max()))
        return change

    def settle(self, q: Any, z: Any) -> Place | None:
        factor = next(self.factors, None)
        return None if factor is None else place(left=np.array([factor * self.now]))

    def is_same_branch(self, before: Place, after: Place) -> bool:
        return True

    def unstable_direction(self, at: Place) -> Any:
        return np.ones(1)


START = place(left=np.ones(1))


def sink(*factors: float | None, error: float = 1.0) -> list[float]:
    """Dampings of the steps of a descent."""
    problem: Any = Descent(factors, error)
    equilibrium._sink(problem, START)
    return problem.dampings


def newton(factors: Any, error: float = 1.0) -> list[float]:
    """Lengths of the steps of Newton's method."""
    problem: Any = Descent(factors, error)
    equilibrium._newton(problem, START)
    return problem.moves


@pytest.mark.parametrize(("error", "goes_on"), [(0.9e-12, False), (1.1e-12, True)])
def test_a_search_for_rest_ends_at_1e_12_of_the_force(error: float, goes_on: bool) -> None:
    assert bool(sink(error=error)) is goes_on
    assert bool(newton([], error)) is goes_on


def test_a_descent_begins_with_steps_of_0_4_and_ends_at_1e12_of_its_damping() -> None:
    found = sink()  # no step succeeds: factors of four
    assert found == pytest.approx([2.5 * 4.0**k for k in range(20)])  # the next would be 2.7e12


@pytest.mark.parametrize(("left", "damping"), [(-0.89, 1.25), (-0.91, 10.0)])
def test_a_step_downhill_that_leaves_nine_tenths_of_the_force_is_accepted(left: float, damping: float) -> None:
    """One that overshoots: the force points back. A longer step follows a good one, a shorter one the other."""
    assert sink(left)[1] == pytest.approx(damping)


@pytest.mark.parametrize(("back", "accepted"), [(-0.45, True), (-0.55, False)])
def test_a_step_may_end_past_the_minimum_where_half_of_its_force_opposes_it(back: float, accepted: bool) -> None:
    """A force across the step grows, so that the sum does not fall below nine tenths."""
    problem: Any = Descent([])
    trials = iter([place(left=np.array([back, 1.0]))])
    problem.settle = lambda q, z: next(trials, None)
    problem.step = lambda at, mu: problem.dampings.append(mu) or np.array([1.0, 0.0])
    equilibrium._sink(problem, place(left=np.array([1.0, 0.0])))
    assert (problem.dampings[1] < problem.dampings[0]) is accepted


@pytest.mark.parametrize(("left", "factor"), [(0.8, 0.5), (0.3, 0.3), (0.01, 0.05)])
def test_damping_falls_as_fast_as_the_force_between_a_half_and_a_twentieth(left: float, factor: float) -> None:
    assert sink(left)[1] == pytest.approx(2.5 * factor)


def test_damping_ends_at_a_billionth_of_the_first_and_begins_again_at_a_thousandth() -> None:
    """Halved in every step: 2⁻³⁰ is the first below 1e-9."""
    found = sink(*[0.5] * 31)
    assert found[30] > 0.0 == found[31]
    assert found[32] == pytest.approx(1e-3)


def test_a_descent_has_600_steps_at_most() -> None:
    assert len(sink(*[0.999] * 700)) == 600


@pytest.mark.parametrize(("decrease", "moves"), [(1.1e-4, [1.0, 1.0]), (0.9e-4, [1.0, 0.5])])
def test_a_newton_step_must_take_1e_4_of_the_force_away(decrease: float, moves: list[float]) -> None:
    """The next step follows, or a half of the same one."""
    assert newton([1.0 - decrease] * 2)[:2] == moves


def test_a_newton_step_is_halved_down_to_a_thousandth() -> None:
    assert newton([]) == [0.5**k for k in range(10)]  # the next is 0.98e-3


def test_newton_has_sixty_steps_at_most() -> None:
    assert len(newton([0.5] * 100)) == 60
