"""Assembly: positions and speeds that close every joint, from a partial guess."""

from __future__ import annotations

import math
import time
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_matrix

import dalembert as da
from dalembert.core.errors import AssemblyError
from dalembert.equations import State
from dalembert.solve.position import assemble as module
from dalembert.solve.position.assemble import check_start, check_weightless
from dalembert.studies.machines.crank_rocker import mechanism as crank_rocker
from tests.helpers.findings import raises

CLOSED = 1e-11  # assembly stops at 1e-12 (1 + |q|); coordinates here are of order one


def gap(state: State) -> float:
    (phi,) = state.eqs.kernel("position")(state.q, state.eqs.p, state.t)
    return float(np.abs(phi).max(initial=0.0))


def drift(state: State) -> float:
    (rates,) = state.eqs.kernel("rates")(state.q, state.v, state.eqs.p, state.t)
    return float(np.abs(rates).max(initial=0.0))


def rocker_angles(crank: float) -> list[float]:
    """Closed form of the crank-rocker 0.2, 0.6, 0.5, 0.7 m: both angles of the rocker, by the law of cosines."""
    pin = 0.2 * np.array([math.cos(crank), math.sin(crank)])
    d = pin - np.array([0.7, 0.0])
    reach = float(np.hypot(*d))
    opening = math.acos((reach**2 + 0.5**2 - 0.6**2) / (2 * reach * 0.5))
    base = math.atan2(d[1], d[0])
    return [base - opening, base + opening]


def same_angle(a: float, b: float) -> float:
    return abs(math.remainder(a - b, 2 * math.pi))


@pytest.fixture(scope="module")
def four_bar() -> da.EquationsOfMotion:
    return da.equations(crank_rocker())


# --- closing loops -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("crank", [0.3, math.pi / 2, 2.5, -1.0])
@pytest.mark.parametrize("branch", [0, 1])
def test_both_branches_of_a_crank_rocker_are_reached_by_the_guess(
    four_bar: da.EquationsOfMotion, crank: float, branch: int
) -> None:
    target = rocker_angles(crank)[branch]
    rocker = (0.7 + 0.25 * math.cos(target), 0.25 * math.sin(target))
    hint = {"rocker.x": rocker[0], "rocker.y": rocker[1], "rocker.angle": target + 0.2, "D": target + 0.2}
    state = da.assemble(four_bar, {"A": crank}, guess=hint)
    assert gap(state) < CLOSED
    assert same_angle(state["A.angle"], crank) < CLOSED
    # the rocker's angle follows the crank's with a ratio of order one, away from the dead points
    assert same_angle(state["rocker.angle"], target) < 1e-10


def test_a_pose_can_be_prescribed_at_the_other_end(four_bar: da.EquationsOfMotion) -> None:
    target = rocker_angles(1.0)[0]
    state = da.assemble(four_bar, {"D": target}, guess={"A": 0.9})
    assert gap(state) < CLOSED
    assert same_angle(state["A.angle"], 1.0) < 1e-10


def test_a_neighbouring_state_keeps_its_branch(four_bar: da.EquationsOfMotion) -> None:
    state = da.assemble(four_bar, {"A": 0.5}, guess={"D": rocker_angles(0.5)[1]})
    branch = int(np.argmin([same_angle(state["rocker.angle"], x) for x in rocker_angles(0.5)]))
    for crank in np.arange(0.5, 7.0, 0.1):
        state = da.assemble(four_bar, {"A": crank}, start=state)
        assert same_angle(state["rocker.angle"], rocker_angles(crank)[branch]) < 1e-9


def test_prescribed_body_coordinates_are_met(four_bar: da.EquationsOfMotion) -> None:
    reference = da.assemble(four_bar, {"A": 1.0})
    state = da.assemble(four_bar, {"rocker.y": reference["rocker.y"]}, guess={"A": 1.1})
    assert gap(state) < CLOSED
    assert state["rocker.y"] == pytest.approx(reference["rocker.y"], abs=CLOSED)


def test_a_free_body_goes_where_it_is_placed_and_nothing_else_moves() -> None:
    m = da.Mechanism("free", planar=True)
    m.add_body("stone", mass=1.0, inertia=1.0, position=(1.0, 2.0), angle=0.3)
    state = da.assemble(da.equations(m), {"stone.x": 5.0}, velocity={"stone.vy": -1.0})
    assert state.q.tolist() == [5.0, 2.0, 0.3]
    assert state.v.tolist() == [0.0, -1.0, 0.0]


