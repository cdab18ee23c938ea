"""Slow and fast models against the expansion by the inverse of M, closed forms and the whole machine."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.equations import equations_from_expressions
from tests.helpers.c_equations import check, needs_compiler
from tests.helpers.findings import raises
from tests.helpers.joint_coordinates import clamped_points
from tests.helpers.stiff_machines import elastic_joint, flexible_arm

BENDS = ["bend0", "bend1", "bend2", "bend3"]
TORQUES = {"torque1": 1.0, "torque2": 0.3, "torque1.rate": 2.0, "torque2.rate": -1.0, "torque1.rate.rate": 5.0}
HANGING = {"first.angle": -np.pi / 2, "second.angle": 0.0}
SX = ca.SX


@pytest.fixture(scope="module")
def arm() -> da.EquationsOfMotion:
    return flexible_arm()


@pytest.fixture(scope="module")
def two(arm: da.EquationsOfMotion) -> Any:
    return da.separate_scales(arm, BENDS)


def moving(eqs: da.EquationsOfMotion) -> Any:
    return eqs.state(q=[0.3, 0.7, 0, 0, 0, 0], v=[1.0, -0.5, 0, 0, 0, 0])


def by_inverse(eqs: da.EquationsOfMotion, K: Any) -> ca.Function:
    """(q_s, v_s, u, u̇, ü) -> h1_0, its two derivatives, ε² h1_2, slow accelerations to order 2; with H = M⁻¹.

    The printed form of the expansion: dH = -H dM H, terms of C along K⁻¹ h1_0 and K⁻¹ ḣ1_0, damping left out.
    """
    q, v, z = SX.sym("q", 6), SX.sym("v", 6), SX(0, 1)
    u, du, ddu = (SX.sym(name, 2) for name in ("u", "du", "ddu"))
    t, f = [0, 1], [2, 3, 4, 5]
    M, p = eqs.functions["inertia"](q, eqs.p, 0), eqs.p
    C = -eqs.functions["forces"](q, v, z, SX.zeros(2), p, 0, SX(0, 1)) - ca.vertcat(SX.zeros(2), ca.DM(K) @ q[f])

    def rest(x: Any) -> Any:
        return ca.substitute(x, ca.vertcat(q[f], v[f]), SX.zeros(8))

    H, Ct, Cq = ca.inv(rest(M)), rest(C[t]), rest(C[f])
    h0 = ca.solve(H[f, f], H[f, t] @ (u - Ct)) - Cq
    rigid = ca.solve(rest(M)[t, t], u - Ct)

    def rate(x: Any) -> Any:
        return ca.jtimes(x, ca.vertcat(q[t], v[t], u, du), ca.vertcat(v[t], rigid, du, ddu))

    dh0 = rate(h0)
    ddh0 = rate(dh0)
    d, e = ca.solve(ca.DM(K), h0), ca.solve(ca.DM(K), dh0)
    dM = rest(ca.jtimes(M, q, ca.vertcat(SX.zeros(2), d)))
    dC = rest(ca.jtimes(C, ca.vertcat(q, v), ca.vertcat(SX.zeros(2), d, SX.zeros(2), e)))
    dH = -H @ dM @ H
    right = -H[f, t] @ dC[t] - dH[f, t] @ (Ct - u) - dH[f, f] @ (Cq + h0) - ca.solve(ca.DM(K), ddh0)
    h2 = ca.solve(H[f, f], right) - dC[f]
    a = -H[t, t] @ (Ct - u) - H[t, f] @ (Cq + h0 + h2) - H[t, t] @ dC[t] - dH[t, t] @ (Ct - u)
    a = a - H[t, f] @ dC[f] - dH[t, f] @ (Cq + h0)
    return ca.Function("inverse", [q[t], v[t], u, du, ddu], [h0, dh0, ddh0, h2, a])


@pytest.mark.spec("001-C35", "001-C36", "001-C39", "001-C40", "001-C43")
def test_the_expansion_is_that_by_the_inverse_of_the_whole_mass_matrix(two: Any, arm: da.EquationsOfMotion) -> None:
    """Both are exact; condition numbers below 1e4 leave 1e-11 of the largest entry."""
    K = two.split.matrices(arm.p)[0]
    h0, dh0, _, h2, a = (
        np.array(part).ravel()
        for part in by_inverse(arm, K)([0.3, 0.7], [1.0, -0.5], [1.0, 0.3], [2.0, -1.0], [5.0, 0])
    )
    at = two.manifold(moving(arm), TORQUES)
    np.testing.assert_allclose(at.h1[0], h0, atol=1e-11 * abs(h0).max())
    np.testing.assert_allclose(at.h2[1], dh0, atol=1e-11 * abs(dh0).max())
    np.testing.assert_allclose(at.h1[2] * two.epsilon**2, h2, atol=1e-11 * abs(h2).max())
    np.testing.assert_array_equal(at.h1[1], 0.0)
    slow = two.slow
    state = slow.state(q=[0.3, 0.7], v=[1.0, -0.5])
    run = da.forward_dynamics(slow, state, inputs=TORQUES)
    found = [run["first.angle.rate"], run["second.angle.rate"]]
    np.testing.assert_allclose(found, a, atol=1e-11 * abs(a).max())


@pytest.mark.spec("001-C36")
def test_at_order_zero_the_slow_model_is_the_rigid_machine(arm: da.EquationsOfMotion) -> None:
    rigid = flexible_arm(stiffness=1e12)  # its deflections are 1e-12 of those of the arm
    two = da.separate_scales(arm, BENDS, order=0)
    M = arm.kernel("inertia")([0.3, 0.7, 0, 0, 0, 0], arm.p, 0.0)[0][:2, :2]
    F = arm.kernel("forces")([0.3, 0.7, 0, 0, 0, 0], [1, -0.5, 0, 0, 0, 0], [], [1.0, 0.3], arm.p, 0.0, [])[0][:2]
    state = two.slow.state(q=[0.3, 0.7], v=[1.0, -0.5])
    found = da.forward_dynamics(two.slow, state, inputs={"torque1": 1.0, "torque2": 0.3})
    expected = np.linalg.solve(M, F)
    assert found["first.angle.rate"] == pytest.approx(expected[0], rel=1e-12)
    stiff = da.separate_scales(rigid, BENDS).slow
    near = da.forward_dynamics(stiff, stiff.state(q=[0.3, 0.7], v=[1.0, -0.5]), inputs={"torque1": 1.0, "torque2": 0.3})
    assert near["first.angle.rate"] == pytest.approx(expected[0], rel=1e-9)


@pytest.mark.spec("001-C38", "001-C39", "001-T9")
@pytest.mark.parametrize(("order", "power"), [(0, 2), (2, 4)])
def test_the_residual_of_the_manifold_falls_with_a_power_of_epsilon(
    arm: da.EquationsOfMotion, order: int, power: int
) -> None:
    """Stiffness times 4 halves epsilon; 3 % for the next terms at these values."""
    sizes = []
    for factor in (400.0, 1600.0, 6400.0):
        two = da.separate_scales(arm.replace(stiffness=factor), BENDS, order=order)
        sizes.append(np.linalg.norm(two.residual(moving(two.eqs), {"torque1": 1.0, "torque2": 0.3})))
    np.testing.assert_allclose(np.divide(sizes[:-1], sizes[1:]), 2.0**power, rtol=0.03)


@pytest.mark.spec("001-C39")
@pytest.mark.parametrize("damping", [0.0, 3.0])
def test_an_elastic_joint_under_a_harmonic_torque_has_its_manifold_by_order(damping: float) -> None:
    """δ = -(J_l/J) u / (k - μ ω² + i d ω), by powers of ε with d of order 1/ε and k of order 1/ε²."""
    omega, k, mu, gain = 3.0, 400.0, 1.0 / 3.0, -1.0 / 3.0
    two = da.separate_scales(elastic_joint(damping=damping), "twist")
    t = 0.4
    u = {"torque": np.cos(omega * t), "torque.rate": -omega * np.sin(omega * t)}
    at = two.manifold(None, {**u, "torque.rate.rate": -(omega**2) * u["torque"]})
    eps = two.epsilon
    assert eps == pytest.approx(np.sqrt(0.5 / k), rel=1e-12)
    assert at.h1[0] == pytest.approx(gain * u["torque"], rel=1e-10)
    assert eps * at.h1[1] == pytest.approx(-damping / k * gain * u["torque.rate"], rel=1e-10)
    second = (mu * omega**2 / k - (damping * omega / k) ** 2) * gain * u["torque"]
    assert eps**2 * at.h1[2] == pytest.approx(second, rel=1e-10)
    assert at.h2[1] == pytest.approx(gain * u["torque.rate"], rel=1e-10)


def test_other_fast_coordinates_give_the_same_slow_model(two: Any, arm: da.EquationsOfMotion) -> None:
    """A full stiffness: x = T y. Slow accelerations and the strain energy of the deflection do not change."""
    T = np.array([[1.0, 0.3, 0, 0.2], [0, 1, -0.4, 0], [0.1, 0, 1, 0], [0, 0.2, 0.3, 1]])
    other = da.separate_scales(flexible_arm(coupled=T), BENDS)
    a, b = two.manifold(moving(arm), TORQUES), other.manifold(moving(other.eqs), TORQUES)
    np.testing.assert_allclose(T @ b.deflections, a.deflections, atol=1e-11 * abs(a.deflections).max())
    runs = [
        da.forward_dynamics(s, s.state(q=[0.3, 0.7], v=[1.0, -0.5]), inputs=TORQUES) for s in (two.slow, other.slow)
    ]
    assert runs[1]["second.angle.rate"] == pytest.approx(runs[0]["second.angle.rate"], rel=1e-10)


@pytest.mark.spec("001-C37", "001-C44", "001-T9")
def test_fast_eigenvalues_are_those_of_the_whole_machine_with_free_joints() -> None:
    """Without gravity the fast model of order 0 is exact at rest: the nonzero frequencies, to 1e-8."""
    eqs = flexible_arm(gravity=0.0)
    two = da.separate_scales(eqs, BENDS, order=0)
    at = eqs.state(q=[0.4, -0.9, 0, 0, 0, 0])
    poles = np.sort(np.abs(np.linalg.eigvals(two.fast(at).A)))[::2]
    lin = da.linearize(eqs, at=at)
    assert isinstance(lin, da.SecondOrder)
    full = np.sort(np.sqrt(np.abs(np.linalg.eigvals(np.linalg.solve(lin.M, lin.K)))))[2:]
    np.testing.assert_allclose(poles, full, rtol=1e-8)
    scaled = two.fast(at, scaled=True)
    np.testing.assert_allclose(np.sort(np.abs(np.linalg.eigvals(scaled.A)))[::2] / two.epsilon, full, rtol=1e-8)
    turned = two.fast([at, eqs.state(q=[2.0, -0.9, 0, 0, 0, 0])])  # the base angle does not matter
    np.testing.assert_allclose(turned[1].A, turned[0].A, atol=1e-8 * np.abs(turned[0].A).max())
    np.testing.assert_allclose(turned[1].B, turned[0].B, atol=1e-8 * np.abs(turned[0].B).max())


def fast_error(eqs: da.EquationsOfMotion, order: int) -> float:
    """Largest relative error of the fast frequencies at rest under gravity, against the whole linear model."""
    two = da.separate_scales(eqs, BENDS, order=order)
    q = np.array([0.4, -0.9, 0, 0, 0, 0])
    M, K = eqs.functions["inertia"], two.split.matrices(eqs.p)[0]
    x, u = np.zeros(4), np.zeros(2)
    forces = eqs.kernel("forces")
    for _ in range(40):  # the deflection at rest and the torques that hold it
        q[2:] = x
        (F,) = forces(q, np.zeros(6), [], u, eqs.p, 0.0, [])
        u, x = u - F[:2], x + np.linalg.solve(K, F[2:])
    s = eqs.symbols()
    J = ca.Function("J", [s.q], [ca.jacobian(eqs.functions["forces"](s.q, np.zeros(6), [], u, eqs.p, 0, []), s.q)])
    values = np.linalg.eigvals(-np.linalg.solve(np.array(M(q, eqs.p, 0)), np.array(J(q))))
    full = np.sort(np.sqrt(np.abs(values)))[2:]
    poles = np.sort(np.abs(np.linalg.eigvals(two.fast(eqs.state(q=q)).A)))[::2]
    return float(np.abs(poles / full - 1).max())


@pytest.mark.spec("001-C44")
@pytest.mark.parametrize(("order", "power"), [(0, 2), (2, 4)])
def test_the_fast_model_under_load_is_exact_to_its_order(arm: da.EquationsOfMotion, order: int, power: int) -> None:
    errors = [fast_error(arm.replace(stiffness=factor), order) for factor in (100.0, 400.0, 1600.0)]
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 2.0**power, rtol=0.1)


@pytest.mark.spec("001-C46")
def test_slow_and_fast_motion_together_follow_the_whole_machine() -> None:
    """An elastic joint is linear: deviations from the manifold are those of the whole machine, exactly, at order 2
    but for terms of ε⁴ of the torque."""
    eqs = elastic_joint(stiffness=4000.0, damping=0.5)
    both = da.equations(da.separate_scales(eqs, "twist"))
    torque = lambda t: da.sin(2 * t)  # noqa: E731
    inputs = {
        "torque": torque,
        "torque.rate": lambda t: 2 * da.cos(2 * t),
        "torque.rate.rate": lambda t: -4 * da.sin(2 * t),
    }
    start = both.state(q=[0.0, 1e-3])
    run = da.simulate(both, 0.5, start=start, inputs=inputs, every=0.01)
    # the fast motion shakes the motor by -J_l η / J
    at = {"q": [-1e-3 / 3, run["twist"][0]], "v": [0.0, run["twist.rate"][0]]}
    whole = da.simulate(eqs, 0.5, start=eqs.state(**at), inputs={"torque": torque}, every=0.01)
    np.testing.assert_allclose(run["twist"], whole["twist"], atol=2e-7)
    np.testing.assert_allclose(run["angle"] - run["twist.fast"] / 3, whole["angle"], atol=2e-5)


@pytest.mark.spec("001-C46")
def test_a_filter_takes_slow_and_fast_models_together() -> None:
    """From angle and deflection of a joint that vibrates by 1e-3 rad, of which the filter does not know."""
    both = da.equations(da.separate_scales(elastic_joint(stiffness=4000.0, damping=0.5), "twist"))
    torque = {"torque": lambda t: da.sin(2 * t)}
    run = da.simulate(both, 0.2, start=both.state(q=[0.0, 1e-3]), inputs=torque, every=2e-3)
    found = da.estimate.ExtendedKalman(both, outputs=["angle", "twist"], Q=1e-8, R=1e-10).run(run)
    late = np.abs(found["twist.fast"] - run["twist.fast"])[50:]
    assert late.max() < 1e-6  # a thousandth of what it did not know


@pytest.mark.slow
@pytest.mark.spec("001-C46")
def test_an_arm_that_begins_to_fall_and_vibrate_follows_the_whole_machine_better_at_order_two() -> None:
    """Ten times ε: without the shaken joints in the forces the error at order 2 would be above that at order 0."""
    eqs = flexible_arm(stiffness=100.0)
    pose, eta = np.array([-1.2, 0.4]), 1e-4 * np.array([1, 0, 0.2, 0])
    M = eqs.kernel("inertia")([*pose, 0, 0, 0, 0], eqs.p, 0.0)[0]
    shaken = pose - np.linalg.solve(M[:2, :2], M[:2, 2:] @ eta)
    errors = []
    for order in (0, 2):
        two = da.separate_scales(eqs, BENDS, order=order)
        both, until = da.equations(two), 10 * two.epsilon
        how: Any = {
            "until": until,
            "every": until / 50,
            "inputs": {"torque1": 0.5},
            "method": da.DormandPrince(rtol=1e-9),
        }
        run = da.simulate(both, start=both.state(q=[*pose, *eta]), **how)
        first = [[run[name + end][0] for name in BENDS] for end in ("", ".rate")]
        whole = da.simulate(eqs, start=eqs.state(q=[*shaken, *first[0]], v=[0, 0, *first[1]]), **how)
        errors.append(max(np.abs(run[name] - whole[name]).max() / eta[0] for name in BENDS))
    assert errors[0] < 0.02 and errors[1] < errors[0] / 50


@pytest.mark.spec("001-C46")
@pytest.mark.parametrize("order", [0, 2])
def test_the_linear_model_of_both_has_the_slow_and_the_fast_poles(arm: da.EquationsOfMotion, order: int) -> None:
    """Fast motion does not act back: the matrix is block triangular, its poles are those of the two models."""
    two = da.separate_scales(arm, BENDS, order=order)
    slow, both = (
        da.linearize(one, at=da.assemble(one, HANGING)).state_space() for one in (two.slow, da.equations(two))
    )
    parts = np.concatenate([np.linalg.eigvals(one.A) for one in (slow, two.fast(da.assemble(two.slow, HANGING)))])
    np.testing.assert_allclose(np.sort(np.abs(np.linalg.eigvals(both.A))), np.sort(np.abs(parts)), rtol=1e-7)


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("together", [False, True])
def test_slow_and_fast_models_of_order_two_are_the_same_in_c(together: bool, tmp_path: Path) -> None:
    two = da.separate_scales(da.equations(da.read_model("tudor"), coordinates="joint"))
    printed = check(da.export_c(da.equations(two) if together else two.slow, tmp_path, name="tudor"))
    assert float(printed.split()[-1]) <= 1e-12


@pytest.mark.spec("001-C45")
def test_measured_inputs_are_differentiated_by_filters(two: Any) -> None:
    """Far below 30 Hz the filters lag by 1/ω_c and √2/ω_c: sin t has derivatives to 2 %."""
    time = np.arange(0, 8, 2e-3)
    record = da.Record(time, np.column_stack([np.sin(time), 0 * time]), ["torque1", "torque2"], ["N m", "N m"])
    rates = two.input_rates(record)
    late = time > 1
    wc = 2 * np.pi * 30
    np.testing.assert_allclose(rates["torque1.rate"][late], np.cos(time[late] - 1 / wc), atol=1e-4)
    np.testing.assert_allclose(rates["torque1.rate.rate"][late], -np.sin(time[late] - np.sqrt(2) / wc), atol=1e-4)
    assert set(two.slow.inputs.names) == set(rates.names)


def swing(two: Any, omega: float) -> da.Record:
    """A motion of both joints with the torques it needs."""
    motion = {name: lambda t: 0.3 * da.cos(omega * t) for name in ("first.angle", "second.angle")}
    record = two.feed_forward(motion, times=np.linspace(0, 2 * np.pi / omega, 201))
    return two.input_rates(record, cutoff_hz=30 * omega)  # type: ignore[no-any-return]


def test_validity_warns_of_a_fast_motion_and_not_of_a_slow_one(arm: da.EquationsOfMotion) -> None:
    two = da.separate_scales(arm.replace(stiffness=30.0), BENDS)
    assert two.validity(swing(two, 1.0)) == ()
    findings = two.validity(swing(two, 800.0))
    assert {finding.code for finding in findings} == {"out-of-range"}
    assert any(finding.evidence.get("share", 0) > 0.1 for finding in findings)
    assert any(finding.evidence.get("ratio", 9) < 3 for finding in findings)


def test_validity_warns_where_epsilon_is_not_small(arm: da.EquationsOfMotion) -> None:
    """Errors of order 0 of a soft arm fall by less than 3 when ε is halved, those of a stiff one by 4: no finding."""
    falls = []
    for factor in (0.05, 400.0):
        two = da.separate_scales(arm.replace(stiffness=factor), BENDS)
        state = two.slow.state(q=[0.3, 0.7], v=[1.0, -0.5])
        run = da.simulate(two.slow, 1e-3, start=state, inputs={"torque1": 1.0, "torque2": 0.3}, every=1e-3)
        falls.append([finding.evidence["fall"] for finding in two.validity(run) if "fall" in finding.evidence])
    assert len(falls[0]) == 1 and falls[0][0] < 3 and falls[1] == []


def test_damping_is_no_sign_of_an_epsilon_that_is_not_small() -> None:
    """A joint with 2 % damping whose motion is 17 times slower than its vibration: the series converges at once."""
    two = da.separate_scales(elastic_joint(damping=2 * 0.02 * np.sqrt(400.0 / 3.0)), "twist")
    times = np.linspace(0.0, np.pi, 201)
    motion = two.feed_forward({"angle": lambda t: 0.3 * da.cos(2.0 * t)}, times=times)
    run = two.input_rates(motion, cutoff_hz=60.0)
    assert two.validity(run) == ()


@pytest.mark.spec("001-C35")
def test_epsilon_is_one_over_the_lowest_frequency_of_modes_of_any_size() -> None:
    """Modes without unit mass: point masses on shapes at random."""
    points = clamped_points(3, 2)
    data = points.move_frame(points.places[0]).data()
    assert np.abs(data.modal_mass - np.eye(2)).max() > 0.1
    m = da.Mechanism("hinge", gravity=(0, 0, 0))
    m.add_revolute("hinge", m.ground.at(0, 0, 0), m.add_flexible_body("body", data).at("n0"))
    two = da.separate_scales(da.equations(m, coordinates="joint"))
    assert two.epsilon == pytest.approx(1 / data.frequencies[0], rel=1e-12)


def test_bad_input_is_named_with_its_remedy(arm: da.EquationsOfMotion) -> None:
    x, y, a, b = (SX.sym(name) for name in ("x", "y", "x.rate", "y.rate"))
    tied = equations_from_expressions("tied", q=[x, y], v=[a, b], M=SX.eye(2), f=ca.vertcat(-x, -y), phi={"tie": x - y})
    with raises(da.errors.ModelError, "no-modes"):
        da.separate_scales(arm)
    with raises(da.errors.ModelError, "unknown-name"):
        da.separate_scales(arm, "bend9")
    with raises(da.errors.ModelError, "unknown-choice"):
        da.separate_scales(arm, BENDS, order=1)
    with raises(da.errors.ModelError, "not-held") as soft:
        da.separate_scales(arm, ["second.angle", *BENDS])
    assert soft.value.where["coordinate"] == "second.angle"
    with raises(da.errors.ModelError, "dependent-coordinates"):
        da.separate_scales(tied, "y")
    with raises(da.errors.ModelError, "unstable"):
        da.separate_scales(elastic_joint(damping=-0.1), "twist")


def test_scales_that_overlap_are_refused_with_both_frequencies() -> None:
    """Two springs in a row whose frequencies are 10 and 20 rad/s."""
    x, y, a, b = (SX.sym(name) for name in ("x", "y", "x.rate", "y.rate"))
    eqs = equations_from_expressions("pair", q=[x, y], v=[a, b], M=SX.eye(2), f=ca.vertcat(-100 * x, -400 * y))
    with raises(da.errors.ModelError, "out-of-range") as refused:
        da.separate_scales(eqs, "y")
    assert refused.value.finding.evidence == pytest.approx({"slow": 10.0, "fast": 20.0, "ratio": 2.0})


@pytest.mark.spec("001-C44")
def test_a_fast_mode_that_no_torque_reaches_is_reported_with_its_pbh_value() -> None:
    angle, twist, side, *rates = (SX.sym(name) for name in ("angle", "twist", "side", "w", "dt", "ds"))
    u = SX.sym("torque")
    M = SX([[1.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1.0]])
    eqs = equations_from_expressions(
        "joint", q=[angle, twist, side], v=rates, u=[u], M=M, f=ca.vertcat(u, -400 * twist, -900 * side)
    )
    two = da.separate_scales(eqs, ["twist", "side"])
    with pytest.warns(da.errors.ModelWarning) as caught:
        two.fast()
    finding = caught[0].message.finding  # type: ignore[union-attr]
    assert (finding.code, finding.where["coordinate"]) == ("not-reachable", "side")
    assert finding.evidence["value"] < 1e-9 and finding.evidence["frequency_hz"] == pytest.approx(30 / (2 * np.pi))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        da.separate_scales(elastic_joint(), "twist").fast()
