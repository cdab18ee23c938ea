"""Responses against python-control and SciPy on the same systems (agreement to 1e-9 of the largest value)."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal

from dalembert.linear import SecondOrder, frequency_response, impulse_response, response, root_locus, step_response
from tests.helpers.checks import matched

# python-control sets the shape of arrays of its own, which NumPy 2.5 deprecates
pytestmark = pytest.mark.filterwarnings("ignore:Setting the shape on a NumPy array:DeprecationWarning")

control = pytest.importorskip("control")


def system() -> SecondOrder:
    K = np.array([[4.0, -1.0, 0.0], [-1.0, 3.0, -1.0], [0.0, -1.0, 2.0]])
    return SecondOrder(
        np.diag([1.0, 2.0, 0.5]), K, C=0.05 * K + 0.1 * np.diag([1.0, 0.0, 0.0]), B=np.eye(3)[:, :2],
        Y_position=np.eye(3)[[2]], Y_velocity=[[0.0, 1.0, 0.0]], D=[[0.0, 0.3]],
    )  # fmt: skip


def quadruple() -> tuple[np.ndarray, ...]:
    first = system().state_space()
    return first.A, first.B, first.C, first.D


def test_frequency_responses_agree_with_python_control_and_scipy():
    w = np.linspace(0.01, 6.0, 50)
    mine = frequency_response(system(), w, kind="output").values
    theirs = control.ss(*quadruple())(1j * w)  # (outputs, inputs, frequencies)
    np.testing.assert_allclose(mine, np.moveaxis(theirs, 2, 0), rtol=0, atol=1e-9 * np.abs(mine).max())
    A, B, C, D = quadruple()
    _, scipy_values = scipy.signal.freqresp((A, B[:, [1]], C, D[:, [1]]), w)
    np.testing.assert_allclose(mine[:, 0, 1], scipy_values, rtol=0, atol=1e-9 * np.abs(mine).max())


def test_forced_responses_agree_with_python_control_and_scipy():
    t = np.linspace(0.0, 30.0, 601)
    u = np.array([np.sin(t), np.sign(np.sin(3 * t))])
    start = np.array([0.3, 0.0, -0.1, 0.0, 1.0, 0.0])
    mine = response(system(), {"u1": u[0], "u2": u[1]}, times=t, start=start, hold="first").data[:, 0]
    theirs = control.forced_response(control.ss(*quadruple()), t, u, start).outputs[0]
    np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-9 * np.abs(mine).max())
    _, held, _ = scipy.signal.lsim(quadruple(), u.T, t, start, interp=False)
    mine = response(system(), {"u1": u[0], "u2": u[1]}, times=t, start=start).data[:, 0]
    np.testing.assert_allclose(mine, held, rtol=0, atol=1e-9 * np.abs(mine).max())


def test_step_and_impulse_agree_with_python_control():
    t = np.linspace(0.0, 20.0, 201)
    model = control.ss(*quadruple())
    step = control.step_response(model, t, input=1)
    mine = step_response(system(), t, input="u2").data[:, 0]
    np.testing.assert_allclose(mine, np.ravel(step.outputs), rtol=0, atol=1e-9 * np.abs(mine).max())
    A, B, C, D = quadruple()
    impulse = control.impulse_response(control.ss(A, B[:, [0]], C, D[:, [0]]), t)  # it warns of D, as of input u2
    mine = impulse_response(system(), t, input="u1").data[:, 0]
    np.testing.assert_allclose(mine, np.ravel(impulse.outputs), rtol=0, atol=1e-9 * np.abs(mine).max())


def test_the_root_locus_has_the_closed_loop_poles_of_python_control():
    gains = np.linspace(0.0, 4.0, 9)
    found = root_locus(system(), gains, input="u1", output="y1")
    model = control.ss(*quadruple())[0, 0]
    for gain, s in zip(gains, found.eigenvalues, strict=True):
        poles = control.feedback(model * gain, 1).poles() if gain else model.poles()
        poles = poles[poles.imag >= 0.0]
        np.testing.assert_allclose(matched(s, poles), poles, rtol=0, atol=1e-9 * np.abs(poles).max())
