"""Which sensors show a machine, along a motion, and in words."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError, ModelError
from dalembert.equations import State
from dalembert.estimate import UserModel, local_observability, process
from dalembert.estimate.judge.observed_directions import typical_magnitudes
from dalembert.linear import StateSpace
from tests.helpers.filter_machines import (
    ball_pendulum,
    four_bar,
    free_top,
    motor_arm,
    rolling_disc,
    slider_crank,
    state_of,
)
from tests.helpers.findings import assert_read_only, raises


def storeys(damping: float = 0.2) -> da.EquationsOfMotion:
    """Three floors, a wind on the top one, an accelerometer on each."""
    m = da.Mechanism("storeys", planar=True)
    floors = [m.add_body(f"floor{k}", mass=1.0, inertia=0.1) for k in (1, 2, 3)]
    for k, floor in enumerate(floors, 1):
        m.add_prismatic(f"S{k}", m.ground.at(0, 0), floor.at(0, 0))
        m.add_sensor(f"a{k}", da.joint_acceleration(f"S{k}"))

    def column(k: int):
        def force(s):
            def drift(i: int):
                below = (s[f"S{i - 1}.displacement"], s[f"S{i - 1}.speed"]) if i > 1 else (0, 0)
                return 100 * (s[f"S{i}.displacement"] - below[0]) + damping * (s[f"S{i}.speed"] - below[1])

            return (-drift(k) + (drift(k + 1) if k < 3 else 0), 0)

        return force

    for k, floor in enumerate(floors, 1):
        m.add_force(f"column{k}", floor.at(0, 0), column(k))
    m.add_force("gust", floors[2].at(0, 0), (1, 0), input="wind")
    return da.equations(m)


@pytest.mark.spec("004-C15")
def test_a_rank_is_that_of_the_observability_matrix_of_a_linear_system() -> None:
    random = np.random.default_rng(3)
    for hidden in range(3):
        A = np.zeros((5, 5))
        A[:3, :3] = 0.4 * random.normal(size=(3, 3))
        A[3:, :3], A[3:, 3:] = random.normal(size=(2, 3)), 0.5 * np.eye(2) + 0.1 * random.normal(size=(2, 2))
        C = np.zeros((1, 5))
        C[0, :3] = random.normal(size=3)
        if hidden == 0:
            C[0, 3] = 1.0
        turn = np.linalg.qr(random.normal(size=(5, 5)))[0]
        system = StateSpace(turn @ A @ turn.T, np.zeros((5, 1)), C @ turn.T, dt=0.1)
        found = local_observability(system, window=10)
        matrix = np.vstack([C @ np.linalg.matrix_power(A, k) for k in range(5)])
        assert found.rank == np.linalg.matrix_rank(matrix, tol=1e-9) == (5 if hidden == 0 else 3)
        for direction in found.unseen:
            vector = np.array([direction.get(name, 0.0) for name in found.states])
            assert np.abs(C @ turn.T @ vector).max() < 0.06 * np.abs(vector).max()  # small shares are left out


@pytest.mark.spec("004-C15")
@pytest.mark.parametrize(("window", "left"), [(3, "0.50"), (15, "0.25")])
def test_a_constant_is_known_as_well_as_the_mean_of_its_readings(window: int, left: str) -> None:
    """n readings with the deviation of the constant itself leave 1/√(1 + n) of it: said as such."""
    level = StateSpace([[1.0]], None, [[1.0]], dt=1.0, states=["level"], outputs="gauge")
    found = local_observability(level, window=window, R=1.0, amplitude=1.0)
    assert found.singular_values == pytest.approx([np.sqrt(window)], rel=1e-9)
    assert f"falls from 1 to {left} in" in found.verdict


@pytest.mark.spec("004-C15")
def test_accelerations_alone_do_not_show_an_unknown_force_and_one_displacement_does() -> None:
    eqs = storeys()
    found = local_observability(eqs, outputs=["a1", "a2", "a3"], unknown="wind", dt=0.02)
    assert found.rank == len(found.states) - 1
    (direction,) = found.unseen
    # a steady wind and the shape it holds: 1, 2, 3 times F/k
    ratios = [direction[f"S{k}.displacement"] / direction["wind"] for k in (1, 2, 3)]
    assert ratios == pytest.approx([0.01, 0.02, 0.03], rel=1e-5)
    assert found.sensors[0][0] == ("S1.displacement",)
    assert "Measure S1.displacement (or S2.displacement" in found.verdict
    helped = local_observability(eqs, outputs=["a1", "a2", "a3", "S1.displacement"], unknown="wind", dt=0.02)
    assert helped.is_observable


def test_a_gyroscope_does_not_show_where_a_wheel_is_nor_its_heading() -> None:
    eqs = rolling_disc()
    state = state_of(eqs, 1, 0.1)
    found = local_observability(eqs, state, outputs="gyroscope", dt=0.01, samples=30)
    assert found.rank == 5
    heading = next(d for d in found.unseen if len(d) > 1)
    w, x, y, z = state.q[3:7]
    vertical = {"disc.rx": 2 * (x * z - w * y), "disc.ry": 2 * (y * z + w * x), "disc.rz": 1 - 2 * (x * x + y * y)}
    for name, amount in vertical.items():
        assert heading.get(name, 0.0) == pytest.approx(amount / vertical["disc.rz"], abs=0.05)
    assert "centre.x and centre.y" in found.verdict


@pytest.mark.parametrize(
    ("make", "outputs", "rank"),
    [
        (four_bar, "encoder", 2),
        (four_bar, "accelerometer", 2),
        (slider_crank, "place", 2),
        (motor_arm, "encoder", 3),
        (free_top, "gyroscope", 3),
        (free_top, "mark", 12),  # a tumbling body known by one point off its centre
        (ball_pendulum, "hinge", 7),  # all but the heading
    ],
)
def test_ranks_of_machines_along_a_motion(make, outputs, rank) -> None:
    eqs = make()
    found = local_observability(eqs, state_of(eqs, 2, 0.1), outputs=outputs, dt=0.01, samples=40)
    assert found.rank == rank


@pytest.mark.parametrize("closing", ["independent", pytest.param("projection", marks=pytest.mark.slow)])
def test_a_gramian_of_motions_is_that_of_the_slopes(closing: str) -> None:
    eqs = four_bar(motor=True)
    start = da.assemble(eqs, {"A.angle": 1.0}, velocity={"A.angle": 1.0})
    run = da.simulate(eqs, until=0.5, start=start, every=0.01, inputs={"torque": 20.0})
    found = local_observability(
        eqs, run, outputs=["encoder", "gyroscope"], closing=closing, empirical=True, amplitude=1e-4
    )
    # central differences: second order in an amplitude of 1e-4, with third derivatives of some hundreds per unit
    size = np.sqrt(np.diag(found.gramian))
    assert np.abs((found.empirical - found.gramian) / np.maximum(np.outer(size, size), 1e-12)).max() < 1e-4


def test_deviations_are_those_of_a_filter_that_knows_nothing_at_first() -> None:
    eqs = motor_arm()
    start = da.assemble(eqs, {"J.angle": 0.5})
    run = da.simulate(eqs, until=0.5, start=start, every=0.01)
    found = local_observability(eqs, run, outputs="encoder", R=1e-4, window=51)
    filter_ = da.estimate.ExtendedKalman(
        eqs, outputs="encoder", coordinates="J.angle", at=start, Q=0.0, R=1e-4, P0=1e8, dt=0.01, steps=4
    )
    smooth = da.estimate.smooth(filter_.run(run))
    smoothed = [smooth.deviation(name)[0] for name in found.states]
    assert list(found.deviations.values()) == pytest.approx(smoothed, rel=1e-3)


def test_where_a_motion_shows_little_is_reported() -> None:
    eqs = slider_crank()
    start = da.assemble(eqs, {"A.angle": 0.5}, velocity={"A.angle": 6.0})
    run = da.simulate(eqs, until=1.0, start=start, every=2e-3)
    found = local_observability(eqs, run, outputs="place", coordinates="A.angle", window=2)
    slope = np.abs(np.sin(run["A.angle"]))[np.searchsorted(run.time, found.time)]
    assert found.is_observable
    assert found.strength.argmin() == pytest.approx(slope.argmin(), abs=2)


# ---- how well


def wagon() -> da.EquationsOfMotion:
    m = da.Mechanism("wagon", planar=True)
    body = m.add_body("wagon", mass=1.0, inertia=0.1)
    m.add_prismatic("S", m.ground.at(0, 0), body.at(0, 0))
    return da.equations(m)


def hanging(spin: float = 0.0) -> tuple[da.EquationsOfMotion, State]:
    """A bob on a ball joint, its tip in line with joint and centre; and how it swings."""
    m = da.Mechanism("bob", planar=False)
    bob = m.add_body("bob", mass=1.0, inertia=(0.02, 0.03, 0.01), position=(0, 0, -0.5))
    m.add_spherical("S", m.ground, bob, at=(0, 0, 0))
    m.add_sensor("tip", da.position(bob.at(0, 0, -0.2)))
    m.add_sensor("side", da.position(bob.at(0.3, 0, 0)))
    eqs = da.equations(m)
    return eqs, da.assemble(eqs, start=eqs.state(da.assemble(eqs).q, spin * np.array([0, 0, 0, 1.0, 0.7, 0.5])))


@pytest.mark.parametrize("outputs", ["S.speed", "wagon.angle"])
def test_what_does_not_move_is_never_advised(outputs: str) -> None:
    found = local_observability(wagon(), outputs=outputs, dt=0.01)
    assert [names for names, _ in found.sensors] == [("S.displacement",), ("wagon.x",)]
    still = local_observability(wagon(), outputs=outputs, dt=0.01, candidates=["wagon.angle", "wagon.y"])
    assert still.sensors == ()
    assert "No other quantity of the model" in still.verdict


def test_the_angle_of_a_cart_on_rails_does_not_show_where_it_is() -> None:
    eqs = da.equations(da.read_model("cart-pendulum"))
    found = local_observability(eqs, outputs="angle", dt=0.01)
    assert [list(direction) for direction in found.unseen] == [["rail.displacement"]]
    assert {name for names, _ in found.sensors for name in names} == {"place", "rail.displacement", "cart.x", "rod.x"}


def test_a_second_sensor_of_the_same_is_no_advice() -> None:
    eqs, start = hanging(spin=1.0)
    found = local_observability(
        eqs, start, outputs="tip", R=1e-4, P0=1e-2, dt=0.01, candidates=["bob.x", "bob.y", "bob.z"]
    )
    assert found.weak
    assert found.sensors == ()


@pytest.mark.parametrize(
    ("make", "outputs", "alike"),
    [
        (lambda: hanging(1.0), ["tip.x", "tip.z"], ["tip.y", "side.x", "side.y", "side.z"]),
        (hanging, ["tip.x", "tip.y", "tip.z"], ["side.x", "side.y", "side.z"]),
        (lambda: (wagon(), None), ["S.speed"], None),
        pytest.param(
            lambda: (rolling_disc(), state_of(rolling_disc(), 1, 0.1)), ["gyroscope"], None, marks=pytest.mark.slow
        ),
    ],
    ids=["swinging", "hanging", "wagon", "disc"],
)
def test_what_is_advised_helps_as_much_as_it_says(make, outputs, alike) -> None:
    eqs, start = make()
    common = {"R": 1e-4, "P0": 1.0, "dt": 0.01, "samples": 30}
    found = local_observability(eqs, start, outputs=outputs, candidates=alike, **common)
    names, left = found.sensors[0]
    more = local_observability(eqs, start, outputs=[*outputs, *names], **common)
    assert more.is_observable
    assert not more.weak
    if alike:  # of the same unit, so that its noise is known
        assert 1 / np.hypot(1, more.singular_values[-1]) == pytest.approx(left, rel=1e-6)


def test_what_is_seen_weakly_is_reported_with_its_numbers() -> None:
    eqs, start = hanging(spin=1.0)
    found = local_observability(eqs, start, outputs="tip", R=1e-4, P0=1e-2, dt=0.01)
    assert found.is_observable
    assert len(found.weak) == 2
    direction, left = found.weak[0]
    assert set(direction) >= {"bob.rz", "bob.wz"}
    assert left == pytest.approx(1 / np.hypot(1, found.singular_values[-1]))
    assert "4 of 6 directions of 'bob' are seen well from tip.x, tip.y, tip.z, 2 only weakly: bob.wz" in found.verdict
    assert f"falls from 1 to {left:.3f} in 0.99 s" in found.verdict
    assert "assumed" not in repr(found)
    precise = local_observability(eqs, start, outputs="tip", R=1e-10, P0=1e-2, dt=0.01)
    assert not precise.weak


def test_the_turn_of_a_hanging_bob_is_not_seen_from_its_tip() -> None:
    eqs, start = hanging()
    for closing in ("independent", "projection"):
        found = local_observability(eqs, start, outputs="tip", dt=0.01, closing=closing)
        assert (found.rank, found.freedoms) == (4, 6)
        assert [list(direction) for direction in found.unseen] == [["bob.rz"], ["bob.wz"]]
        assert found.sensors[0][0] == ("side.y",)


def test_what_dies_out_by_itself_needs_no_sensor() -> None:
    A = np.diag([-20.0, 0.0, -20.0])
    system = StateSpace(A, np.zeros((3, 1)), [[0.0, 1.0, 0.0]], states=["a", "b", "c"], outputs=["y"])
    found = local_observability(system, dt=0.01)
    assert found.rank == 1
    assert found.fades == pytest.approx([np.exp(-20 * 0.99)] * 2, rel=1e-6)
    assert found.sensors == ()
    assert found.verdict == (
        "2 of 3 directions of 'linear model' cannot be seen from y: a, which dies out by itself; c, which dies out by "
        "itself. No sensor is needed: hidden directions decay by themselves within 0.99 s."
    )
    slow = StateSpace(np.diag([-20.0, 0.0, -0.1]), np.zeros((3, 1)), [[0, 1.0, 0]], states=["a", "b", "c"])
    assert local_observability(slow, dt=0.01).sensors[0][0] == ("c",)


def test_deviations_from_a_known_start_are_those_of_a_smoother() -> None:
    eqs, start = hanging(spin=1.0)
    P0 = {name: 0.01 * (k + 1) for k, name in enumerate(process(eqs, outputs="tip").errors.names)}
    found = local_observability(eqs, start, outputs="tip", R=1e-4, P0=P0, dt=0.01, samples=20)
    filter_ = da.estimate.ExtendedKalman(eqs, outputs="tip", at=start, Q=0.0, R=1e-4, P0=P0, dt=0.01, steps=4)
    run = da.simulate(eqs, until=0.19, start=start, every=0.01)
    first = da.estimate.smooth(filter_.run(run)).covariances()[0]
    assert list(found.deviations.values()) == pytest.approx(np.sqrt(np.diag(first)), rel=1e-4)
    shares = np.array(list(found.deviations.values())) / np.sqrt(list(P0.values()))
    assert list(found.left.values()) == pytest.approx(shares)


def test_what_is_seen_does_not_depend_on_the_units_of_states_and_outputs() -> None:
    A = np.array([[0, 1, 0, 0], [-9, -0.1, 2, 0], [0, 0, 0, 1], [3, 0, -4, -0.1]])
    C = np.array([[1.0, 0, 0, 0]])
    scale = np.diag([1e-3, 2.0, 1e4, 50.0])
    plain = local_observability(StateSpace(A, np.zeros((4, 1)), C), dt=0.05)
    other = local_observability(
        StateSpace(scale @ A @ np.linalg.inv(scale), np.zeros((4, 1)), 1e6 * C @ np.linalg.inv(scale)), dt=0.05
    )
    assert other.singular_values == pytest.approx(plain.singular_values, rel=1e-6)
    assert list(other.left.values()) == pytest.approx(list(plain.left.values()), rel=1e-6)


def test_an_influence_of_rounding_gives_no_magnitude() -> None:
    # a cart that moves nothing else: what rounding makes of its place must not make a metre out of nothing
    slopes = np.array([[[1.0, 0.9, 1.0], [1e-11, 1.0, 0.3], [0.0, 4.0, 1.0]]])
    sizes = typical_magnitudes(["m", "rad", "rad/s"], slopes, [], np.zeros((1, 0, 3)))
    assert 0.1 < sizes[0] / sizes[1] < 10
    assert 1 < sizes[2] / sizes[1] < 10


def test_a_model_of_ones_own_functions_is_judged_too() -> None:
    model = UserModel(
        lambda x, u: [x[1], -da.sin(x[0]), 0 * x[0]], lambda x: [x[0]], states=["a", "b", "c"], outputs=["y"]
    )
    found = local_observability(model, dt=0.1, candidates=["b", "c"])
    assert found.rank == 2
    assert list(found.unseen[0]) == ["c"]
    assert found.verdict == "1 of 3 directions of 'model' cannot be seen from y: c. Measure c as well."


def test_results_are_frozen_and_readable() -> None:
    found = local_observability(motor_arm(), outputs="encoder", dt=0.01, R=1e-6)
    assert "can be seen from encoder" in repr(found)
    assert "J.angle" in found.table()
    assert "deviation" in found.table()
    with pytest.raises(AttributeError):
        found.rank = 0
    assert_read_only(found.gramian)


def test_mistakes_are_reported_in_plain_words() -> None:
    eqs = motor_arm()
    with raises(DataError, "missing-argument", "dt"):
        local_observability(eqs)
    with raises(DataError, "not-a-count", "window"):
        local_observability(eqs, dt=0.01, window=1)
    with raises(DataError, "wrong-type"):
        local_observability(eqs, 3.0, dt=0.01)
    with raises(DataError, "too-few-samples"):
        local_observability(eqs, dt=0.01, samples=1)
    with raises(DataError, "missing-channel"):
        local_observability(eqs, da.Record([0.0, 1.0], np.zeros((2, 1)), ["J.angle"], ["rad"]))
    with raises(ModelError, "unknown-name", "candidate", "'J.angel'"):
        local_observability(eqs, dt=0.01, candidates="J.angel")
    with raises(ModelError, "ineffective-argument"):
        local_observability(process(eqs), outputs="encoder", dt=0.01)
    with raises(DataError, "not-positive-definite", "R"):
        local_observability(eqs, dt=0.01, R=0.0)
    with raises(DataError, "not-positive-definite", "P0"):
        local_observability(eqs, dt=0.01, P0={"J.angle": 1.0})
    with raises(DataError, "not-positive", "amplitude"):
        local_observability(eqs, dt=0.01, empirical=True, amplitude=-1.0)
