"""Degrees of freedom: counted and true, redundant joints, singular poses, and the check of a whole machine."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.solve import rank_report
from dalembert.solve.constrained import matrices as mx
from dalembert.solve.motion.forward import system_at
from dalembert.solve.position.mobility import gruebler
from tests.helpers.findings import raises, warns


def four_bar(planar=True, scale=1.0, lengths=(0.2, 0.6, 0.5, 0.7), at=0.9):
    """Crank, coupler, rocker drawn at a crank angle; the frame is the last length."""
    crank, coupler, rocker, base = (scale * x for x in lengths)
    B = crank * np.array([np.cos(at), np.sin(at)])
    D = np.array([base, 0.0])
    gap = np.linalg.norm(D - B)
    along = (coupler**2 - rocker**2 + gap**2) / (2 * gap)
    up = np.sqrt(coupler**2 - along**2)
    e = (D - B) / gap
    C = B + along * e + up * np.array([-e[1], e[0]])
    m = da.Mechanism("four-bar", planar=planar, gravity=(0, -9.81) if planar else (0, -9.81, 0))
    wide = (lambda p: tuple(p)) if planar else (lambda p: (*p, 0.0))
    bodies = []
    for name, P, Q in (("crank", 0 * B, B), ("coupler", B, C), ("rocker", D, C)):
        inertia = 0.01 * scale**2 if planar else da.box(0.2 * scale, 0.05 * scale, 0.05 * scale)
        bodies.append(m.add_body(name, mass=0.5, inertia=inertia, position=wide((P + Q) / 2)))
    sides = (("A", m.ground, 0, 0 * B), ("B", 0, 1, B), ("C", 1, 2, C), ("D", m.ground, 2, D))
    for name, a, b, at_point in sides:
        first = a if not isinstance(a, int) else bodies[a]
        m.add_revolute(name, first, bodies[b], at=wide(at_point))
    return m


@pytest.mark.spec("002-A17", "002-A8")
def test_a_planar_four_bar_has_one_freedom_by_count_and_by_rank():
    found = da.mobility(da.equations(four_bar()))
    assert found.gruebler == found.dof == 1 == gruebler(3, {1: 4}, planar=True)
    assert found.redundant == () and found.singular is False
    assert len(found.independent) == 1


@pytest.mark.spec("002-A17", "002-A7", "002-A8", "003-C32")
def test_a_planar_loop_in_space_has_three_rows_too_many_and_says_whose():
    found = da.mobility(da.equations(four_bar(planar=False)))
    assert found.gruebler == -2 == gruebler(3, {1: 4}, planar=False)
    assert found.dof == 1
    assert set(found.redundant) == {"A", "B", "C", "D"}
    assert sum(count for _, count in found.surplus) == 3
    assert found.singular is False
    assert "redundant together: A, B, C, D" in repr(found)


@pytest.mark.spec("002-A7")
def test_dropping_the_surplus_rows_frees_nothing():
    eqs = da.equations(four_bar(planar=False))
    A = system_at(eqs, da.assemble(eqs)).A
    kept, repeated = mx.independent_rows(A, 1e-9)
    assert len(repeated) == 3
    assert np.linalg.matrix_rank(A[kept], tol=1e-9) == len(kept) == np.linalg.matrix_rank(A, tol=1e-9)


@pytest.mark.spec("002-A17")
@pytest.mark.parametrize(
    "bodies, freedoms, planar, expected",
    [
        (1, {}, False, 6),
        (3, {1: 4}, True, 1),
        (4, {1: 5}, True, 2),  # five-bar
        (7, {1: 9}, True, 3),  # 3-RRR
        (13, {2: 6, 1: 6, 3: 6}, False, 6),  # Stewart platform: six legs of universal, prismatic, spherical
    ],
)
def test_the_mobility_formula_counts_known_machines(bodies, freedoms, planar, expected):
    assert gruebler(bodies, freedoms, planar=planar) == expected


@pytest.mark.spec("003-E4", "003-C40")
def test_a_spacecraft_with_a_three_hinged_arm_has_nine_freedoms():
    m = da.Mechanism("spacecraft", gravity=0)
    last = m.add_body("base", mass=100.0, inertia=da.box(1, 1, 1), position=(0, 0, 0))
    for k, axis in enumerate(((0, 0, 1), (0, 1, 0), (0, 1, 0))):
        link = m.add_body(f"link{k}", mass=5.0, inertia=da.box(0.1, 0.1, 0.8), position=(0, 0, 0.9 + 0.8 * k))
        m.add_revolute(f"hinge{k}", last, link, at=(0, 0, 0.5 + 0.8 * k), axis=axis)
        last = link
    found = da.mobility(da.equations(m))
    assert found.rows == 15
    assert found.gruebler == found.dof == 9


def lunar_rover():
    """Frame and four double-wishbone suspensions: upper and lower triangle, strut, and a steering rod each."""
    m = da.Mechanism("lunar rover", gravity=(0, 0, -1.62))
    frame = m.add_body("frame", mass=200.0, inertia=da.box(2.0, 1.0, 0.3), position=(0, 0, 0.5))
    for x in (-1.0, 1.0):
        for side in (-1.0, 1.0):
            tag = f"{'front' if x > 0 else 'rear'} {'left' if side > 0 else 'right'}"
            inner, outer = 0.4 * side, 0.8 * side
            upper = m.add_body(f"{tag} upper", mass=1.0, inertia=da.box(0.2, 0.4, 0.05), position=(x, 0.6 * side, 0.65))
            lower = m.add_body(f"{tag} lower", mass=1.5, inertia=da.box(0.2, 0.4, 0.05), position=(x, 0.6 * side, 0.35))
            strut = m.add_body(f"{tag} strut", mass=4.0, inertia=da.box(0.1, 0.1, 0.4), position=(x, outer, 0.5))
            m.add_revolute(f"{tag} A", frame, upper, at=(x, inner, 0.65), axis=(1, 0, 0))
            m.add_revolute(f"{tag} B", frame, lower, at=(x, inner, 0.35), axis=(1, 0, 0))
            m.add_spherical(f"{tag} C", upper, strut, at=(x, outer, 0.65))
            m.add_spherical(f"{tag} D", lower, strut, at=(x, outer, 0.35))
            start, end = np.array((x + 0.15, inner, 0.5)), np.array((x + 0.15, outer, 0.5))
            on_frame, on_strut = frame.at(*frame.local(tuple(start))), strut.at(*strut.local(tuple(end)))
            m.add_massless_rod(f"{tag} rod", on_frame, on_strut, length=float(np.linalg.norm(end - start)))
    return m


@pytest.mark.spec("003-E4", "003-C40")
def test_a_lunar_rover_of_thirteen_bodies_has_ten_freedoms():
    eqs = da.equations(lunar_rover())
    assert eqs.nv == 78
    assert len(eqs.rows) == 4 * 17 == 68
    found = da.mobility(eqs)
    assert found.gruebler == found.dof == 10
    assert found.redundant == ()


@pytest.mark.spec("003-E4", "003-C40")
def test_the_rover_has_as_many_freedoms_with_hubs_on_vertical_guides():
    """The simple model: frame and four hubs, 30 equations and 20 rows; suspension links add none."""
    m = da.Mechanism("simple rover", gravity=(0, 0, -1.62))
    frame = m.add_body("frame", mass=200.0, inertia=da.box(2.0, 1.0, 0.3), position=(0, 0, 0.5))
    for k, (x, y) in enumerate(((1.0, 0.8), (1.0, -0.8), (-1.0, 0.8), (-1.0, -0.8))):
        hub = m.add_body(f"hub{k}", mass=4.0, inertia=0.1, position=(x, y, 0.5))
        m.add_prismatic(f"guide{k}", frame, hub, at=(x, y, 0.5), axis=(0, 0, 1))
    eqs = da.equations(m)
    assert (eqs.nv, len(eqs.rows)) == (30, 20)
    assert da.mobility(eqs).gruebler == da.mobility(eqs).dof == da.mobility(da.equations(lunar_rover())).dof == 10


@pytest.mark.spec("003-C40", "003-E4")
def test_the_other_equations_of_the_rover_give_its_reactions():
    """Pushed up at its hubs and braked: mass times acceleration of every body is what acts on it, with its joints."""
    m = lunar_rover()
    for name in ("front left", "front right", "rear left", "rear right"):
        strut = next(body for body in m.bodies if body.name == f"{name} strut")
        m.add_force(f"{name} ground", strut.at(0, 0, -0.2), (0.0, 0.0, 90.0))
    m.add_force("brake", m.bodies[0].at(0, 0, 0), (-50.0, 0.0, 0.0))
    eqs = da.equations(m)
    sol = da.forward_dynamics(eqs)
    assert len(sol.lam) == 68 and all(r.unique for r in sol.reactions.values())
    assert max(np.abs(r.force).max() for r in sol.reactions.values()) > 5.0
    acted = {body.name: np.array([0.0, 0.0, -1.62 * float(body.mass)]) for body in m.bodies}
    acted["frame"] += (-50.0, 0.0, 0.0)
    for name in acted:
        acted[name] += (0.0, 0.0, 90.0) if name.endswith("strut") else 0.0
    for joint in m.joints:
        force = sol.reactions[joint.name].force
        acted[joint.b.body.name] += force  # what a joint does to its second body
        acted[joint.a.body.name] -= force
    for body in m.bodies:
        moved = float(body.mass) * np.array([sol[f"{body.name}.v{axis}"] for axis in "xyz"])
        assert acted[body.name] == pytest.approx(moved, abs=1e-9 * 248 * 1.62), body.name


@pytest.mark.spec("003-C40")
def test_three_strategies_give_the_same_motion_and_reactions():
    """(a) all equations, (b) one coordinate by Lagrange, (c) constraints eliminated; slider-crank under gravity.

    Tolerance 1e-7: three integrations of 1 s at rtol 1e-10 or so, errors growing by no more than a hundred.
    """
    l1, l2, m1, m2, m3 = 0.3, 0.8, 1.0, 2.0, 1.5
    I1, I2 = m1 * l1**2 / 12, m2 * l2**2 / 12
    m = da.Mechanism("slider-crank", planar=True)
    crank = m.add_body("crank", mass=m1, inertia=da.rod(l1))
    rod = m.add_body("rod", mass=m2, inertia=da.rod(l2))
    slider = m.add_body("slider", mass=m3, inertia=0.1)
    m.add_revolute("O", m.ground.at(0, 0), crank.at(-l1 / 2, 0))
    m.add_revolute("P", crank.at(l1 / 2, 0), rod.at(-l2 / 2, 0))
    m.add_revolute("Q", rod.at(l2 / 2, 0), slider.at(0, 0))
    m.add_prismatic("guide", m.ground.at(0, 0), slider.at(0, 0))
    m.add_sensor("wall", da.reaction("guide"))
    eqs = da.equations(m)
    start = da.assemble(eqs, {"O.angle": 1.0}, velocity={"O.angle": 4.0}, guess={"P.angle": -1.4})
    run = da.simulate(eqs, 1.0, start=start, method=da.DormandPrince(rtol=1e-11, atol=1e-11), every=0.5)  # (a)

    th = ca.SX.sym("th")  # (b): ½ J(θ) θ̇² + V(θ)
    beta = ca.asin(l1 * ca.sin(th) / l2)
    G = ca.vertcat(l1 * ca.cos(th) + l2 / 2 * ca.cos(beta), l1 * ca.sin(th) / 2)
    x = l1 * ca.cos(th) + l2 * ca.cos(beta)
    dG, dx, db = ca.jacobian(G, th), ca.jacobian(x, th), ca.jacobian(beta, th)
    J = I1 + m1 * l1**2 / 4 + m2 * ca.dot(dG, dG) + I2 * db**2 + m3 * dx**2
    V = 9.81 * (m1 * l1 / 2 * ca.sin(th) + m2 * G[1])
    terms = ca.Function("terms", [th], [J, ca.jacobian(J, th), ca.jacobian(V, th)])

    def lagrange(_, y):
        J, dJ, dV = (float(v) for v in terms(y[0]))
        return [y[1], -(0.5 * dJ * y[1] ** 2 + dV) / J]

    tight = {"rtol": 1e-11, "atol": 1e-11, "method": "DOP853"}
    minimal = solve_ivp(lagrange, (0, 1.0), [1.0, 4.0], **tight)

    reduced = da.equations(eqs, coordinates="O.angle", at=start)  # (c)
    begin = da.assemble(reduced, velocity={"O.angle": 4.0})
    eliminated = da.simulate(reduced, 1.0, start=begin, method=da.DormandPrince(rtol=1e-11, atol=1e-11), every=0.5)
    angles = [run["O.angle"][-1], minimal.y[0, -1], eliminated["O.angle"][-1]]
    rates = [run["O.rate"][-1], minimal.y[1, -1], eliminated["O.rate"][-1]]
    assert np.ptp(angles) < 1e-7 and np.ptp(rates) < 1e-7
    # the equations that are left give the reaction of the guide
    wall = run["guide.force.y"]
    assert eliminated["wall.force.y"] == pytest.approx(wall, abs=1e-6 * np.abs(wall).max())


# -- singular poses ---------------------------------------------------------------------------------------------------


def parallelogram(at):
    return four_bar(lengths=(0.2, 0.6, 0.2, 0.6), at=at)


@pytest.mark.spec("002-A8")
def test_a_flat_parallelogram_is_singular_just_there():
    flat = da.Mechanism("flat", planar=True)
    crank = flat.add_body("crank", mass=1.0, inertia=0.1, position=(0.1, 0))
    coupler = flat.add_body("coupler", mass=1.0, inertia=0.1, position=(0.5, 0))
    rocker = flat.add_body("rocker", mass=1.0, inertia=0.1, position=(0.7, 0))
    for name, a, b, x in (("A", flat.ground, crank, 0), ("B", crank, coupler, 0.2), ("C", coupler, rocker, 0.8)):
        flat.add_revolute(name, a, b, at=(x, 0))
    flat.add_revolute("D", flat.ground, rocker, at=(0.6, 0))
    found = da.mobility(da.equations(flat))
    assert found.dof == 2 and found.gruebler == 1
    assert found.singular is True
    assert "singular" in repr(found)
    assert "singular-pose" in codes(da.check(flat).warnings)


@pytest.mark.spec("002-A8")
def test_the_distance_to_a_singular_pose_shrinks_on_the_way_there():
    far, near = (da.mobility(da.equations(parallelogram(at))).distance for at in (1.5, 3.1))
    assert 0 < near < 0.1 * far


def test_the_distance_does_not_depend_on_the_unit_of_length():
    metre, millimetre = (da.mobility(da.equations(four_bar(scale=s))).distance for s in (1.0, 1000.0))
    assert millimetre == pytest.approx(metre, rel=1e-9)


@pytest.mark.spec("002-A8")
def test_the_rank_report_follows_a_run_through_a_dead_point():
    m = parallelogram(2.8)
    m.gravity = (0.0, 0.0)
    eqs = da.equations(m)
    start = da.assemble(eqs, velocity={"A.angle": 1.0})
    with warns(da.errors.SimulationWarning, "singular-pose"):
        run = da.simulate(eqs, 0.6, start=start, method=da.RK4(1e-3), every=0.01)
    report = rank_report(eqs, run)
    assert {"rank", "dof", "distance", "smallest"} < set(report.names)
    passed = run.time[np.argmin(report["smallest"])]
    assert passed == pytest.approx(np.pi - 2.8, abs=0.011)  # a sample's distance; the crank turns at about 1 rad/s
    away = np.abs(run.time - passed) > 0.02
    assert np.all(report["rank"][away] == 8) and np.all(report["dof"][away] == 1)


def test_a_rank_report_needs_the_channels_of_the_machine():
    eqs = da.equations(four_bar())
    record = da.Record.from_channels(np.array([0.0, 1.0]), {"crank.x": np.zeros(2)})
    with raises(da.errors.DataError, "missing-channel", "crank.y"):
        rank_report(eqs, record)


@pytest.mark.spec("002-A8")
def test_a_machine_without_joints_keeps_all_its_freedoms():
    m = da.Mechanism("stone")
    m.add_body("stone", mass=1.0, inertia=1.0)
    found = da.mobility(da.equations(m))
    assert found.dof == found.gruebler == 6 and found.rank == found.rows == 0


@pytest.mark.spec("002-A8")
def test_rolling_takes_speeds_and_keeps_poses():
    m = da.Mechanism("ball")
    m.add_body("ball", mass=1.0, inertia=da.sphere(0.1), position=(0, 0, 0.1))
    m.add_rolling_sphere("contact", m.ground, m.bodies[0], radius=0.1)
    found = da.mobility(da.equations(m))
    assert found.dof == 3
    assert found.rows == 3


def test_a_driver_that_repeats_a_locked_joint_is_named():
    m = da.Mechanism("locked", planar=True)
    bar = m.add_body("bar", mass=1.0, inertia=0.1, position=(0.5, 0))
    m.add_fixed("weld", m.ground, bar, at=(0, 0))
    m.add_driver("hold", "bar.x", 0.5)
    found = da.mobility(da.equations(m))
    assert found.dof == 0 and set(found.redundant) == {"weld", "hold"}


# -- the whole check --------------------------------------------------------------------------------------------------


def codes(findings):
    return [one.code for one in findings]


def test_a_sound_machine_passes_and_prints_its_freedoms():
    report = da.check(four_bar())
    assert report and report.ok and report.problems == () and report.warnings == ()
    text = repr(report)
    assert "sound" in text and "1 degree of freedom" in text and "Gruebler count  1" in text


def test_every_problem_of_a_description_is_reported_at_once():
    m = da.Mechanism("bad", planar=True)
    a = m.add_body("a", mass=-1.0, inertia=0.1)
    m.add_body("a", mass=1.0, inertia=0.1)
    m.add_revolute("J", m.ground.at(0, 0), a.at(0, 0))
    m.add_actuator("motor", joint="K", input="u")
    report = da.check(m)
    assert not report and len(report.problems) >= 3 and report.mobility is None
    text = repr(report)
    assert "'K'" in text and "'a'" in text
    assert all(f"problem: {one.text()}" in text for one in report.problems)


def test_a_machine_that_cannot_close_is_reported_not_raised():
    m = da.Mechanism("short", planar=True)
    a = m.add_body("a", mass=1.0, inertia=0.1)
    m.add_revolute("J", m.ground.at(0, 0), a.at(0, 0))
    m.add_revolute("K", m.ground.at(1, 0), a.at(0.2, 0))
    report = da.check(m)
    assert not report.ok and codes(report.problems) == ["joint-open"]


def test_massless_bodies_are_a_warning_when_held_and_a_problem_when_not():
    m = da.Mechanism("massless", planar=True)
    rod = m.add_body("rod", mass=0.0, inertia=0.0, position=(0, 0))
    bob = m.add_body("bob", mass=1.0, inertia=0.1, position=(1, 0))
    m.add_revolute("O", m.ground, rod, at=(0, 0))
    m.add_fixed("weld", rod, bob, at=(1, 0))
    assert [(one.code, one.where["bodies"]) for one in da.check(m).warnings] == [("no-mass", ["rod"])]
    loose = da.Mechanism("loose", planar=True)
    link = loose.add_body("link", mass=0.0, inertia=0.0, position=(0, 0))
    loose.add_revolute("O", loose.ground, link, at=(0, 0))
    report = da.check(loose)
    assert not report.ok and "link.rate" in report.problems[0].problem


def test_redundant_and_immobile_machines_get_a_warning():
    assert "not-unique" in codes(da.check(four_bar(planar=False)).warnings)
    m = da.Mechanism("truss", planar=True)
    bar = m.add_body("bar", mass=1.0, inertia=0.1, position=(0.5, 0))
    m.add_fixed("weld", m.ground, bar, at=(0, 0))
    assert "no-freedom" in codes(da.check(m).warnings)


def test_only_a_mechanism_can_be_checked():
    with raises(da.errors.ModelError, "wrong-type"):
        da.check("four-bar")


def constrained(**rows):
    """A body in the plane, without gravity, with constraints of its coordinates x, y and angle."""
    m = da.Mechanism("body", planar=True, gravity=0)
    m.add_body("body", mass=1.0, inertia=1.0)
    for name, function in rows.items():
        m.add_constraint(name, lambda s, f=function: f(s["body.x"], s["body.y"], s["body.angle"]))
    return da.equations(m)
