"""The closed form at one state: named matrices, against sums over point masses and against the recursion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.mechanics.tree.algorithms import closed_form as algorithm
from tests.helpers.c_equations import check, needs_compiler
from tests.helpers.findings import raises
from tests.helpers.flexible_arms import Arm, tilde
from tests.helpers.joint_coordinates import random_state, random_tree

ROUNDING: dict[str, Any] = {"rtol": 0, "atol": 1e-12}  # of terms of order one to ten


def whole(form: da.tree.ClosedForm) -> tuple[Any, Any]:
    """M and bias of all speeds."""
    return np.block([[form.Mtt, form.Mtq], [form.Mtq.T, form.Mqq]]), np.concatenate((form.Ct, form.Cq))


def bent(arm: Arm, seed: int) -> tuple[da.EquationsOfMotion, da.State]:
    eqs = da.equations(arm.m, coordinates="joint")
    rng = np.random.default_rng(seed)
    return eqs, eqs.state(rng.normal(size=eqs.nq), rng.normal(size=eqs.nv))


@pytest.mark.spec("001-C17", "001-C18", "001-C24", "001-C28", "001-T9")
@pytest.mark.parametrize("payload", [False, True], ids=["bare", "loaded"])
@pytest.mark.parametrize("seed", range(2))
def test_mass_and_bias_are_sums_over_the_masses(seed: int, payload: bool) -> None:
    """Exponential rotations at any deformation; stencils of eighth order leave 1e-11."""
    arm = Arm(seed, payload=payload)
    eqs, state = bent(arm, seed)
    M, bias = whole(da.tree.closed_form(eqs, state, payload=arm.payload))
    mass, pushed = arm.dynamics(state.q, state.v)
    np.testing.assert_allclose(M, mass, rtol=0, atol=1e-8)
    np.testing.assert_allclose(bias, pushed, rtol=0, atol=1e-7)


def test_the_printed_coriolis_term_fails_the_sums_over_the_masses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equation (3.6) of the source has the factor 1 where the acceleration of a point on a moving frame has 2."""
    monkeypatch.setattr(algorithm, "CORIOLIS", 1.0)
    arm = Arm(0)
    eqs, state = bent(arm, 0)
    M, bias = whole(da.tree.closed_form(eqs, state))
    mass, pushed = arm.dynamics(state.q, state.v)
    np.testing.assert_allclose(M, mass, rtol=0, atol=1e-8)
    assert np.abs(bias - pushed).max() > 0.01


@pytest.fixture(scope="module")
def form() -> tuple[da.EquationsOfMotion, Any, da.tree.ClosedForm]:
    """A floating flexible base, hinges and a slide on a chain; no mode moves a node at a joint of its own body."""
    kinds, flips = ["free", "revolute", "universal", "prismatic"], [False, True, False, True]
    m = random_tree(kinds, flips, 11, modes=[2, 3, 0, 1], stiffening=True, clamped=True, chain=True)
    eqs = da.equations(m, coordinates="joint")
    state = random_state(eqs, 1)
    return eqs, state, da.tree.closed_form(eqs, state)


@pytest.mark.spec("001-C33b")
def test_matrices_have_the_sizes_of_the_table(form: Any) -> None:
    _, _, x = form
    N, n, M = 6 * len(x.bodies), len(x.joints), len(x.modes)
    assert (N, n, M) == (24, 10, 6)
    sizes = {
        (N, N): "PP PP_inverse IIvv M1", (N, n): "BBt", (N, M): "BBq IIvq", (N,): "VVp CCv", (n, n): "Mtt Htt",
        (n, M): "Mtq Htq", (M, M): "MMe Mqq Hqq Ke De", (n,): "Ct", (M,): "Cq CCf", (N, 6): "Pt", (6, M): "Btq",
    }  # fmt: skip
    for size, names in sizes.items():
        assert {getattr(x, name).shape for name in names.split()} == {size}, names
    assert x.joint_wrenches(np.zeros(n), np.zeros(M)).shape == (len(x.bodies), 6)


@pytest.mark.spec("001-C19", "001-C23", "001-T9")
def test_the_inverse_of_the_path_matrix_has_distances_as_its_entries(form: Any) -> None:
    _, _, x = form
    np.testing.assert_allclose(x.PP @ x.PP_inverse, np.eye(len(x.PP)), **ROUNDING)
    arm = Arm(4)
    eqs, state = bent(arm, 4)
    check_frames(da.tree.closed_form(eqs, state), arm, state.q, linear=False)


def check_frames(x: da.tree.ClosedForm, arm: Arm, q: Any, linear: bool) -> None:
    """Places of the links in PP⁻¹, their axes in B and in the inertia."""
    frames = arm.frames(q, linear=linear)
    for i, (A, r) in enumerate(frames[:-1]):
        rows = slice(6 * i, 6 * i + 6)
        np.testing.assert_allclose(x.BBt[rows, i], [*A @ arm.axes[i], 0, 0, 0], **ROUNDING)
        np.testing.assert_allclose(x.IIvv[rows, rows][3:, 3:], arm.links[i].masses.sum() * np.eye(3), **ROUNDING)
        for j in range(i + 1, len(arm.modes)):
            block = np.block([[np.eye(3), tilde(frames[j][1] - r)], [np.zeros((3, 3)), np.eye(3)]])
            np.testing.assert_allclose(x.PP_inverse[rows, 6 * j : 6 * j + 6], block, **ROUNDING)


