"""Equilibrium and steady motion: which one is found, what it says when there is none."""

from __future__ import annotations

import math
from contextlib import nullcontext

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import AssemblyError, ConvergenceError, DataError, ModelError, ModelWarning
from dalembert.solve.position.tangent import Instant, accelerations
from tests.helpers.findings import raises, warns
from tests.helpers.flexible_parts import straight_bar, welded_pieces
from tests.helpers.repetitions import few

G = 9.81
# Newton's method ends at rounding: a pose is good to about 1e-12 of the machine's size, or to the root of that where
# the stiffness vanishes too; none of these does.
POSE = 1e-9


def pendulum(angle: float = 0.0) -> da.EquationsOfMotion:
    """A point mass on a rod of 1 m; the drawing has it at `angle` from hanging."""
    m = da.Mechanism("pendulum", planar=True)
    place = (float(np.sin(angle)), float(-np.cos(angle)))
    bob = m.add_body("bob", mass=2.0, position=place, angle=angle)
    m.add_revolute("hinge", m.ground.at(0, 0), bob.at(0, 1))
    m.add_actuator("motor", joint="hinge", input="torque")
    return da.equations(m)


def chain(count: int) -> da.EquationsOfMotion:
    m = da.Mechanism("chain", planar=True)
    end = m.ground.at(0, 0)
    for k in range(count):
        link = m.add_body(f"link{k}", mass=1.0, inertia=da.rod(1.0))
        m.add_revolute(f"J{k}", end, link.at(-0.5, 0))
        end = link.at(0.5, 0)
    return da.equations(m)


def test_a_pendulum_sinks_to_its_lowest_point_from_anywhere() -> None:
    for angle in (0.3, 1.5, 3.0, -2.9):
        rest = da.equilibrium(pendulum(angle))
        assert rest["bob.y"] == pytest.approx(-1.0, abs=POSE)
        assert np.all(rest.v == 0.0)


def test_a_drawing_that_stands_upright_falls() -> None:
    assert da.equilibrium(pendulum(np.pi))["bob.y"] == pytest.approx(-1.0, abs=POSE)


def test_a_guess_near_the_upright_pose_finds_it() -> None:
    rest = da.equilibrium(pendulum(), guess={"hinge": 3.0})
    assert rest["bob.y"] == pytest.approx(1.0, abs=POSE)


def test_a_start_that_is_an_equilibrium_already_is_kept() -> None:
    eqs = pendulum()
    upright = da.assemble(eqs, {"hinge": np.pi})
    assert da.equilibrium(eqs, start=upright)["bob.y"] == pytest.approx(1.0, abs=POSE)


def test_the_multipliers_carry_the_weight() -> None:
    eqs = pendulum(0.4)
    rest = da.equilibrium(eqs)
    (reactions,) = eqs.kernel("reactions")(rest.q, rest.v, 0 * rest.v, rest.lam, rest.z, np.zeros(eqs.nu), eqs.p, 0.0)
    names = eqs.reaction_channels.names
    assert reactions[names.index("hinge.force.y")] == pytest.approx(2 * G, abs=1e-9)
    assert reactions[names.index("hinge.force.x")] == pytest.approx(0.0, abs=1e-9)


def test_an_input_moves_the_equilibrium() -> None:
    rest = da.equilibrium(pendulum(), inputs={"torque": 2 * G * np.sin(0.3)})
    assert rest["hinge.angle"] == pytest.approx(0.3, abs=POSE)


def test_a_run_started_at_the_equilibrium_stays_there() -> None:
    eqs = chain(3)
    run = da.simulate(eqs, 1.0, start=da.equilibrium(eqs), every=0.1)
    assert np.ptp(run["J0.angle"]) < 1e-9  # an error e of the pose oscillates, it does not grow: about 1e-12


def test_springs_and_gravity_balance() -> None:
    m = da.Mechanism("hanging", planar=True)
    box = m.add_body("box", mass=3.0, inertia=0.1)
    m.add_prismatic("guide", m.ground.at(0, 0), box.at(0, 0), axis=(0, 1))
    m.add_spring("spring", joint="guide", stiffness=150.0)
    assert da.equilibrium(da.equations(m))["guide.displacement"] == pytest.approx(-3 * G / 150, abs=POSE)