def test_a_machine_without_joints_needs_nothing() -> None:
    m = da.Mechanism("free")
    m.add_body("stone", mass=1.0, inertia=1.0, position=(1.0, 2.0, 3.0), rotation=(0.5, 0.5, 0.5, 0.5))
    state = da.assemble(da.equations(m))
    np.testing.assert_allclose(state.q, [1, 2, 3, 0.5, 0.5, 0.5, 0.5], rtol=0, atol=1e-15)


def test_a_redundant_planar_loop_in_space_closes() -> None:
    """Four hinges about y in space: 20 rows for 18 speeds and one freedom, so three rows are redundant."""
    lengths = (0.2, 0.6, 0.5)
    m = da.Mechanism("four-bar in space")
    a, b, c = (m.add_body(f"b{k}", mass=1.0, inertia=da.box(x, 0.1, 0.1)) for k, x in enumerate(lengths))
    y = {"axis": (0, 1, 0)}
    m.add_revolute("A", m.ground.at(0, 0, 0), a.at(-0.1, 0, 0), **y)
    m.add_revolute("B", a.at(0.1, 0, 0), b.at(-0.3, 0, 0), **y)
    m.add_revolute("C", b.at(0.3, 0, 0), c.at(0.25, 0, 0), **y)
    m.add_revolute("D", m.ground.at(0.7, 0, 0), c.at(-0.25, 0, 0), **y)
    state = da.assemble(da.equations(m), {"A": -1.0}, velocity={"A": 2.0})
    assert gap(state) < CLOSED
    assert drift(state) < CLOSED
    assert state["A.rate"] == pytest.approx(2.0, abs=CLOSED)
    for name in ("b0", "b1", "b2"):
        assert abs(state[f"{name}.y"]) < CLOSED
        assert abs(state[f"{name}.wx"]) + abs(state[f"{name}.wz"]) < 1e-10
    # turning about +y by -1 rad lifts the crank's end: the closed form of the plane, seen from the other side
    end = 2 * np.array([state["b2.x"] - 0.7, state["b2.z"]])
    assert min(same_angle(math.atan2(end[1], end[0]), x) for x in rocker_angles(1.0)) < 1e-9


def bricard() -> da.EquationsOfMotion:
    """Five rods and six hinges along the edges of a cube: over-constrained, one freedom."""
    points = [(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)]
    axes = [(0, 1, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0)]
    m = da.Mechanism("Bricard")
    sides: list[Any] = [m.ground]
    for k in range(5):
        middle = (np.array(points[k]) + np.array(points[k + 1])) / 2
        sides.append(m.add_body(f"rod{k}", mass=1.0, inertia=0.1, position=middle))
    sides.append(m.ground)
    for k in range(6):
        m.add_revolute(f"J{k}", sides[k], sides[k + 1], at=points[k], axis=axes[k])
    return da.equations(m)


@pytest.mark.parametrize("seed", range(4))
def test_an_over_constrained_spatial_loop_closes_from_a_perturbed_pose(seed: int) -> None:
    eqs = bricard()
    drawn = da.assemble(eqs)
    # three metres across: a tenth of an edge in place, and as much in direction
    perturbed = np.array(drawn.q) + 0.1 * np.random.default_rng(seed).normal(size=eqs.nq)
    for k in (block.coordinate for block in eqs.quaternions):
        perturbed[k : k + 4] /= np.linalg.norm(perturbed[k : k + 4])
    state = da.assemble(eqs, start=eqs.state(perturbed))
    assert gap(state) < CLOSED
    assert np.abs(state.q - perturbed).max() < 1.0  # the nearest way of closing it, not some other


def test_a_bricard_moves_with_its_one_freedom() -> None:
    eqs = bricard()
    state = da.assemble(eqs, {"J0": 0.1}, velocity={"J0": 1.0})
    assert gap(state) < CLOSED
    assert drift(state) < 1e-10
    # the rates of all hinges follow: compare with a difference of two assembled poses
    h = 1e-5
    poses = [da.assemble(eqs, {"J0": 0.1 + d}, start=state) for d in (-h, h)]
    for k in range(1, 6):
        # second-order difference: error h² times a third derivative of order one, rounding 1e-11 / h
        assert (poses[1][f"J{k}"] - poses[0][f"J{k}"]) / (2 * h) == pytest.approx(state[f"J{k}.rate"], abs=1e-5)


# --- speeds --------------------------------------------------------------------------------------------------------


