"""Modular method, description of motion: examples of Orsino 2016, chapter 2, with their corrections.

Ranks are of matrices with entries of order one; complements are compared as numbers at poses of no symmetry, where
1e-12 leaves three digits to the rounding of some ten operations.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.symbolic.modular import (
    Assembly,
    Leaf,
    count_freedoms,
    modular_model,
    planar_body,
    quaternion_rotation,
    rigid_body,
    rolling_sphere,
    skew,
    variation_norm,
)
from dalembert.symbolic.modular.algebra.rotations import quaternion_spin

ROUND = 1e-12


@pytest.mark.spec("002-T1", "002-A3")
def test_free_body_that_turns_about_its_y_axis() -> None:
    """qy = sin(Ωt/2), qt = cos(Ωt/2), everything else zero; the integrator keeps 1e-9 by default."""
    body = rigid_body("body", mass=2.0, inertia=(0.3, 0.5, 0.7), gravity=(0, 0, 0))
    eqs = da.equations(body)
    assert (eqs.nq, eqs.nv) == (7, 6)
    speed = 1.7
    start = eqs.state(v=[speed if name == "wy" else 0.0 for name in eqs.speeds.names])
    run = da.simulate(eqs, until=3.0, start=start)
    t = run.time
    np.testing.assert_allclose(run["qy"], np.sin(speed * t / 2), rtol=0, atol=1e-9)
    np.testing.assert_allclose(run["qt"], np.cos(speed * t / 2), rtol=0, atol=1e-9)
    for name in ("x", "y", "z", "qx", "qz"):
        assert np.abs(run[name]).max() < 1e-12


@pytest.mark.spec("002-A16", "002-T1")
@pytest.mark.parametrize("frame", ["body", "space"])
def test_rates_of_a_quaternion_agree_with_the_rotation_matrix(frame: str) -> None:
    rng = np.random.default_rng(1)
    q = rng.normal(size=4)
    q /= np.linalg.norm(q)
    w = rng.normal(size=3)
    s = ca.SX.sym("q", 4)
    rate = quaternion_spin(s, frame).T @ ca.DM(w) / 4
    R = quaternion_rotation(s)
    moved = ca.reshape(ca.jtimes(ca.vec(R), s, rate), 3, 3)
    product = R.T @ moved if frame == "body" else moved @ R.T
    value, spin = ca.Function("f", [s], [product, quaternion_spin(s, frame) @ rate])(q)
    np.testing.assert_allclose(np.array(value), np.array(ca.DM(skew(ca.DM(w)))), rtol=0, atol=1e-14)
    np.testing.assert_allclose(np.array(spin).ravel(), w, rtol=0, atol=1e-14)


def two_rods(*, offset: float = 0.0, angle: bool = True) -> Leaf:
    leaf = Leaf("two rods")
    l1, l2 = leaf.add_parameter("l1", 1.0), leaf.add_parameter("l2", 2.0)
    x1, y1, z1 = (leaf.add_coordinate(f"{k}1") for k in "xyz")
    x2, y2, z2 = (leaf.add_coordinate(f"{k}2") for k in "xyz")
    leaf.constrain(x1**2 + y1**2 + z1**2 - l1**2, "first rod")
    leaf.constrain((x1 - x2) ** 2 + (y1 - y2) ** 2 + (z1 - z2) ** 2 - l2**2, "second rod")
    leaf.constrain(y2 - offset, "guide y")
    leaf.constrain(z2, "guide z")
    if angle:
        theta = leaf.add_coordinate("theta")
        leaf.constrain(x2**2 + y2**2 + z2**2 - l1**2 - l2**2 - 2 * l1 * l2 * ca.cos(theta), "angle")
    return leaf


def pose(x1: float, y1: float, x2: float, theta: float, y2: float = 0.0, **other: float) -> dict[str, float]:
    return {"x1": x1, "y1": y1, "z1": 0.0, "x2": x2, "y2": y2, "z2": 0.0, "theta": theta, **other}


def without_angle(values: dict[str, float]) -> dict[str, float]:
    return {key: value for key, value in values.items() if key != "theta"}


@pytest.mark.spec("002-T2", "002-A6", "002-A7", "002-A8")
def test_two_rods_are_singular_where_they_are_straight_only_in_the_redundant_angle() -> None:
    full, short = modular_model(two_rods()), modular_model(two_rods(angle=False))
    assert full.motion.constraint_order == 1
    assert full.jacobian().shape == (5, 7)
    assert (full.regular_rank, full.freedoms) == (5, 2)
    assert (short.regular_rank, short.freedoms) == (4, 2)
    for x1, x2, theta in ((1, 3, 0), (-1, -3, 0), (1, -1, np.pi), (-1, 1, np.pi)):
        values = pose(x1, 0.0, x2, theta)
        report = full.check_rank(values)
        assert (report.rank, report.is_singular) == (4, True)
        assert report.smallest < 1e-12
        assert not short.check_rank(without_angle(values)).is_singular


@pytest.mark.spec("002-T2", "002-A11")
def test_complement_of_the_two_rods_in_two_charts() -> None:
    """Signs of the dependent rows are positive; example 2.4 prints them with the other sign."""
    y1, z1 = 0.6, 0.3
    x1 = np.sqrt(1 - y1**2 - z1**2)
    x2 = x1 + np.sqrt(4 - y1**2 - z1**2)
    theta = np.arccos((x2**2 - 5) / 4)
    values = {"x1": x1, "y1": y1, "z1": z1, "x2": x2, "y2": 0.0, "z2": 0.0, "theta": theta}
    for dep, ind in (("y1", "z1"), ("z1", "y1")):
        leaf = two_rods()
        leaf.choose(f"{ind}.rate", "x2.rate")
        S = modular_model(leaf).complement_at(values)
        expected = {
            ("x1", ind): 0.0, (dep, ind): -values[ind] / values[dep], ("theta", ind): 0.0,
            ("x1", "x2"): 1 - x1 / x2, (dep, "x2"): x1 * (x1 - x2) / (x2 * values[dep]),
            ("theta", "x2"): -x2 / (2 * np.sin(theta)), ("y2", "x2"): 0.0, ("z2", ind): 0.0,
        }  # fmt: skip
        for (row, column), value in expected.items():
            assert S[f"{row}.rate", f"{column}.rate"] == pytest.approx(value, abs=ROUND)


@pytest.mark.spec("002-T2", "002-A8", "002-A11")
def test_a_complement_that_loses_rank_gives_the_pose_and_other_variables() -> None:
    leaf = two_rods(angle=False)
    leaf.choose("z1.rate", "x2.rate")
    model = modular_model(leaf)
    z1 = 0.6
    x1 = np.sqrt(1 - z1**2)
    values = {"x1": x1, "y1": 0.0, "z1": z1, "x2": x1 + np.sqrt(4 - z1**2), "y2": 0.0, "z2": 0.0}
    with pytest.raises(da.errors.ModelError) as caught:
        model.complement_at(values)
    assert caught.value.code == "singular-pose"
    assert caught.value.where["pose"]["y1"] == 0.0
    assert "y1.rate" in model.independent_at(values)
    assert "y1.rate" in str(caught.value)


@pytest.mark.spec("002-T3")
def test_offset_guide_has_an_intrinsic_singularity() -> None:
    full, short = modular_model(two_rods(offset=1.0)), modular_model(two_rods(offset=1.0, angle=False))
    root = 2 * np.sqrt(2) / 3
    cases = [(-root, 1 / 3, -3 * root, 0.0, 4), (root, 1 / 3, 3 * root, 0.0, 4), (0.0, -1.0, 0.0, np.pi, 3)]
    for x1, y1, x2, theta, rank in cases:
        values = pose(x1, y1, x2, theta, y2=1.0)
        assert full.check_rank(values).rank == rank
        assert short.check_rank(without_angle(values)).rank == min(rank, 4)
    assert short.check_rank(without_angle(pose(0.0, -1.0, 0.0, np.pi, y2=1.0))).is_singular
    assert not short.check_rank(without_angle(pose(root, 1 / 3, 3 * root, 0.0, y2=1.0))).is_singular


def trough(**options: Any) -> Leaf:
    return rolling_sphere(
        "sphere", radius=0.01, mass=0.05, surface=lambda x, y, z: z - 0.5 * y**2, gravity=(0, 0, -9.8), **options
    )


@pytest.mark.spec("002-T4", "002-A9", "002-J1")
def test_rolling_sphere_on_a_parabolic_trough() -> None:
    leaf = trough()
    model = modular_model(leaf)
    r, y = 0.01, 0.1
    values = {"x": 0.3, "y": y, "z": y**2 / 2, "qx": 0.5, "qy": 0.1, "qz": -0.3, "qt": np.sqrt(1 - 0.35)}
    normal = np.array([0.0, -y, 1.0]) / np.sqrt(1 + y**2)
    S = model.complement_at(values).part(["wx", "wy", "wz", "vx", "vy", "vz"], ["wx", "wy", "wz"])
    nx, ny, nz = normal
    expected = np.vstack([np.eye(3), r * np.array([[0, nz, -ny], [-nz, 0, nx], [ny, -nx, 0]])])
    np.testing.assert_allclose(S.entries, expected, rtol=0, atol=ROUND)

    q = ca.vertcat(*(leaf[f"q{k}"] for k in "xyzt"))
    R = quaternion_rotation(q)
    v, w = (ca.vertcat(*(leaf[f"{s}{k}"] for k in "xyz")) for s in "vw")
    point = v + ca.cross(w, R @ ca.vertcat(0, 0, -r))
    V = ca.vertcat(*(model.lifting(point[k]) for k in range(3)))
    numbers = model.motion.function([V], 2)
    labels = list(model.motion.labels())
    columns = [labels.index(name) for name in ("wx", "wy", "wz", "vx", "vy", "vz")]
    c1, c2, c3 = np.array(ca.DM(quaternion_rotation(ca.DM([values[f"q{k}"] for k in "xyzt"]))))[:, 2]
    found = np.array(numbers(*model.motion.point(values, 2)))[:, columns]
    cross = r * np.array([[0, -c3, c2], [c3, 0, -c1], [-c2, c1, 0]])
    np.testing.assert_allclose(found, np.hstack([cross, np.eye(3)]), rtol=0, atol=ROUND)

    flat = {"x": 0.0, "y": 0.0, "z": 0.0, "qx": 0.0, "qy": 0.0, "qz": 0.0, "qt": 1.0}
    at_rest = np.array(numbers(*model.motion.point(flat, 2)))[:, columns]
    S = model.complement_at(flat).part(["wx", "wy", "wz", "vx", "vy", "vz"], ["wx", "wy", "wz"])
    np.testing.assert_allclose(at_rest @ S.entries, 0.0, rtol=0, atol=1e-16)


@pytest.mark.spec("002-T5", "002-A15")
def test_planar_element_with_nodes() -> None:
    g, h = 0.4, -0.3
    model = modular_model(planar_body("element", nodes=3, centre=(1, 2, g, h)))
    rng = np.random.default_rng(4)
    p = rng.normal(size=(3, 2))
    values = {f"p{k + 1}{axis}": p[k, c] for k in range(3) for c, axis in enumerate("xy")}
    lengths = {f"length {b + 1}-{a + 1}": float(np.linalg.norm(p[a] - p[b])) for a in range(3) for b in range(a)}
    S = model.complement_at(values | lengths)
    (ix, iy), (jx, jy) = p[0], p[1]
    for k in range(3):
        kx, ky = p[k]
        rows = [
            [1, 0, (1 - g) * iy + g * jy + h * (jx - ix) - ky],
            [0, 1, -(1 - g) * ix - g * jx + h * (jy - iy) + kx],
        ]
        found = S.part([f"p{k + 1}x.rate", f"p{k + 1}y.rate"], ["vx", "vy", "w"])
        np.testing.assert_allclose(found.entries, rows, rtol=0, atol=ROUND)
    assert set(model.tree.redundant) <= {f"distance {b + 1}-{a + 1}" for a in range(3) for b in range(a)}


@pytest.mark.spec("002-A2")
def test_constraints_are_classified() -> None:
    leaf = Leaf("cases")
    x, y = leaf.add_coordinate("x"), leaf.add_coordinate("y")
    leaf.constrain(x**2 + y - 1, "curve")
    leaf.constrain(x - ca.sin(leaf.time), "driven")
    leaf.constrain(ca.cos(x) * leaf.rate("y") - ca.sin(x) * leaf.rate("x"), "knife edge")
    leaf.constrain(leaf.rate("x") ** 2 + leaf.rate("y") ** 2 - 1, "constant speed")
    leaf.constrain(leaf.rate("x", 3) - y, "jerk")
    motion = modular_model(leaf).motion
    names = [motion.classify(one.name).name for one in motion.invariants]
    assert names == [
        "scleronomic holonomic", "rheonomic holonomic", "simple non-holonomic", "non-holonomic of order 1",
        "non-holonomic of order 3",
    ]  # fmt: skip
    assert not motion.is_holonomic


@pytest.mark.spec("002-A2")
def test_an_inequality_is_refused() -> None:
    leaf = Leaf("ball")
    z = leaf.add_coordinate("z")
    with pytest.raises(da.errors.ModelError) as caught:
        leaf.constrain(z >= 0, "floor")
    assert caught.value.code == "not-supported"
    assert "floor" in str(caught.value)


@pytest.mark.spec("002-A4", "002-A5")
def test_rates_follow_from_definitions_and_invariants_of_any_order_from_constraints() -> None:
    """Polar quasi-velocities of a point: u along the radius, s across it."""
    leaf = Leaf("point")
    x, y = leaf.add_coordinate("x"), leaf.add_coordinate("y")
    r = ca.sqrt(x**2 + y**2)
    dx, dy = leaf.rate("x"), leaf.rate("y")
    leaf.add_velocity("u", definition=(x * dx + y * dy) / r)
    leaf.add_velocity("s", definition=(x * dy - y * dx) / r)
    leaf.constrain(r - 2, "circle")
    motion = modular_model(leaf).motion
    assert motion.labels(1) == ("u", "s")
    values = {"x": 1.2, "y": 1.6, "u": 0.3, "s": -0.7, "u.rate": 0.2, "s.rate": 0.5}
    point = motion.point(values, 2)
    rates = ca.vertcat(motion.rate_of(motion.symbols(0)[0]), motion.rate_of(motion.symbols(0)[1]))
    c, s = 0.6, 0.8
    found = np.array(motion.function([rates], 2)(*point)).ravel()
    np.testing.assert_allclose(found, [0.3 * c + 0.7 * s, 0.3 * s - 0.7 * c], rtol=0, atol=ROUND)
    orders = [motion.invariants_of(k)[0].expression for k in (0, 1, 2)]
    np.testing.assert_allclose(np.array(motion.function([ca.vertcat(*orders)], 2)(*point)).ravel(), [0, 0.3, 0.2],
                               rtol=0, atol=ROUND)  # fmt: skip


@pytest.mark.spec("002-A1")
def test_derivatives_of_a_point_of_any_order() -> None:
    leaf = Leaf("crank")
    angle = leaf.add_coordinate("angle")
    motion = modular_model(leaf).motion
    third = motion.differentiate(ca.cos(angle) + leaf.time**3, 3)
    w, a, j = (leaf["angle" + ".rate" * k] for k in (1, 2, 3))
    expected = ca.sin(angle) * w**3 - 3 * ca.cos(angle) * w * a - ca.sin(angle) * j + 6
    symbols = ca.vertcat(angle, w, a, j)
    gap = ca.Function("gap", [symbols, leaf.time], [third - expected])
    assert abs(float(gap([0.3, 1.2, -0.7, 0.4], 0.9))) < ROUND


@pytest.mark.spec("002-A10")
def test_a_variation_is_compatible_where_the_jacobian_annihilates_it() -> None:
    model = modular_model(two_rods(angle=False))
    values = {"x1": 0.8, "y1": 0.6, "z1": 0.0, "x2": 0.8 + np.sqrt(4 - 0.36), "y2": 0.0, "z2": 0.0}
    A = model.at(model.jacobian(), values).entries
    S = model.at(model.S, values).part(rows=model.motion.labels()).entries
    rng = np.random.default_rng(0)
    labels = model.motion.labels()
    for change, compatible in ((S @ rng.normal(size=2), True), (rng.normal(size=6), False)):
        found = list(model.vary_constraints(values, dict(zip(labels, change, strict=True))).values())
        assert found == pytest.approx(A @ change, abs=ROUND)
        assert (np.abs(found).max() < ROUND) == compatible


@pytest.mark.spec("002-A10")
def test_variations_of_all_orders_are_compatible_between_motions_that_fulfil_the_constraints() -> None:
    """A skater of speed 3 on a ring of radius 1 + t: the motions turned by s fulfil both constraints, so that their
    derivative by s is compatible, in places, velocities and accelerations together; a part of it is not."""
    leaf = Leaf("skater")
    x, y = leaf.add_coordinate("x"), leaf.add_coordinate("y")
    leaf.constrain(x**2 + y**2 - (1 + leaf.time) ** 2, "ring")
    leaf.constrain(leaf.rate("x") ** 2 + leaf.rate("y") ** 2 - 9, "speed")  # (1 + t)² a'² = 8
    model = modular_model(leaf)
    assert model.motion.working_order == 2
    t, s = ca.SX.sym("t"), ca.SX.sym("s")
    angle = np.sqrt(8) * ca.log(1 + t) + s
    place = (1 + t) * ca.vertcat(ca.cos(angle), ca.sin(angle))
    speed = ca.jtimes(place, t, 1)
    stack = ca.vertcat(place, speed, ca.jtimes(speed, t, 1))
    family = ca.Function("family", [t, s], [stack, ca.jacobian(stack, s)])
    labels = ["x", "y", "x.rate", "y.rate", "x.rate.rate", "y.rate.rate"]
    now, change = (dict(zip(labels, np.array(one).ravel().tolist(), strict=True)) for one in family(0.7, 0.4))
    found = model.vary_constraints(now, change, t=0.7)
    assert set(found) == {"ring", "speed"} and np.abs(list(found.values())).max() < 1e-12
    part = {name: value for name, value in change.items() if name.endswith(".rate")}
    assert np.abs(list(model.vary_constraints(now, part, t=0.7).values())).max() > 0.1
    # of any variation it is the derivative of the constraints themselves
    value = model.motion.function([ca.vertcat(*(one.expression for one in model.motion.invariants_of(2)))], 2)
    other = dict(zip(labels, np.random.default_rng(3).normal(size=6), strict=True))

    def moved(h: float) -> Any:
        return np.array(value(*model.motion.point({k: now[k] + h * other[k] for k in now}, 2, 0.7))).ravel()

    expected = (moved(1e-6) - moved(-1e-6)) / 2e-6
    assert list(model.vary_constraints(now, other, t=0.7).values()) == pytest.approx(expected, abs=1e-7)
    with pytest.raises(da.errors.ModelError) as caught:
        model.vary_constraints(now, {"z": 1.0})
    assert caught.value.code == "unknown-name"


@pytest.mark.spec("002-A9")
def test_the_norm_of_a_variation_sums_the_largest_values_of_its_derivatives() -> None:
    """sin 2t over a period to the second order: 1 + 2 + 4; a norm, and of several entries the largest."""
    t = np.linspace(0, 2 * np.pi, 4001)  # the maxima of all three are among the samples
    wave = [np.sin(2 * t), 2 * np.cos(2 * t), -4 * np.sin(2 * t)]
    assert variation_norm(wave) == pytest.approx(7.0, rel=1e-12)
    assert variation_norm(wave[:1]) == pytest.approx(1.0, rel=1e-12)
    v, w = np.random.default_rng(1).normal(size=(2, 3, 50, 4))
    assert variation_norm(v + w) <= variation_norm(v) + variation_norm(w)
    assert variation_norm(-2.5 * v) == pytest.approx(2.5 * variation_norm(v), rel=1e-14)
    assert variation_norm(v) == max(variation_norm(v[:, :, k]) for k in range(4))
    assert variation_norm(0 * v) == 0.0
    # a variation of third derivatives alone, e³/6 over a time e: lower orders vanish first
    for span in (1e-1, 1e-2):
        e = np.linspace(0, span, 101)
        assert variation_norm([e**3 / 6, e**2 / 2, e]) == pytest.approx(span**3 / 6 + span**2 / 2 + span, rel=1e-14)


@pytest.mark.spec("002-A9")
def test_a_variation_of_accelerations_moves_a_point_by_half_the_square_of_time() -> None:
    """δv(t + ε) = ε²/2 V δq̈ + O(ε³) of a motion v of order 0: the rest is 1e-3 of it at ε = 1e-3."""
    leaf = Leaf("arm")
    a, r = leaf.add_coordinate("a"), leaf.add_coordinate("r")
    place = r * ca.sin(a)
    model = modular_model(leaf)
    q, v, change, step = np.array([0.4, 1.3]), np.array([0.7, -0.2]), np.array([0.9, 0.5]), 1e-3
    V = np.array(model.motion.function([model.lifting(place)], 2)(*model.motion.point({"a": 0.4, "r": 1.3}, 2)))
    value = ca.Function("place", [ca.vertcat(a, r)], [place])
    moved, still = (float(value(q + v * step + w * step**2 / 2)) for w in (change, 0 * change))
    assert (moved - still) / (step**2 / 2) == pytest.approx((V @ change).item(), rel=2e-3)


@pytest.mark.spec("002-A17")
def test_mobility_from_counts() -> None:
    assert count_freedoms(5, {1: 5}, planar=True) == 2  # five-bar
    assert count_freedoms(4, {1: 2, 3: 2}) == 2  # spatial slider-crank with two ball joints: one is idle
    assert count_freedoms(1, {}) == 0


@pytest.mark.spec("002-A12", "002-A14")
def test_recursive_complement_annihilates_all_constraints_of_the_tree() -> None:
    def bead(name: str) -> Leaf:
        leaf = Leaf(name)
        x, y = leaf.add_coordinate("x"), leaf.add_coordinate("y")
        leaf.constrain(y - x**2, "wire")
        return leaf

    inner = Assembly("inner", [bead("a"), bead("b")])
    extra = inner.add_coordinate("gap")
    inner.constrain(inner["a.x"] - inner["b.x"] - extra, "gap")
    root = Assembly("root", [inner, bead("c")])
    root.constrain(root["inner.gap"] - root["c.y"], "tie")
    model = modular_model(root)
    assert model.S.shape == (7, 2)
    product = model.jacobian() @ model.S  # by labels: both have an order of their own
    assert np.abs(model.points.evaluate(product.entries, 0)).max() < ROUND
    for S in model.points.evaluate(model.S.entries, 0):
        assert np.linalg.matrix_rank(S) == 2
    node = model.node("inner")
    assert node.R.shape == (5, 3)
    assert node.B.shape == (1, 3)
    assert node.C.shape == (3, 2)
