"""H2 synthesis, mixed sensitivity and loop shaping: optimal values, references, sampled plants, bad weights."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.control import Synthesis, h2, kalman_gain, loop_shaping, lqr, mixed_sensitivity, tf
from dalembert.core.errors import DataError
from dalembert.linear import StateSpace
from tests.helpers.findings import raises
from tests.helpers.robust_plants import feedthrough_plant, spring_chain


def test_the_h2_controller_is_the_regulator_on_the_kalman_filter():
    plant = spring_chain(2)
    design = h2(plant, outputs="reading", inputs="push")
    law = lqr(plant, Q=np.outer(plant.C[0], plant.C[0]), R=0.09, inputs="push")
    noise = plant.select(inputs=["force", "push"], outputs="reading")
    observer = kalman_gain(noise, Q={"force": 1.0}, R=0.05**2, inputs="push")
    poles = np.concatenate([law.poles.values, observer.poles.values])
    np.testing.assert_allclose(np.sort_complex(design.poles.values), np.sort_complex(poles), atol=1e-7)


@pytest.mark.parametrize("plant", [spring_chain(2).to_discrete(0.2), feedthrough_plant(0.7).to_discrete(0.1)],
                         ids=["chain", "direct terms"])  # fmt: skip
def test_no_change_of_a_sampled_h2_controller_is_better(plant):
    """D11 and a reading of the same instant included: the optimum is flat to second order."""
    outputs, inputs = plant.outputs[2], plant.inputs[2]
    design = h2(plant, outputs=outputs, inputs=inputs)
    rng, K = np.random.default_rng(1), design.controller
    for _ in range(20):
        changed = K.replace(**{key: getattr(K, key) * (1 + 1e-3 * rng.normal(size=getattr(K, key).shape))
                               for key in "ABCD"})  # fmt: skip
        trial = Synthesis(changed, plant, design.disturbances, design.performance, method="changed", norm="H2")
        assert trial.achieved >= design.achieved * (1 - 1e-9)


def test_white_noise_on_an_output_without_filter_is_refused():
    with raises(DataError, "no-solution", "z1"):
        h2(feedthrough_plant(0.0), outputs="y", inputs="u")


def test_a_mixed_sensitivity_follows_its_reference():
    """Static gain of the error: below the norm over the static gain of the weight."""
    plant = tf([200.0], np.polymul([10.0, 1.0], [0.0025, 0.1, 1.0]), output="speed", input="voltage")
    design = mixed_sensitivity(plant, error=tf([1 / 1.5, 10.0], [1.0, 1e-3]), command=1.0)
    run = da.simulate(plant, 4.0, controller=design, references={"speed": 1.0})
    assert abs(run["speed"][-1] - 1.0) < 1.5 * design.achieved / 1e4


def test_a_sampled_mixed_sensitivity_is_as_good_as_the_continuous_one():
    plant = tf([200.0], np.polymul([10.0, 1.0], [0.0025, 0.1, 1.0]))
    weight = tf([1 / 1.5, 10.0], [1.0, 1e-3])
    exact = mixed_sensitivity(plant, error=weight, command=1.0)
    sampled = mixed_sensitivity(plant.to_discrete(0.005), error=weight.to_discrete(0.005), command=1.0)
    assert sampled.bounds[0] <= sampled.achieved <= 1.021 * sampled.bounds[1]
    assert sampled.achieved == pytest.approx(exact.achieved, rel=0.02)


def test_weights_that_are_unstable_or_do_not_fit_are_refused():
    plant = tf([1.0], [1.0, 1.0])
    with raises(DataError, "unstable", "error"):
        mixed_sensitivity(plant, error=tf([1.0], [1.0, 0.0]))
    with raises(DataError, "wrong-shape"):
        mixed_sensitivity(plant, error=StateSpace.gain(np.eye(2)))
    with raises(DataError, "missing-argument"):
        mixed_sensitivity(plant)


@pytest.mark.parametrize("dt", [None, 0.05])
def test_loop_shaping_reaches_its_norm_with_weights(dt):
    plant = tf([200.0], np.polymul([10.0, 1.0], [0.0025, 0.1, 1.0]))
    weight = tf([1.0, 2.0], [1.0, 0.0])
    if dt is not None:
        plant, weight = plant.to_discrete(dt), weight.to_discrete(dt)
    design = loop_shaping(plant, before=weight)
    low, _ = design.bounds
    assert low <= design.achieved <= 1.02 * low * (1 + 1e-6)
    closed = design.closed_loop()
    assert closed.is_stable
    np.testing.assert_allclose(closed.dc_gain(), 0.0, atol=1e-6)  # the integrator of the weight is in the controller


def test_the_norm_of_loop_shaping_is_below_that_of_any_other_controller():
    """The formula without iteration and the general synthesis agree."""
    from dalembert.control import hinf

    G = tf([1.0, 0.2], [1.0, 0.3, -2.0])
    B = np.hstack([np.zeros((2, 1)), G.B, G.B])
    C = np.vstack([np.zeros((1, 2)), G.C, G.C])
    plant = StateSpace(G.A, B, C, [[0, 0, 1], [1, 0, 0], [1, 0, 0]], inputs=["v", "d", "u"], outputs=["zu", "zy", "y"])
    assert hinf(plant, outputs="y", inputs="u").bounds[1] == pytest.approx(loop_shaping(G).bounds[0], rel=1e-4)