def test_speeds_change_as_little_as_possible() -> None:
    """A pendulum's bob thrown along x: what the hinge allows is the projection on the allowed direction."""
    m = da.Mechanism("pendulum", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    eqs = da.equations(m)
    pose = da.assemble(eqs, {"hinge": 0.7})
    thrown = np.array([1.0, 0.5, -0.3])
    state = da.assemble(eqs, start=eqs.state(pose.q, thrown))
    allowed = np.array([-0.5 * math.sin(0.7), 0.5 * math.cos(0.7), 1.0])
    np.testing.assert_allclose(state.v, allowed * (allowed @ thrown) / (allowed @ allowed), rtol=0, atol=1e-12)


def test_speeds_named_by_coordinate_and_by_rate_are_the_same(four_bar: da.EquationsOfMotion) -> None:
    by = [da.assemble(four_bar, {"A": 1.0}, velocity={name: 3.0}) for name in ("A", "A.angle", "A.rate", "crank.rate")]
    for other in by[1:]:
        np.testing.assert_allclose(other.v, by[0].v, rtol=0, atol=1e-12)
    assert drift(by[0]) < CLOSED


def test_rest_is_the_answer_when_nothing_is_asked(four_bar: da.EquationsOfMotion) -> None:
    assert np.abs(da.assemble(four_bar, {"A": 1.0}).v).max() < 1e-13


def test_rolling_speeds_follow_the_slip_rows() -> None:
    m = da.Mechanism("ball")
    body = m.add_body("ball", mass=1.0, inertia=da.sphere(0.1), position=(0, 0, 0.1))
    m.add_rolling_sphere("floor", m.ground, body, radius=0.1)
    state = da.assemble(da.equations(m), velocity={"ball.vx": 0.5})
    assert state["ball.wy"] == pytest.approx(5.0, abs=1e-11)
    assert state["ball.vz"] == pytest.approx(0.0, abs=1e-12)


def test_a_constraint_nonlinear_in_the_speeds_is_met() -> None:
    m = da.Mechanism("runner", planar=True, gravity=0)
    m.add_body("point", mass=1.0, inertia=1.0)
    m.add_constraint("speed", lambda s: s["point.vx"] ** 2 + s["point.vy"] ** 2 - 4.0, level="velocity")
    eqs = da.equations(m)
    state = da.assemble(eqs, start=eqs.state(v=[1.0, 1.0, 0.0]))
    np.testing.assert_allclose(state.v, [math.sqrt(2), math.sqrt(2), 0], rtol=0, atol=1e-9)


# --- moving joints ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("t", [0.0, 0.3, 2.0])
def test_drivers_set_position_and_speed_at_their_time(t: float) -> None:
    m = crank_rocker()
    m.add_driver("drive", "A", lambda t: 1.0 + 3.0 * t + 0.5 * da.sin(t))
    state = da.assemble(da.equations(m), t=t)
    assert state.t == t
    assert gap(state) < CLOSED
    assert drift(state) < CLOSED
    assert same_angle(state["A.angle"], 1.0 + 3.0 * t + 0.5 * math.sin(t)) < CLOSED
    assert state["A.rate"] == pytest.approx(3.0 + 0.5 * math.cos(t), abs=CLOSED)
    assert min(same_angle(state["rocker.angle"], x) for x in rocker_angles(state["A.angle"])) < 1e-9


def test_a_constraint_of_time_moves_its_body() -> None:
    m = da.Mechanism("lift", planar=True)
    m.add_body("cabin", mass=1.0, inertia=1.0)
    m.add_constraint("cable", lambda s: s["cabin.y"] - 2.0 * s.t**2)
    state = da.assemble(da.equations(m), t=1.5)
    assert state["cabin.y"] == pytest.approx(4.5, abs=CLOSED)
    assert state["cabin.vy"] == pytest.approx(6.0, abs=CLOSED)


# --- parameters, size ------------------------------------------------------------------------------------------------


def test_a_replaced_length_is_assembled_at_its_own_value() -> None:
    m = da.Mechanism("pendulum", planar=True)
    length = m.parameter("length", 1.0)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-length / 2, 0))
    state = da.assemble(da.equations(m).replace(length=3.0), {"hinge": 0.0})
    assert state["rod.x"] == pytest.approx(1.5, abs=CLOSED)