@pytest.mark.spec("001-C20", "001-C21", "001-C22", "001-C25")
def test_global_equations_have_the_efforts_of_the_recursion(form: Any) -> None:
    """Accelerations of all frames, wrenches of all joints, then efforts, each by its own global equation."""
    eqs, state, x = form
    a = np.random.default_rng(3).normal(size=eqs.nv)
    theta, eta = a[: len(x.joints)], a[len(x.joints) :]
    VV = np.linalg.solve(x.PP.T, x.BBt @ theta + x.BBq @ eta + x.VVp)
    FF = np.linalg.solve(x.PP, x.IIvv @ VV + x.IIvq @ eta - x.CCv)
    q = np.array([state[name] for name in eqs.elastic])
    rates = state.v[len(x.joints) :]
    elastic = x.IIvq.T @ VV + x.MMe @ eta + x.De @ rates + x.Ke @ q - x.CCf + x.BBq.T @ FF
    tau = da.tree.inverse_dynamics(eqs, state, a)
    np.testing.assert_allclose(np.concatenate((x.BBt.T @ FF, elastic)), tau, rtol=0, atol=1e-11)
    np.testing.assert_allclose(x.joint_wrenches(theta, eta), FF.reshape(-1, 6), rtol=0, atol=1e-11)
    M, bias = whole(x)
    np.testing.assert_allclose(M, da.tree.mass_matrix(eqs, state), **ROUNDING)
    resisted = np.concatenate((np.zeros(len(theta)), x.Ke @ q + x.De @ rates))
    np.testing.assert_allclose(bias + resisted, da.tree.inverse_dynamics(eqs, state), rtol=0, atol=1e-11)
    M1 = x.PP_inverse @ x.IIvv @ x.PP_inverse.T
    M6 = x.IIvq.T @ x.PP_inverse.T
    np.testing.assert_allclose(x.M1, M1, **ROUNDING)
    np.testing.assert_allclose(x.Mtt, x.BBt.T @ M1 @ x.BBt, **ROUNDING)
    np.testing.assert_allclose(x.Mtq.T, M6 @ x.BBt + x.BBq.T @ M1 @ x.BBt, **ROUNDING)
    np.testing.assert_allclose(x.Mqq, x.MMe + x.BBq.T @ M1 @ x.BBq + M6 @ x.BBq + (M6 @ x.BBq).T, **ROUNDING)
    assert np.abs(M6 @ x.BBq - (M6 @ x.BBq).T).max() > 1e-3  # its two halves differ


@pytest.mark.spec("001-C27", "001-T9")
@pytest.mark.parametrize("tip", ["b1.n3", "b3", "b2"])
def test_a_wrench_at_the_tip_does_the_work_of_its_jacobian(form: Any, tip: str) -> None:
    eqs, state, _ = form
    x = da.tree.closed_form(eqs, state, tip=tip)
    J = da.tree.jacobian(eqs, state, tip)[[3, 4, 5, 0, 1, 2]]  # rows: turns, then velocities
    np.testing.assert_allclose(np.vstack(x.tip_efforts), J.T, **ROUNDING)


