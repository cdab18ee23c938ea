"""One state or many: states, lists of them, records and arrays, with values by name."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import dalembert as da
from tests.helpers.arms import arm, arm_states, make_arm
from tests.helpers.findings import raises


def test_a_list_of_states_and_arrays_give_the_results_of_single_states_in_rows() -> None:
    eqs, states = arm(), arm_states(40)
    q, v = (np.array([getattr(one, part) for one in states]) for part in "qv")
    singly = np.array([da.tree.mass_matrix(eqs, one) for one in states])
    for together in (states, (q, v)):
        np.testing.assert_array_equal(da.tree.mass_matrix(eqs, together), singly)
    efforts = da.tree.inverse_dynamics(eqs, states, np.ones(3))
    assert efforts.shape == (40, 3)
    np.testing.assert_array_equal(efforts[7], da.tree.inverse_dynamics(eqs, states[7], np.ones(3)))
    kinetic, potential = da.tree.energies(eqs, states)
    assert (kinetic[3], potential[3]) == da.tree.energies(eqs, states[3])


def test_one_pose_takes_many_accelerations() -> None:
    eqs, (state,) = arm(), arm_states(1)
    a = np.random.default_rng(0).normal(size=(5, 3))
    tau = da.tree.inverse_dynamics(eqs, state, a)
    np.testing.assert_allclose(tau - tau[0], (a - a[0]) @ da.tree.mass_matrix(eqs, state), atol=1e-12)


def test_values_are_given_by_the_names_of_coordinates_or_speeds() -> None:
    eqs, (state,) = arm(), arm_states(1)
    by_name = da.tree.inverse_dynamics(eqs, state, {"elbow.angle": 2.0, "drill.rate": -1.0})
    np.testing.assert_array_equal(by_name, da.tree.inverse_dynamics(eqs, state, [0.0, 2.0, -1.0]))
    with raises(da.errors.DataError, "unknown-name", "elbw", "elbow"):
        da.tree.inverse_dynamics(eqs, state, {"elbw": 1.0})


def test_a_record_brings_its_states_and_accelerations() -> None:
    m = make_arm()
    m.add_actuator("motor", joint="elbow", input="torque")
    eqs = da.equations(m, coordinates="joint")
    run = da.simulate(eqs, 0.2, inputs={"torque": 0.4}, every=0.05)
    accelerations = da.forward_dynamics(eqs, run)
    assert isinstance(accelerations, da.Record)
    tau = da.tree.inverse_dynamics(eqs, run, accelerations)
    # the motor is the only force besides gravity
    np.testing.assert_allclose(tau, np.tile([0.0, 0.4, 0.0], (len(run), 1)), atol=1e-11)
    both = da.tree.forward_kinematics(eqs, run)["hand"]
    np.testing.assert_allclose(both[:, 0, 3], run["hand.x"], atol=1e-12)


def test_parameters_change_functions_without_building_them_again() -> None:
    eqs, (state,) = arm(), arm_states(1)
    heavier = eqs.replace(hand__mass=2.0)
    assert da.tree.total_mass(heavier) - da.tree.total_mass(eqs) == pytest.approx(1.3, abs=1e-14)
    assert heavier.tree is eqs.tree
    rebuilt = da.tree.mass_matrix(da.equations(make_arm(), coordinates="joint").replace(hand__mass=2.0), state)
    np.testing.assert_allclose(da.tree.mass_matrix(heavier, state), rebuilt, rtol=1e-14)


def test_equations_keep_their_tree_through_a_file() -> None:
    eqs, (state,) = arm(), arm_states(1)
    back = pickle.loads(pickle.dumps(eqs)).replace(hand__mass=0.9)  # noqa: S301
    ours = eqs.replace(hand__mass=0.9)
    for name in ("mass_matrix", "coriolis_matrix", "gravity", "forward_dynamics", "centroidal_momentum_matrix_rate"):
        function = getattr(da.tree, name)
        np.testing.assert_array_equal(function(back, state), function(ours, state))
    np.testing.assert_array_equal(da.tree.jacobian(back, state, "hand.tip"), da.tree.jacobian(ours, state, "hand.tip"))


def test_other_equations_are_refused() -> None:
    m = make_arm()
    with raises(da.errors.ModelError, "wrong-type", repr(m.name)):
        da.tree.mass_matrix(da.equations(m), da.equations(m).state())
    with raises(da.errors.ModelError, "wrong-type", "Mechanism"):
        da.tree.mass_matrix(m, None)
    with raises(da.errors.DataError, "wrong-type"):
        da.tree.mass_matrix(arm(), 3.0)
    with raises(da.errors.DataError, "wrong-shape", "(2,)"):
        da.tree.mass_matrix(arm(), ([1.0, 2.0], [0.0, 0.0, 0.0]))
    with raises(da.errors.DataError, "wrong-shape", "(2,)"):
        da.tree.inverse_dynamics(arm(), arm_states(1)[0], [1.0, 2.0])


def test_a_kernel_has_the_results_of_its_function_and_is_native_when_calls_are_announced() -> None:
    eqs, (state,), a = da.equations(make_arm(), coordinates="joint"), arm_states(1), np.linspace(-1, 1, 3)
    cold = da.tree.kernel(eqs, "inverse_dynamics")
    assert cold.code is None
    ready = da.tree.kernel(eqs, "inverse_dynamics", calls=10**6)
    assert ready is cold and ready.code is not None
    expected = da.tree.inverse_dynamics(eqs, state, a)
    np.testing.assert_array_equal(ready.raw(state.q, state.v, a, eqs.p, 0.0)[0], expected)
    (place,) = da.tree.kernel(eqs, "forward_kinematics", "hand.tip")(state.q, eqs.p, 0.0)
    np.testing.assert_array_equal(place, da.tree.forward_kinematics(eqs, state, "hand.tip"))
    with raises(da.errors.ModelError, "unknown-name", "inverse_dynamics"):
        da.tree.kernel(eqs, "inverse_dynamic")