def test_internal_states_start_at_the_given_values() -> None:
    m = crank_rocker()
    m.add_actuator("servo", "D", input="w", model=da.FirstOrderLag(0.1))
    state = da.assemble(da.equations(m), {"A": 1.0}, internal={"servo.effort": 7.0})
    assert state["servo.effort"] == 7.0


@pytest.mark.slow
def test_a_chain_of_a_thousand_bodies_is_assembled_without_dense_matrices() -> None:
    m = da.Mechanism("chain", planar=True)
    place = m.ground.at(0, 0)
    for k in range(1000):
        body = m.add_body(f"b{k}", mass=1.0, inertia=da.rod(0.1))
        m.add_revolute(f"j{k}", place, body.at(-0.05, 0))
        place = body.at(0.05, 0)
    eqs = da.equations(m)
    began = time.process_time()
    state = da.assemble(eqs, {"j0": 0.5, "j500": -1.0}, velocity={"j0": 1.0})
    spent = time.process_time() - began
    # coordinates of order one hundred: 1e-12 of that; joint angles 1e-10 apart
    assert gap(state) < 1e-9
    assert drift(state) < 1e-8
    assert state["j0.angle"] == pytest.approx(0.5, abs=1e-9)
    assert state["b999.angle"] == pytest.approx(-0.5, abs=1e-8)
    # a dense step of 3000 speeds would need minutes; the sparse one well below a second: a bound far from both
    assert spent < 20.0


# --- limits -----------------------------------------------------------------------------------------------------------


def held_body(at=0.0):
    m = da.Mechanism("body", planar=True, gravity=0)
    m.add_body("body", mass=1.0, inertia=1.0)
    m.add_constraint("stop", lambda s: s["body.x"] - at)
    return da.equations(m)


@pytest.mark.parametrize("gap, refused", [(0.9e-6, False), (1.1e-6, True)])
def test_a_start_is_closed_to_six_digits_in_position_and_speed(gap, refused):
    eqs = held_body()
    for q, v in (([gap, 0.0, 0.0], [0.0, 0.0, 0.0]), ([0.0, 0.0, 0.0], [gap, 0.0, 0.0])):
        with raises(da.errors.AssemblyError, "joint-open") if refused else nullcontext():
            check_start(eqs, eqs.state(q, v))


def dampings(after, monkeypatch, start=1.0):
    """Damping of every step of a search for 0 whose residual is multiplied by `after` in each."""
    made = []
    monkeypatch.setattr(module, "least_change", lambda J, residual, damping: made.append(damping) or np.zeros(1))
    sizes = iter(start * after ** np.arange(100))
    problem = SimpleNamespace(
        residual=lambda q: np.array([next(sizes)]), gradient=lambda q: None, move=lambda q, change: q
    )
    module._iterate(problem, np.zeros(1), 1e-12)
    return made


def test_a_search_ends_at_a_damping_of_a_million(monkeypatch):
    """From 1e-6 in factors of ten, after the first step without damping; half a factor for rounding."""
    made = dampings(1.0, monkeypatch)
    assert 0.5e6 < made[-1] < 2e6 and len(made) == 14


def test_a_search_has_sixty_steps_from_each_of_25_starts(monkeypatch):
    assert len(dampings(0.999, monkeypatch)) == 60
    starts = []
    monkeypatch.setattr(module, "_iterate", lambda problem, q, tolerance, *steps: starts.append(q.copy()) or (q, 1.0))
    m = da.Mechanism("bodies", planar=True, gravity=0)
    for k in range(20):
        m.add_body(f"body{k}", mass=1.0, inertia=1.0)
    m.add_constraint("open", lambda s: s["body0.x"] ** 2 + 1.0)
    with raises(da.errors.AssemblyError, "joint-open"):
        da.assemble(da.equations(m))
    assert len(starts) == 25
    # the spread of 60 normal numbers is known to a tenth (1 / √120); 0.3 is three times that
    spreads = [float(np.std(q - starts[0])) for q in starts[1:]]
    assert spreads == pytest.approx([0.05 * 1.25**k for k in range(24)], rel=0.3)


def test_damping_falls_by_ten_to_none_below_the_first(monkeypatch):
    sizes = iter([1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.0])
    made = []
    monkeypatch.setattr(module, "least_change", lambda J, residual, damping: made.append(damping) or np.zeros(1))
    problem = SimpleNamespace(
        residual=lambda q: np.array([next(sizes)]), gradient=lambda q: None, move=lambda q, change: q
    )
    module._iterate(problem, np.zeros(1), 1e-12)
    assert made == pytest.approx([0.0, 1e-6, 1e-5, 1e-6, 0.0, 0.0], rel=1e-9)