@pytest.mark.spec("001-C28")
def test_a_payload_is_added_to_the_matrices_of_the_bare_arm() -> None:
    """IIvv + Pt Iᵥᵥ Ptᵀ and so on, with mass and axes of the payload that (3.57) to (3.61) leave out."""
    arm = Arm(3, payload=True)
    eqs, state = bent(arm, 3)
    state = eqs.state(np.where(np.arange(eqs.nq) < 3, state.q, 0.0), state.v)  # the printed bias is that of no bending
    assert arm.payload is not None and arm.load is not None
    tip = str(arm.payload.place)
    x, loaded = da.tree.closed_form(eqs, state, tip=tip), da.tree.closed_form(eqs, state, payload=arm.payload)
    A = arm.frames(state.q)[-1][0]
    n = len(x.joints)
    VV = np.linalg.solve(x.PP.T, x.BBt @ state.v[:n] + x.BBq @ state.v[n:])  # twists obey the same sums
    w = VV[-6:-3]
    (turn, slide), s = (x.Btq @ state.v[n:]).reshape(2, 3), x.Pt[-6:-3, 3:]
    p = [s[2, 1], s[0, 2], s[1, 0]]  # s = p~
    wp = w + turn
    Vp = np.concatenate((np.cross(w, turn), np.cross(w, np.cross(w, p) + 2 * slide)))
    mass, places = arm.load
    Ip, C = np.zeros((6, 6)), np.zeros(6)
    for m, r in zip(mass, places @ A.T, strict=True):
        s = tilde(r)
        Ip += m * np.block([[s @ s.T, s], [s.T, np.eye(3)]])
        spun = np.cross(wp, np.cross(wp, r))
        C += m * np.concatenate((np.cross(r, spun), spun))
    pushed = Ip @ Vp + C
    hat = {"IIvv": x.IIvv + x.Pt @ Ip @ x.Pt.T, "IIvq": x.IIvq + x.Pt @ Ip @ x.Btq, "MMe": x.MMe + x.Btq.T @ Ip @ x.Btq,
           "CCv": x.CCv - x.Pt @ pushed, "CCf": x.CCf - x.Btq.T @ pushed}  # fmt: skip
    M1, M6 = x.PP_inverse @ hat["IIvv"] @ x.PP_inverse.T, hat["IIvq"].T @ x.PP_inverse.T
    M7 = M6 @ x.BBq
    rows = (M6 + x.BBq.T @ M1, x.PP_inverse @ hat["CCv"])
    exact = {"rtol": 0, "atol": 1e-11}
    np.testing.assert_allclose(loaded.Mtt, x.BBt.T @ M1 @ x.BBt, **exact)
    np.testing.assert_allclose(loaded.Mtq.T, rows[0] @ x.BBt, **exact)
    np.testing.assert_allclose(loaded.Mqq, hat["MMe"] + x.BBq.T @ M1 @ x.BBq + M7 + M7.T, **exact)
    np.testing.assert_allclose(loaded.Ct, x.BBt.T @ (M1 @ x.VVp - rows[1]), **exact)
    np.testing.assert_allclose(loaded.Cq, rows[0] @ x.VVp - x.BBq.T @ rows[1] - hat["CCf"], **exact)
    assert loaded.bodies == (*x.bodies, "payload")


@pytest.mark.spec("001-C24", "001-T9")
def test_the_slow_arm_is_the_schur_complement_of_the_inverse(form: Any) -> None:
    """Entries up to 2; the condition 3e3 of M loses four of sixteen digits."""
    _, _, x = form
    exact: dict[str, Any] = {"rtol": 0, "atol": 1e-12}
    reduced = np.linalg.solve(x.Hqq, x.Htq.T)
    np.testing.assert_allclose(np.linalg.inv(x.Mtt), x.Htt - x.Htq @ reduced, **exact)
    np.testing.assert_allclose(reduced, -x.Mtq.T @ np.linalg.inv(x.Mtt), **exact)


def test_linear_rotations_are_as_printed_and_differ_in_second_order() -> None:
    """1 + θ~ is no rotation: Mtt of deformations half as large differs by a fourth."""
    arm = Arm(5)
    eqs, state = bent(arm, 5)
    gaps = []
    for size in (0.02, 0.01):
        q = np.array(state.q)
        q[len(arm.modes) :] *= size
        forms = {kind: da.tree.closed_form(eqs, eqs.state(q, state.v), rotations=kind) for kind in algorithm.ROTATIONS}
        check_frames(forms["linear"], arm, q, linear=True)
        gaps.append(np.abs(forms["linear"].Mtt - forms["exponential"].Mtt).max())
    assert gaps[0] / gaps[1] == pytest.approx(4.0, rel=0.02)


@pytest.mark.slow
@needs_compiler
def test_equations_of_the_closed_form_are_the_same_in_c(tmp_path: Path) -> None:
    arm = Arm(6, (2, 2))
    arm.m.add_actuator("motor", joint="j0", input="torque")
    printed = check(da.export_c(da.equations(arm.m, coordinates="joint", form="closed"), tmp_path, name="arm"))
    assert float(printed.split()[-1]) <= 1e-12


def test_refusals_name_the_body_the_choice_and_the_way_around() -> None:
    m = random_tree(["revolute", "revolute"], [False, False], 2, modes=[2, 2])
    eqs = da.equations(m, coordinates="joint")
    with raises(da.errors.ModelError, "not-supported", "'b", "reference=", "form='recursive'"):
        da.tree.closed_form(eqs, eqs.state())
    with raises(da.errors.ModelError, "not-supported", "'b"):
        da.equations(m, coordinates="joint", form="closed")
    with raises(da.errors.ModelError, "conflicting-arguments", "form='closed'"):
        da.equations(m, coordinates="joint", rotations="linear")
    with raises(da.errors.ModelError, "conflicting-arguments", "coordinates='joint'"):
        da.equations(m, form="closed")
    with raises(da.errors.DalembertError, "unknown-choice", "exponential"):
        da.tree.closed_form(eqs, eqs.state(), rotations="quadratic")
    with raises(da.errors.DataError, "wrong-type"):
        da.tree.closed_form(eqs, [eqs.state()])  # type: ignore[arg-type]
    with raises(da.errors.ModelError, "wrong-type", "coordinates='joint'"):
        da.tree.closed_form(da.equations(m), da.equations(m).state())
