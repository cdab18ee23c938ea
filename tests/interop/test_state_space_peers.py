"""State-space functions against python-control, scipy.signal and SLICOT (through ctrlsys), to 1e-9."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.linalg
import scipy.signal

from dalembert.core.errors import DataError, MissingExtraError
from dalembert.linear import SecondOrder, StateSpace
from dalembert.linear.transforms import gramians as gramian_module
from dalembert.linear.transforms.interconnect import connect
from tests.helpers.checks import matched
from tests.helpers.findings import raises

# python-control sets the shape of arrays of its own, which NumPy 2.5 deprecates
pytestmark = pytest.mark.filterwarnings("ignore:Setting the shape on a NumPy array:DeprecationWarning")

control = pytest.importorskip("control")

TIGHT = {"rtol": 1e-9, "atol": 1e-11}


def plant(nu: int = 2) -> StateSpace:
    system = SecondOrder(
        np.diag([2.0, 3.0, 1.0]), [[50.0, -20.0, 0.0], [-20.0, 45.0, -25.0], [0.0, -25.0, 25.0]],
        C=[[0.7, -0.3, 0.0], [-0.3, 0.5, -0.2], [0.0, -0.2, 0.2]], B=np.eye(3)[:, [0, 2]][:, :nu],
        Y_position=np.eye(3)[[0, 2]][:nu], Y_acceleration=0.01 * np.eye(3)[[0, 2]][:nu],
        inputs=["push", "pull"][:nu], outputs=["base", "top"][:nu], coordinates=["q1", "q2", "q3"],
    )  # fmt: skip
    return system.state_space()


@pytest.fixture(params=[None, 0.05], ids=["continuous", "sampled"])
def system(request) -> StateSpace:
    return plant() if request.param is None else plant().to_discrete(request.param)


# Exchange


def test_a_system_goes_to_python_control_and_back_with_its_names(system):
    there = system.to_control()
    assert there.input_labels == ["push", "pull"]
    assert there.state_labels == list(system.states)
    back = StateSpace.from_control(there)
    for symbol in "ABCD":
        np.testing.assert_array_equal(getattr(back, symbol), getattr(system, symbol))
    assert (back.dt, back.states, back.inputs, back.outputs) == (
        system.dt, system.states, system.inputs, system.outputs,
    )  # fmt: skip


def test_a_transfer_function_of_python_control_becomes_a_state_space():
    space = StateSpace.from_control(control.tf([1.0, 3.0], [1.0, 2.0, 5.0]))
    np.testing.assert_allclose(space.poles(), [-1 - 2j, -1 + 2j], **TIGHT)
    np.testing.assert_allclose(space.zeros().values, [-3], **TIGHT)


@pytest.mark.parametrize(
    "make", [lambda: control.tf([1.0, 0.0, 0.0], [1.0, 1.0]), lambda: control.frd([1.0, 2.0], [1.0, 2.0])]
)
def test_what_has_no_state_space_is_refused_in_our_words(make):
    with raises(DataError, "not-proper"):
        StateSpace.from_control(make())
    with raises(DataError, "not-proper"):
        StateSpace.from_scipy(scipy.signal.lti([1.0, 0.0, 0.0], [1.0, 1.0]))


def test_a_gain_goes_to_python_control_and_back():
    back = StateSpace.from_control(StateSpace.gain([[1.0, 2.0]], outputs="sum").to_control())
    assert (back.nx, back.outputs) == (0, ("sum",))


def test_a_system_goes_to_scipy_and_back(system):
    there = system.to_scipy()
    assert isinstance(there, scipy.signal.lti if system.dt is None else scipy.signal.dlti)
    back = StateSpace.from_scipy(there, inputs=system.inputs, outputs=system.outputs, states=system.states)
    for symbol in "ABCD":
        np.testing.assert_array_equal(getattr(back, symbol), getattr(system, symbol))
    assert (back.dt, back.inputs) == (system.dt, system.inputs)


def test_scipy_transfer_functions_are_taken_too():
    space = StateSpace.from_scipy(scipy.signal.TransferFunction([1.0, 3.0], [1.0, 2.0, 5.0]))
    np.testing.assert_allclose(space.zeros().values, [-3], **TIGHT)


def test_what_is_no_linear_system_or_has_no_sample_time_is_refused():
    with raises(DataError, "wrong-type", "float"):
        StateSpace.from_control(3.0)
    with raises(DataError, "wrong-type", "float"):
        StateSpace.from_scipy(3.0)
    with raises(DataError, "missing-argument", "dt = True"):
        StateSpace.from_control(control.ss(0.5, 1, 1, 0, True))
    with raises(DataError, "missing-argument", "dt = True"):
        StateSpace.from_scipy(scipy.signal.dlti(0.5, 1.0, 1.0, 0.0))


def test_without_python_control_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "control", None)
    with raises(MissingExtraError, "missing-extra", "dalembert[control]"):
        plant().to_control()


# Figures


def test_poles_agree(system):
    np.testing.assert_allclose(
        matched(system.poles(), system.to_control().poles()), system.to_control().poles(), **TIGHT
    )
    single = plant(1) if system.dt is None else plant(1).to_discrete(system.dt)  # scipy.signal has poles of these only
    np.testing.assert_allclose(matched(single.poles(), single.to_scipy().poles), single.to_scipy().poles, **TIGHT)
    np.testing.assert_allclose(
        matched(single.zeros(), single.to_scipy().zeros), single.to_scipy().zeros, rtol=1e-9, atol=1e-9
    )


def test_damping_agrees(system):
    w, zeta, _ = control.damp(system.to_control(), doprint=False)
    np.testing.assert_allclose(system.poles().frequencies, np.sort(w), **TIGHT)
    np.testing.assert_allclose(np.sort(system.poles().damping_ratios), np.sort(zeta), **TIGHT)


def test_zeros_agree(system):
    np.testing.assert_allclose(
        matched(system.zeros(), system.to_control().zeros()), system.to_control().zeros(), rtol=1e-9, atol=1e-9
    )


def test_gramians_agree_for_a_continuous_system():
    # python-control solves with SLICOT; the equation itself is the judge where it is missing.
    A, B, C = plant().A, plant().B, plant().C
    Wc, Wo = control.lyap(A, B @ B.T), control.lyap(A.T, C.T @ C)
    np.testing.assert_allclose(plant().controllability_gramian(), Wc, rtol=1e-9, atol=1e-9 * np.abs(Wc).max())
    np.testing.assert_allclose(plant().observability_gramian(), Wo, rtol=1e-9, atol=1e-9 * np.abs(Wo).max())


def test_gramians_agree_for_a_sampled_system():
    space = plant().to_discrete(0.05)
    Wc = control.dlyap(space.A, space.B @ space.B.T)
    np.testing.assert_allclose(space.controllability_gramian(), Wc, rtol=1e-9, atol=1e-9 * np.abs(Wc).max())


@pytest.mark.parametrize("method", ["zoh", "foh", "tustin"])
def test_sampling_agrees(method):
    ours = plant().to_discrete(0.05, method)
    theirs = control.c2d(plant().to_control(), 0.05, {"tustin": "bilinear"}.get(method, method))
    scipys = plant().to_scipy().to_discrete(0.05, method={"tustin": "bilinear"}.get(method, method))
    for symbol in "ABCD":
        np.testing.assert_allclose(getattr(ours, symbol), getattr(theirs, symbol), **TIGHT)
        np.testing.assert_allclose(getattr(ours, symbol), getattr(scipys, symbol), **TIGHT)


def test_prewarped_sampling_agrees():
    ours = plant().to_discrete(0.05, "tustin", prewarp=9.0)
    theirs = control.c2d(plant().to_control(), 0.05, "tustin", prewarp_frequency=9.0)
    np.testing.assert_allclose(ours.A, theirs.A, **TIGHT)
    np.testing.assert_allclose(ours.markov(9), _markov(theirs, 9), **TIGHT)


def _markov(other, count: int) -> np.ndarray:
    powers = [other.C @ np.linalg.matrix_power(other.A, k) @ other.B for k in range(count - 1)]
    return np.array([other.D, *powers])


def test_norms_agree(system):
    strict = system if system.dt else system.replace(D=np.zeros((2, 2)))
    assert strict.h2_norm() == pytest.approx(control.norm(strict.to_control(), 2), rel=1e-9)
    # python-control stops its bisection at tol, on either side of the norm.
    theirs = control.norm(system.to_control(), "inf", tol=1e-11)
    assert system.hinf_norm().gain == pytest.approx(theirs, rel=1e-9)


def test_feedback_series_and_parallel_agree(system):
    other = StateSpace([[-3.0 if system.dt is None else 0.4]], [[1.0, 0.5]], [[1.0], [2.0]], None, system.dt)
    pairs = [
        (system.feedback(other), control.feedback(system.to_control(), other.to_control())),
        (system.feedback(other, sign=1), control.feedback(system.to_control(), other.to_control(), 1)),
        (system.series(other), control.series(system.to_control(), other.to_control())),
        (system * other, system.to_control() * other.to_control()),
        (system + other, control.parallel(system.to_control(), other.to_control())),
    ]
    omega = np.array([0.1, 1.0, 4.0, 7.5, 20.0])
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours.to_control()(1j * omega), theirs(1j * omega), **TIGHT)
        np.testing.assert_allclose(matched(ours.poles(), theirs.poles()), theirs.poles(), rtol=1e-9, atol=1e-9)


def test_connection_by_names_agrees_with_interconnect():
    space = plant(1)
    # No direct term in the law: python-control refuses every direct loop, also one that has a solution.
    law = StateSpace([[-8.0]], 1.0, 2.0, inputs="error", outputs="push")
    error = StateSpace.gain([[1, -1]], inputs=["wanted", "base"], outputs="error")
    ours = connect([space, law, error], outputs="base")
    theirs = control.interconnect(
        [space.to_control(), law.to_control(), control.summing_junction(["wanted", "-base"], "error")],
        inputs="wanted", outputs="base",
    )  # fmt: skip
    s = 1j * np.array([0.1, 3.0, 10.0])
    np.testing.assert_allclose(ours.to_control()(s), theirs(s), **TIGHT)


def test_step_and_impulse_responses_agree(system):
    times = np.arange(200) * (system.dt or 0.05)
    ours = system.step_response(times, input="push")
    theirs = control.step_response(system.to_control(), times).outputs[:, 0]
    np.testing.assert_allclose([ours["base"], ours["top"]], theirs, rtol=1e-9, atol=1e-10)
    if system.dt is None:
        strict = system.replace(D=np.zeros((2, 2)))  # an impulse through D is no number
        blow = strict.impulse_response(times, input="push")
        theirs = control.impulse_response(strict.to_control(), times).outputs[:, 0]
        np.testing.assert_allclose([blow["base"], blow["top"]], theirs, rtol=1e-9, atol=1e-10)


def test_frequency_responses_agree(system):
    omega = np.logspace(-1, 1.7, 40)
    theirs = system.to_control().frequency_response(omega).complex
    np.testing.assert_allclose(np.moveaxis(system.frequency_response(omega).values, 0, 2), theirs, **TIGHT)
    if system.dt is None:
        # scipy.signal goes through polynomials: fine here, but good to 5e-8 only for the sampled system.
        single = system.select(inputs="push", outputs="base")
        _, scipys = scipy.signal.freqresp(single.to_scipy(), omega)
        np.testing.assert_allclose(single.frequency_response(omega).values[:, 0, 0], scipys, **TIGHT)


def test_steady_gains_agree(system):
    np.testing.assert_allclose(system.dc_gain(), system.to_control().dcgain(), **TIGHT)


# SLICOT


def fortran(*matrices: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple(np.array(matrix, order="F") for matrix in matrices)


def test_balanced_truncation_agrees_with_slicot(system):
    ctrlsys = pytest.importorskip("ctrlsys")
    A, B, C = fortran(system.A, system.B, system.C)
    kind = "C" if system.dt is None else "D"
    ar, br, cr, sigma, order, _, info = ctrlsys.ab09ad(kind, "B", "N", "F", 6, 2, 2, 4, A, B, C, 0.0)
    assert (info, order) == (0, 4)
    ours = system.balanced_truncation(4)
    np.testing.assert_allclose(ours.hankel_values, sigma, rtol=1e-9)
    theirs = StateSpace(ar[:4, :4], br[:4], cr[:, :4], system.D, system.dt)
    np.testing.assert_allclose(matched(ours.system.poles(), theirs.poles()), theirs.poles(), rtol=1e-9, atol=1e-9)
    assert (ours.system - theirs).hinf_norm().gain < 1e-9 * ours.system.hinf_norm().gain


def test_the_h_infinity_norm_agrees_with_slicot(system):
    ctrlsys = pytest.importorskip("ctrlsys")
    A, B, C, D = fortran(system.A, system.B, system.C, system.D)
    peak, at, info = ctrlsys.ab13dd("C" if system.dt is None else "D", "I", "N", "D", 6, 2, 2, np.array([0.0, 1.0]),
                                    A, np.eye(6, order="F"), B, C, D, 1e-11)  # fmt: skip
    assert info == 0
    ours = system.hinf_norm()
    assert ours.gain == pytest.approx(peak[0] / peak[1], rel=1e-9)
    assert ours.frequency == pytest.approx(at[0] / at[1] / (system.dt or 1.0), rel=1e-5)


def benchmark(name: str) -> StateSpace:
    data = scipy.io.loadmat(Path(__file__).parents[1] / "data" / "slicot" / f"{name}.mat", spmatrix=False)
    return StateSpace(*(data[key].toarray() if hasattr(data[key], "toarray") else data[key] for key in "ABC"))


@pytest.mark.parametrize("name", ["build", "CDplayer"])
def test_zeros_agree_with_slicot(name):
    ctrlsys = pytest.importorskip("ctrlsys")
    space = benchmark(name)
    count, *_, Af, Bf, info = ctrlsys.ab08nd(
        "S", space.nx, space.nu, space.ny, *fortran(space.A, space.B, space.C, space.D)
    )
    assert info == 0
    theirs = scipy.linalg.eigvals(Af[:count, :count], Bf[:count, :count])
    ours = space.zeros().values
    assert len(ours) == count
    gap = np.abs(ours[:, None] - theirs[None, :])
    assert max(gap.min(axis=0).max(), gap.min(axis=1).max()) < 1e-9 * np.abs(ours).max()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "order"), [("build", 10), ("CDplayer", 12), ("iss1R", 26), ("beam", 14)])
def test_reduced_benchmarks_agree_with_slicot(name, order):
    ctrlsys = pytest.importorskip("ctrlsys")
    full = benchmark(name)
    n, m, p = full.nx, full.nu, full.ny
    ar, br, cr, sigma, _, _, info = ctrlsys.ab09ad(
        "C", "B", "N", "F", n, m, p, order, *fortran(full.A, full.B, full.C), 0.0
    )
    assert info == 0
    ours = full.balanced_truncation(order)
    np.testing.assert_allclose(ours.hankel_values, sigma, rtol=0, atol=1e-9 * sigma[0])
    gap = full - StateSpace(ar[:order, :order], br[:order], cr[:, :order])
    peak, _, info = ctrlsys.ab13dd("C", "I", "S", "D", gap.nx, m, p, np.array([0.0, 1.0]),
                                   *fortran(gap.A, np.eye(gap.nx), gap.B, gap.C, gap.D), 1e-10)  # fmt: skip
    assert info == 0
    assert ours.error.gain == pytest.approx(peak[0] / peak[1], rel=1e-9)


def test_the_factor_of_a_gramian_is_positive_semidefinite_where_a_plain_solver_is_not():
    rng = np.random.default_rng(1)
    A = -np.diag(np.logspace(0, 4, 12)) + np.triu(rng.normal(size=(12, 12)), 1)
    B = np.ones((12, 1))
    L = gramian_module.factor(A, B, None)
    P = control.lyap(A, B @ B.T)
    np.testing.assert_allclose(L @ L.T, P, rtol=0, atol=1e-12 * np.abs(P).max())
    assert np.linalg.svd(L, compute_uv=False)[-1] > 0.0