def test_speeds_of_a_row_without_gradient_are_found_and_impossible_ones_given_up_after_20_steps(monkeypatch):
    """v² = 0: every step halves v. v² + 1 = 0 has no solution."""
    for left, found in ((0.0, True), (1.0, False)):
        m = da.Mechanism("body", planar=True, gravity=0)
        m.add_body("body", mass=1.0, inertia=1.0)
        m.add_constraint("stop", lambda s, left=left: s["body.vx"] ** 2 + left, level="velocity")
        eqs = da.equations(m)
        made = []
        with monkeypatch.context() as patch, nullcontext() if found else raises(da.errors.AssemblyError, "no-solution"):
            least_change = module.least_change
            patch.setattr(module, "least_change", lambda *given: made.append(given) or least_change(*given))  # noqa: B023
            module._speeds(eqs, np.zeros(3), np.array([1.0, 0.0, 0.0]), {}, 0.0)
        assert len(made) == 20


@pytest.mark.parametrize("speeds, dense", [(300, True), (301, False)])
def test_machines_above_300_speeds_are_solved_with_sparse_factors_from_one_start(speeds, dense, monkeypatch):
    factors, starts = [], []
    splu = module.splu
    monkeypatch.setattr(module, "splu", lambda matrix: factors.append(matrix) or splu(matrix))
    module.least_change(csc_matrix(([1.0], ([0], [0])), shape=(1, speeds)), np.ones(1), 0.0)
    assert bool(factors) is not dense
    monkeypatch.setattr(module, "_iterate", lambda problem, q, tolerance, *steps: starts.append(q) or (q, 1.0))
    row = SimpleNamespace(owner="stop")
    problem = SimpleNamespace(
        still=[], residual=lambda q: np.ones(1), row_units=1.0, owner=lambda k: "stop", move=lambda q, x: q
    )
    monkeypatch.setattr(module, "_JointGaps", lambda *given: problem)
    monkeypatch.setattr(module, "Units", lambda *given: SimpleNamespace(tolerance=lambda q: 1e-12))
    eqs = SimpleNamespace(name="machine", nv=speeds, elastic=(), quaternions=(), rows=[row], joints=())
    with raises(da.errors.AssemblyError, "joint-open"):
        module._close(eqs, np.zeros(speeds), {}, {}, 0.0, 3)
    assert len(starts) == (4 if dense else 1)


@pytest.mark.parametrize("speeds, looked", [(300, True), (301, False)])
def test_the_rank_of_300_speeds_without_inertia_is_looked_at(speeds, looked, monkeypatch):
    """Nothing holds them."""
    monkeypatch.setattr(module, "mass_is_singular", lambda eqs: True)
    zero = SimpleNamespace(sparse=lambda *at: csc_matrix((speeds, speeds)))
    names = SimpleNamespace(names=[f"v{k}" for k in range(speeds)])
    eqs = SimpleNamespace(nu=0, p=None, kernel=lambda name: zero, speeds=names)
    with raises(da.errors.ModelError, "massless-body") if looked else nullcontext():
        check_weightless(eqs, SimpleNamespace(q=None, v=None, z=None, t=0.0))


@pytest.mark.parametrize("length", [1e3, 1e6, 1e9, 1e12])
def test_a_crank_too_long_for_its_loop_is_refused_whatever_its_length(length: float) -> None:
    m = da.Mechanism("four-bar", planar=True)
    crank, coupler, rocker = (m.add_body(name, mass=1.0, inertia=1.0) for name in ("crank", "coupler", "rocker"))
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-length / 2, 0))
    m.add_revolute("B", crank.at(length / 2, 0), coupler.at(-0.3, 0))
    m.add_revolute("C", coupler.at(0.3, 0), rocker.at(0.25, 0))
    m.add_revolute("D", m.ground.at(0.6, 0), rocker.at(-0.25, 0))
    with raises(AssemblyError, "joint-open"):
        da.assemble(da.equations(m), restarts=1)


def test_damping_follows_the_longest_lever_above_one() -> None:
    """(J² + μ max(1, J²)) x = -J: a lever of 10 m is damped as one of 1 m is."""
    for lever, step in ((0.5, 0.5 / (0.25 + 1.0)), (1.0, 0.5), (10.0, 0.05)):
        assert module.least_change(csc_matrix([[lever]]), np.ones(1), 1.0) == pytest.approx([-step], rel=1e-12)