def test_a_force_without_potential_is_balanced_too() -> None:
    m = da.Mechanism("hanging", planar=True)
    box = m.add_body("box", mass=3.0, inertia=0.1)
    m.add_prismatic("guide", m.ground.at(0, 0), box.at(0, 0), axis=(0, 1))
    m.add_spring("spring", joint="guide", law=lambda x, _: 1e4 * x**3 + 10 * x)
    y = da.equilibrium(da.equations(m))["guide.displacement"]
    assert 1e4 * y**3 + 10 * y == pytest.approx(-3 * G, abs=1e-9)


def test_a_ball_rests_on_a_compliant_floor() -> None:
    m = da.Mechanism("ball")
    ball = m.add_body("ball", mass=1.0, inertia=da.sphere(0.1), position=(0, 0, 0.1))
    m.add_prismatic("guide", m.ground.at(0, 0, 0), ball.at(0, 0, 0))
    m.add_contact("floor", m.ground.at(0, 0, 0), ball.at(0, 0, 0), radius=0.1, stiffness=1e4, exponent=1.5)
    depth = 0.1 - da.equilibrium(da.equations(m))["ball.z"]
    assert depth == pytest.approx((G / 1e4) ** (2 / 3), abs=POSE)


@pytest.mark.parametrize("count", few([12, 60, 150], 2))
def test_a_chain_hangs_straight_whatever_its_length(count: int) -> None:
    rest = da.equilibrium(chain(count))
    for k in (0, count // 2, count - 1):
        assert rest[f"link{k}.y"] == pytest.approx(-(k + 0.5), abs=1e-9 * count)


def test_redundant_joints_do_no_harm() -> None:
    """A planar pendulum with two hinges in a line, modelled in space: five rows of ten are redundant."""
    m = da.Mechanism("door")
    door = m.add_body("door", mass=2.0, inertia=(0.1, 0.2, 0.3))
    for name, y in (("front", -0.2), ("back", 0.2)):
        m.add_revolute(name, m.ground.at(0, y, 0), door.at(-1, y, 0), axis=(0, 1, 0))
    rest = da.equilibrium(da.equations(m))
    assert rest["door.z"] == pytest.approx(-1.0, abs=POSE)
    lam = rest.lam
    assert np.all(np.isfinite(lam))


def test_a_held_coordinate_picks_one_of_a_family() -> None:
    m = da.Mechanism("cart", planar=True)
    cart = m.add_body("cart", mass=1.0, inertia=0.1)
    bob = m.add_body("bob", mass=1.0)
    m.add_prismatic("rail", m.ground.at(0, 0), cart.at(0, 0))
    m.add_revolute("hinge", cart.at(0, 0), bob.at(0, 1))
    rest = da.equilibrium(da.equations(m), hold={"rail": 0.7})
    assert rest["rail.displacement"] == pytest.approx(0.7, abs=POSE)
    assert rest["bob.x"] == pytest.approx(0.7, abs=POSE)


def test_holding_where_nothing_balances_names_the_effort() -> None:
    with raises(ConvergenceError, "no-solution", "hinge.angle", "0.3", "5.798"):
        da.equilibrium(pendulum(), hold={"hinge": 0.3})


def test_a_falling_body_has_no_equilibrium() -> None:
    m = da.Mechanism("stone")
    m.add_body("stone", mass=2.0, inertia=0.1)
    with raises(ConvergenceError, "no-solution", "'stone.vz'", "19.6 N"):
        da.equilibrium(da.equations(m))


def test_a_moving_driver_cannot_be_at_rest() -> None:
    m = da.Mechanism("driven", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    m.add_driver("motor", "hinge.angle", lambda t: 2 * t)
    with raises(ModelError, "no-solution", "'motor'", "0 s"):
        da.equilibrium(da.equations(m))


def test_misspelt_names_are_reported() -> None:
    eqs = pendulum()
    with raises(ModelError, "unknown-name", "'hinj.angle'", "'hinge.angle'"):
        da.equilibrium(eqs, hold={"hinj.angle": 0.0})
    with raises(ModelError, "unknown-name", "'bob.vq'"):
        da.equilibrium(eqs, rates={"bob.vq": 1.0})
    with raises(ModelError, "wrong-type"):
        da.equilibrium(eqs, start={"hinge": 1.0})  # type: ignore[arg-type]
    with raises(ModelError, "not-finite"):
        da.equilibrium(eqs, rates={"hinge": np.nan})


def test_a_pose_that_cannot_be_assembled_says_so() -> None:
    m = da.Mechanism("long way", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    m.add_massless_rod("stay", m.ground.at(9, 0), rod.at(0.5, 0), length=1.0)
    with pytest.raises(AssemblyError):
        da.equilibrium(da.equations(m))


# --- steady motion ----------------------------------------------------------------------------------------------------


def governor() -> da.EquationsOfMotion:
    m = da.Mechanism("governor")
    shaft = m.add_body("shaft", mass=1.0, inertia=0.1)
    ball = m.add_body("ball", mass=2.0)
    m.add_revolute("spin", m.ground.at(0, 0, 0), shaft.at(0, 0, 0))
    m.add_revolute("arm", shaft.at(0, 0, 0), ball.at(0, 0, 0.5), axis=(0, 1, 0))
    return da.equations(m)


def test_the_balls_of_a_governor_rise_with_its_speed() -> None:
    """cos θ = g / (l Ω²) for a point mass on an arm of length l."""
    for speed in (6.0, 8.0, 20.0):
        steady = da.equilibrium(governor(), rates={"spin": speed}, guess={"arm": 1.0})
        assert np.cos(steady["arm.angle"]) == pytest.approx(G / (0.5 * speed**2), abs=POSE)
        assert steady["spin.rate"] == pytest.approx(speed, abs=1e-9)


def test_a_run_started_in_steady_motion_stays_steady() -> None:
    eqs = governor()
    steady = da.equilibrium(eqs, rates={"spin": 8.0}, guess={"arm": 1.0})
    run = da.simulate(eqs, 2.0, start=steady, every=0.05)
    assert np.ptp(run["arm.angle"]) < 1e-7  # rtol 1e-9 over some tens of steps
    assert np.ptp(run["spin.rate"]) < 1e-7


def test_a_rolling_disc_leans_into_its_circle() -> None:
    """Thin disc of mass M, radius r on gimbals without mass; steady circle with yaw rate Ω, lean α from vertical.

    Balance of angular momentum about the contact point, J₃ = M r²/2, J = M r²/4 and the disc's total spin
    n = φ̇ + Ω sin α:  (J₃ + M r²) n Ω cos α - J Ω² sin α cos α + M g r sin α = 0 (α about +x, the spin about +y).
    """
    r, M = 0.5, 2.0
    m = da.Mechanism("disc")
    yaw = m.add_body("yaw", mass=0.0, inertia=0.0, position=(0, 0, r))
    lean = m.add_body("lean", mass=0.0, inertia=0.0, position=(0, 0, r))
    disc = m.add_body("disc", mass=M, inertia=(M * r * r / 4, M * r * r / 2, M * r * r / 4), position=(0, 0, r))
    slider = m.add_body("slider", mass=0.0, inertia=0.0, position=(0, 0, r))
    m.add_constraint("upright slider", lambda s: [s["slider.e1"], s["slider.e2"], s["slider.e3"]])
    m.add_revolute("heading", slider.at(0, 0, 0), yaw.at(0, 0, 0), axis=(0, 0, 1))
    m.add_revolute("tilt", yaw.at(0, 0, 0), lean.at(0, 0, 0), axis=(1, 0, 0))
    m.add_revolute("spin", lean.at(0, 0, 0), disc.at(0, 0, 0), axis=(0, 1, 0))
    m.add_rolling_wheel("roll", m.ground, disc, radius=r)
    eqs = da.equations(m)
    yaw_rate, spin = 1.0, 6.0
    steady = da.equilibrium(eqs, rates={"heading": yaw_rate, "spin": spin})
    a = steady["tilt.angle"]
    n = spin + yaw_rate * np.sin(a)
    moment = (1.5 * M * r * r) * n * yaw_rate * np.cos(a) - M * r * r / 4 * yaw_rate**2 * np.sin(a) * np.cos(a)
    assert abs(a) > 0.05
    assert moment + M * G * r * np.sin(a) == pytest.approx(0.0, abs=1e-9)
    run = da.simulate(eqs, 1.0, start=steady, every=0.05)
    assert np.ptp(run["tilt.angle"]) < 1e-6


def test_no_steady_motion_is_said_with_what_is_missed() -> None:
    m = da.Mechanism("falling wheel", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    # swinging through its lowest point its rate is constant, but at that instant only
    with raises(ConvergenceError, "no-solution", "'hinge.rate'"):
        da.equilibrium(da.equations(m), rates={"hinge": 3.0})
    m.add_actuator("push", joint="hinge", effort=100.0)
    with raises(ConvergenceError, "no-solution", "hinge.rate", "3"):
        da.equilibrium(da.equations(m), rates={"hinge": 3.0})


def test_a_rate_that_follows_from_the_others_cannot_be_chosen() -> None:
    m = da.Mechanism("gears", planar=True, gravity=0)
    for name, x in (("a", 0.0), ("b", 1.0)):
        wheel = m.add_body(name, mass=1.0, inertia=0.1)
        m.add_revolute(f"{name} axle", m.ground.at(x, 0), wheel.at(0, 0))
    m.add_gear("mesh", "a axle", "b axle", ratio=-2.0)
    with raises(ModelError, "dependent-coordinates", "'b axle.rate'"):
        da.equilibrium(da.equations(m), rates={"a axle": 1.0, "b axle": 5.0})


def test_a_search_that_ends_where_a_joint_is_not_defined_says_so():
    """A rolling disc that lies flat on its plane."""
    with raises(ConvergenceError, "not-finite"):
        da.equilibrium(da.equations(da.read_model("rolling-disc")), guess={"disc.z": 0.0})


@pytest.mark.slow
def test_a_disc_that_would_fall_flat_is_balanced_upright_instead() -> None:
    """Left to itself it comes to no rest; the nearest equilibrium is found: p² = m g r / (A + m r²), A = m r²/4."""
    eqs = da.equations(da.read_model("rolling-disc"))
    upright = da.equilibrium(eqs)
    assert upright["disc.z"] == pytest.approx(0.25, abs=1e-12)
    fastest = max(da.linearize(eqs, upright).modes().eigenvalues.real)
    assert fastest == pytest.approx(math.sqrt(9.81 / 0.25 / 1.25), rel=1e-12)


def test_a_machine_that_is_driven_through_has_no_rest_to_look_for() -> None:
    with raises(ModelError, "no-solution", "'turn'", "0 s"):
        da.equilibrium(da.equations(da.read_model("whitworth")))


# --- families of equilibria -----------------------------------------------------------------------------------------


def on_a_rail(law: object = None) -> da.EquationsOfMotion:
    m = da.Mechanism("cart", planar=True)
    cart = m.add_body("cart", mass=1.0, inertia=0.1)
    bob = m.add_body("bob", mass=0.4)
    m.add_prismatic("rail", m.ground.at(0, 0), cart.at(0, 0))
    m.add_revolute("hinge", cart.at(0, 0), bob.at(0, 0.7))
    if law is not None:
        m.add_spring("buffer", joint="rail", law=law)
    return da.equations(m)


def test_a_free_direction_of_an_equilibrium_is_named() -> None:
    rest = da.equilibrium(on_a_rail())
    assert rest.free == ("rail.displacement",)
    assert repr(rest).endswith("; at rest at any rail.displacement)")
    held = da.equilibrium(on_a_rail(), hold={"rail": 2.0})
    assert held["rail.displacement"] == pytest.approx(2.0) and held.free == ()
    assert da.equilibrium(pendulum(0.3)).free == ()


def test_a_direction_whose_force_only_begins_with_the_third_power_is_not_free() -> None:
    rest = da.equilibrium(on_a_rail(lambda x: 5 * x**3), start=da.assemble(on_a_rail(lambda x: 5 * x**3)))
    assert abs(rest["rail.displacement"]) < 1e-3
    assert rest.free == ()


def test_free_turns_of_a_spatial_body_are_named() -> None:
    m = da.Mechanism("top at rest")
    body = m.add_body("body", mass=1.0, inertia=(0.1, 0.1, 0.05))
    m.add_spherical("ball", m.ground.at(0, 0, 0), body.at(0, 0, 0.3))
    assert da.equilibrium(da.equations(m)).free == ("body.rz",)


# --- stiff machines: every coordinate by its own scale ---------------------------------------------------------------


def largest_acceleration(rest: da.State) -> float:
    eqs, u = rest.eqs, np.zeros(rest.eqs.nu)
    x = Instant(rest.q, rest.v, rest.z, u, rest.t, 0 * rest.v, rest.lam)
    return float(np.abs(accelerations(eqs, x).a).max())


def swinging_bar(length: float, side: float, planar: bool = True) -> da.EquationsOfMotion:
    """A steel bar on a hinge, drawn level; its stiffest mode has 1e12 /s² and more."""
    m = da.Mechanism("bar", planar=planar)
    bar = m.add_flexible_body("bar", straight_bar(length, side, side, planar=planar, modes=8))
    if planar:
        m.add_revolute("A", m.ground.at(0, 0), bar.at("a"))
    else:
        m.add_revolute("A", m.ground.frame(0, 0, 0, axis=(0, -1, 0)), bar.frame("a", axis=(0, -1, 0)))
    return da.equations(m)


@pytest.mark.parametrize(("length", "side"), [(0.1, 0.01), (0.3, 0.01), (0.01, 0.003)])
@pytest.mark.parametrize("planar", [True, False])
def test_a_pendulum_made_of_a_stiff_bar_hangs_straight_down_from_anywhere(
    length: float, side: float, planar: bool
) -> None:
    """Rounding of a turn of 1 rad, 2e-16, times its stiffness 3 g / 2 l; modes are mass-normalised."""
    eqs = swinging_bar(length, side, planar)
    for start in (None, da.assemble(eqs, {"A.angle": -0.5})):
        rest = da.equilibrium(eqs, start=start)
        assert rest["A.angle"] == pytest.approx(-np.pi / 2, abs=POSE)
        assert largest_acceleration(rest) < 1e-9 * G / length


@pytest.mark.parametrize("beside", ["a clamped bar", "a stiff spring"])
def test_a_rigid_pendulum_does_not_rest_on_the_stiffness_of_its_neighbour(beside: str) -> None:
    m = da.Mechanism("two", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=0.01, position=(0.2, 0))
    m.add_revolute("A", m.ground.at(0, 0), rod.at(-0.2, 0))
    if beside == "a clamped bar":
        shelf = m.add_flexible_body("shelf", straight_bar(0.1, 0.01, 0.01, planar=True, modes=8), position=(0.5, 0))
        m.add_fixed("wall", m.ground.at(0.5, 0), shelf.at("a"))
    else:
        box = m.add_body("box", mass=1e-3, inertia=1e-9, position=(0.5, 0))
        m.add_prismatic("guide", m.ground.at(0.5, 0), box.at(0, 0), axis=(0, 1))
        m.add_spring("anvil", joint="guide", stiffness=1e12)
    rest = da.equilibrium(da.equations(m))
    assert rest["A.angle"] == pytest.approx(-np.pi / 2, abs=POSE)


def elastica(load: float) -> tuple[float, float]:
    """Tip x/l, y/l of an inextensible cantilever under a dead tip force load EI/l², across it at first.

    With k = sin((π/2 + θ)/2), √load = K(k) - F(φ₁, k) and sin φ₁ = 1/(k √2) for the slope θ of the tip; then
    y/l = 1 - 2 (E(k) - E(φ₁, k)) / √load and x/l = √(2 sin θ / load) (Bisshopp and Drucker, 1945).
    """
    from scipy.optimize import brentq
    from scipy.special import ellipe, ellipeinc, ellipk, ellipkinc

    def parts(slope: float) -> tuple[float, float]:
        k = math.sin((math.pi / 2 + slope) / 2)
        return k * k, math.asin(1 / (k * math.sqrt(2)))

    def length(slope: float) -> float:
        m, phi = parts(slope)
        return float(ellipk(m) - ellipkinc(phi, m)) - math.sqrt(load)

    slope = brentq(length, 1e-6, math.pi / 2 - 1e-9, xtol=1e-14)
    m, phi = parts(slope)
    return math.sqrt(2 * math.sin(slope) / load), 1 - 2 * float(ellipe(m) - ellipeinc(phi, m)) / math.sqrt(load)


def bent_tip(count: int, load: float, **options: object) -> np.ndarray:
    """Tip over the length of a steel strip, 0.1 m long and 1 mm thick: stretch is 1e-5 of bending."""
    length, side = 0.1, 0.001
    force = load * da.structures.material("steel").E * side**4 / 12 / length**2
    pieces = welded_pieces(count, length, side, side, planar=True, force=(0, force), modes=2, **options)
    rest = da.equilibrium(eqs := da.equations(pieces))
    piece = length / count
    assert largest_acceleration(rest) < 1e-9 * 12 * force / (7850 * piece * side**2) / piece  # [rad/s²] by the load
    y = eqs.kernel("outputs")(rest.q, rest.v, 0 * rest.v, rest.lam, rest.z, np.zeros(0), eqs.p, 0.0)[0]
    return np.ravel(y)[:2] / length


@pytest.mark.filterwarnings("ignore::dalembert.core.errors.ModelWarning")  # of 11 % of a piece
def test_welded_pieces_bend_to_the_elastica_with_the_square_of_their_length() -> None:
    exact = np.array(elastica(5.0))
    assert exact[1] == pytest.approx(0.7138, abs=5e-5)
    errors = [float(np.linalg.norm(bent_tip(count, 5.0, stiffening=False) - exact)) for count in (8, 16)]
    assert errors[1] < 2e-3
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)


def test_stiffened_pieces_bend_to_the_elastica() -> None:
    assert bent_tip(8, 1.0, stiffening=True) == pytest.approx(elastica(1.0), abs=2e-4)  # plain pieces: 6e-4


def test_a_machine_rests_alike_in_any_unit_of_length() -> None:
    """A rod on a spiral spring, a hundred times as long or as short: the spring carries the same share of it."""
    angles = []
    for size in (0.01, 1.0, 100.0):
        m = da.Mechanism("pendulum", planar=True)
        rod = m.add_body("rod", mass=size, inertia=size**3 / 12, position=(size / 2, 0))
        m.add_revolute("A", m.ground.at(0, 0), rod.at(-size / 2, 0))
        m.add_spring("spiral", joint="A", stiffness=2.0 * G * size**2)
        angles.append(da.equilibrium(da.equations(m))["A.angle"])
    assert angles == pytest.approx([angles[1]] * 3, abs=POSE)


def test_no_rest_is_reported_with_the_acceleration_that_is_left() -> None:
    m = da.Mechanism("stone", planar=True)
    stone = m.add_body("stone", mass=2.0, inertia=0.1)
    m.add_prismatic("rail", m.ground.at(0, 0), stone.at(0, 0), axis=(0, 1))
    bar = m.add_flexible_body("shelf", straight_bar(0.1, 0.01, 0.01, planar=True, modes=8), position=(0.5, 0))
    m.add_fixed("wall", m.ground.at(0.5, 0), bar.at("a"))
    with raises(ConvergenceError, "no-solution", "'stone.vy'") as failure:
        da.equilibrium(da.equations(m))
    assert failure.value.where == {"speed": "stone.vy"}
    assert failure.value.finding.evidence["acceleration"] == pytest.approx(-G)


def test_rest_beyond_the_range_of_linear_deformations_is_reported_as_in_a_run() -> None:
    """One piece of a soft strip under a load that bends it by its length."""
    strip = welded_pieces(1, 0.5, 0.001, 0.03, planar=True, force=(0, 10.0), modes=2)
    with warns(ModelWarning, "large-deformation", "'p0'"):
        da.equilibrium(da.equations(strip))


@pytest.mark.parametrize("reference", ["mean axis", "a"])
@pytest.mark.parametrize(("deflection", "reported"), [(0.09, False), (0.11, True)])
def test_a_strip_bent_by_a_tenth_of_its_length_is_reported_in_every_frame(
    deflection: float, reported: bool, reference: str
) -> None:
    """F = 3 EI δ/L³; from its mean axis the strip bends by a third of that."""
    stiffness = 3 * da.structures.material("steel").E * 0.03 * 0.001**3 / 12 / 0.5**2
    force = (0, stiffness * deflection)
    strip = welded_pieces(1, 0.5, 0.001, 0.03, planar=True, force=force, modes=2, stiffening=False, reference=reference)
    with warns(ModelWarning, "large-deformation", "'p0'") if reported else nullcontext():
        da.equilibrium(da.equations(strip))


@pytest.mark.parametrize("argument", ["hold", "guess", "rates"])
@pytest.mark.parametrize("value", [["hinge"], "hinge", 3.0])
def test_coordinates_without_values_are_refused(argument: str, value: object) -> None:
    with raises(ModelError, "wrong-type", argument):
        da.equilibrium(pendulum(), **{argument: value})  # type: ignore[arg-type]
    with raises(DataError, "not-a-number"):
        da.equilibrium(pendulum(), t=value if value != 3.0 else None)  # type: ignore[arg-type]


def test_a_flexible_governor_arm_lifts_as_a_rigid_one() -> None:
    """A slender rod on a shaft, sin θ = 3 g / (2 l Ω²) below the horizontal; 10 mm of 0.3 m change it by 1e-3."""
    speed, length = 8.0, 0.3
    m = da.Mechanism("governor")
    shaft = m.add_body("shaft", mass=1.0, inertia=0.1)
    m.add_revolute("spin", m.ground.at(0, 0, 0), shaft.at(0, 0, 0))
    arm = m.add_flexible_body("arm", straight_bar(length, 0.01, 0.01, planar=False, modes=4, stiffening=True))
    m.add_revolute("A", shaft.frame(0, 0, 0, axis=(0, 1, 0)), arm.frame("a", axis=(0, 1, 0)))
    eqs = da.equations(m)
    steady = da.equilibrium(eqs, rates={"spin": speed}, guess={"A": 1.0})
    assert np.sin(steady["A.angle"]) == pytest.approx(1.5 * G / (length * speed**2), rel=1e-3)


def test_efforts_hold_the_coordinates_that_are_named_and_no_others():
    """Two rods of 1 m, 1 kg each, held level: 9.81 (0.5 + 1.5) and 9.81 · 0.5 N m."""
    m = da.Mechanism("arm", planar=True)
    upper, fore = (m.add_body(name, mass=1.0, inertia=da.rod(1.0)) for name in ("upper", "fore"))
    m.add_revolute("shoulder", m.ground.at(0, 0), upper.at(-0.5, 0))
    m.add_revolute("elbow", upper.at(0.5, 0), fore.at(-0.5, 0))
    for coordinates in ("absolute", "joint"):
        eqs = da.equations(m, coordinates=coordinates)
        level = da.equilibrium(eqs, hold={"shoulder": 0.0, "elbow": 0.0}, efforts=["shoulder", "elbow"])
        assert list(level.efforts.values()) == pytest.approx([19.62, 4.905], rel=1e-8)
        hanging = da.equilibrium(eqs, hold={"shoulder": 0.0}, efforts="shoulder")
        assert hanging["elbow"] == pytest.approx(-np.pi / 2, abs=1e-8)
        assert hanging.efforts == {"shoulder.angle": pytest.approx(14.715, rel=1e-8)}
        assert "shoulder.angle is held by" in repr(hanging)
        with raises(da.errors.ConvergenceError, "no-solution", "elbow.angle", "efforts="):
            da.equilibrium(eqs, hold={"shoulder": 0.0, "elbow": 0.0}, efforts=["shoulder"])
        for wrong in ({"hold": {"shoulder": 0.0}}, {"hold": {"elbow": 0.0}, "rates": {"shoulder": 1.0}}):
            with raises(da.errors.ModelError, "unknown-name", "elbow.angle", "hold="):
                da.equilibrium(eqs, efforts=["elbow"], **wrong)
