"""H-infinity synthesis: bounds, the loop it makes, singular and sampled plants, the law in ``da.simulate``."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dalembert as da
from dalembert.control import hinf, margins, open_loop
from dalembert.core.errors import DataError
from dalembert.linear import StateSpace, connect
from tests.helpers.findings import raises
from tests.helpers.robust_plants import feedthrough_plant, spring_chain


def test_no_frequency_of_a_dense_grid_exceeds_the_exact_peak():
    design = hinf(spring_chain(3), outputs="reading", inputs="push")
    assert design.achieved * (1 - 1e-4) <= design.grid_peak <= design.achieved * (1 + 1e-9)


def test_the_norm_is_within_the_back_off_of_the_smallest():
    for back_off in (1e-4, 0.02, 0.5):
        design = hinf(spring_chain(3), outputs="reading", inputs="push", back_off=back_off)
        low, high = design.bounds
        assert low < high <= low * (1 + 1e-5)
        assert low <= design.achieved <= (1 + back_off) * high * (1 + 1e-6)


def test_a_direct_term_of_every_block_is_allowed():
    """The bounds do not depend on D22, which only shifts the controller."""
    with_, without = feedthrough_plant(0.7), feedthrough_plant(0.0)
    designs = [hinf(plant, outputs="y", inputs="u") for plant in (with_, without)]
    np.testing.assert_allclose(designs[0].bounds, designs[1].bounds, rtol=1e-9)
    np.testing.assert_allclose(designs[0].achieved, designs[1].achieved, rtol=1e-6)
    assert designs[0].achieved <= 1.021 * designs[0].bounds[1]


def test_a_sampled_plant_has_a_sampled_controller_with_its_own_norm():
    plant = spring_chain(2).to_discrete(0.2)
    design = hinf(plant, outputs="reading", inputs="push")
    assert design.controller.dt == design.dt == 0.2
    assert design.is_stable and design.achieved <= 1.021 * design.bounds[1]
    assert design.grid_peak <= design.achieved * (1 + 1e-9)


def test_loop_and_margins_agree_with_the_poles_of_the_closed_loop():
    design = hinf(spring_chain(2), outputs="reading", inputs="push")
    closed = design.loop().feedback()
    np.testing.assert_allclose(np.sort_complex(closed.poles().values), np.sort_complex(design.poles.values), atol=1e-6)
    assert margins(design, design.system).channels[0].phase > 0.0


def test_a_command_without_weight_gets_the_smallest_penalty_below_the_limit():
    plant = StateSpace([[0, 1], [-1, -0.2]], [[0, 0, 0], [1, 0, 1]], [[1, 0], [1, 0]], [[0, 0, 0], [0, 0.1, 0]],
                       inputs=["force", "noise", "push"], outputs=["place", "reading"])  # fmt: skip
    slow, fast = (hinf(plant, outputs="reading", inputs="push", fastest=limit) for limit in (20.0, 100.0))
    assert slow.regularized and "command" in slow.regularized[0]
    assert slow.fastest <= 20.0 < fast.fastest <= 100.0
    assert fast.achieved < slow.achieved  # norm of the plant without penalty
    assert fast.bounds[0] <= fast.achieved
    beyond = hinf(plant, outputs="reading", inputs="push", fastest=5.0)
    assert beyond.is_stable and any("above the limit" in text for text in beyond.regularized)


def test_an_integrator_that_is_not_disturbed_is_a_zero_on_the_axis():
    """Output disturbance alone: nothing reaches the state of the integrator, so its estimate has no steady gain."""
    plant = StateSpace(0.0, [[0, 1]], [[1], [0], [1]], [[1, 0], [0, 1], [1, 0]], inputs=["w", "u"],
                       outputs=["z1", "z2", "y"])  # fmt: skip
    design = hinf(plant, outputs="y", inputs="u")
    assert design.is_stable and any("axis" in text for text in design.regularized)


@pytest.mark.parametrize(
    ("columns", "code"), [("B", "not-reachable"), ("C", "not-reachable")], ids=["not driven", "not seen"]
)
def test_a_plant_that_nothing_stabilises_is_refused_by_its_mode(columns, code):
    B, C = np.array([[1.0, 1.0], [1.0, 0.0]]), np.array([[1.0, 1.0], [1.0, 0.0]])
    if columns == "C":
        B, C = np.ones((2, 2)), C
    plant = StateSpace(np.diag([-1.0, 2.0]), B, C if columns == "C" else np.ones((2, 2)), [[0, 1], [1, 0]],
                       inputs=["w", "u"], outputs=["z", "y"], states=["slow", "runaway"])  # fmt: skip
    with raises(DataError, code) as caught:
        hinf(plant, outputs="y", inputs="u")
    assert "runaway" in str(caught.value)


def test_unknown_channels_and_empty_sets_are_refused_by_name():
    plant = spring_chain(2)
    with raises(DataError, "unknown-name"):
        hinf(plant, outputs="readings", inputs="push")
    with raises(DataError, "empty"):
        hinf(plant, outputs=plant.outputs, inputs="push")
    with raises(DataError, "unknown-name"):
        hinf(plant, outputs="reading", inputs="push", disturbances="wind")


@pytest.mark.parametrize("dt", [None, 0.05])
def test_the_law_in_a_simulated_loop_is_the_closed_loop_of_the_design(dt):
    chain = spring_chain(2)
    system = chain if dt is None else chain.to_discrete(dt)
    design = hinf(system, outputs="reading", inputs="push")
    closed = design.loop().feedback()
    poles = open_loop(design, system).feedback().poles().values
    np.testing.assert_allclose(np.sort_complex(poles), np.sort_complex(closed.poles().values), atol=1e-6)


@pytest.fixture(scope="module")
def pendulum():
    """Machine, its linear model upright with weights and noise, initial state."""
    m = da.Mechanism("pendulum", planar=True, gravity=(0, -10))
    bob = m.add_body("bob", mass=1.0)
    m.add_revolute("hinge", m.ground.at(0, 0), bob.at(0, 1.0))
    m.add_actuator("motor", joint="hinge", input="torque")
    m.add_actuator("wind", joint="hinge", input="wind")
    m.add_sensor("encoder", da.angle("hinge"))
    eqs = da.equations(m)
    linear = da.linearize(eqs, da.assemble(eqs, {"hinge.angle": math.pi})).state_space()
    weights = StateSpace.gain([[1, 0, 0], [0, 0.1, 0], [1, 0, 0.01]], inputs=["angle", "torque", "noise"],
                              outputs=["error", "effort", "encoder"])  # fmt: skip
    parts = [linear.select(outputs="encoder").replace(outputs="angle"), weights]
    plant = connect(parts, inputs=["wind", "noise", "torque"], outputs=["error", "effort", "encoder"])
    return eqs, plant, da.assemble(eqs, {"hinge.angle": math.pi - 0.2})


@pytest.mark.parametrize("kind", ["continuous", "sampled afterwards", "of the sampled plant"])
def test_a_machine_is_held_upright_by_its_controller(pendulum, kind):
    """The law takes the operating point from the linear model inside the connection."""
    eqs, plant, start = pendulum
    system = plant.to_discrete(0.02) if kind == "of the sampled plant" else plant
    design = hinf(system, outputs="encoder", inputs="torque")
    design = design.sampled(0.01) if kind == "sampled afterwards" else design
    run = da.simulate(eqs, 6.0, start=start, controller=design)
    assert abs(run["hinge.angle"][-1] - math.pi) < 1e-3
    pushed = da.simulate(eqs, 3.0, start=start, controller=design.within({"torque": (-3.0, 3.0)}))
    assert np.abs(pushed["torque"]).max() <= 3.0


def test_a_controller_of_a_sampled_plant_is_exported_to_c(pendulum, tmp_path):
    _, plant, _ = pendulum
    design = hinf(plant, outputs="encoder", inputs="torque").sampled(0.01)
    assert any(path.suffix == ".c" for path in da.export_c(design, tmp_path).files)


def test_a_sampled_reading_with_a_direct_term_is_read_while_the_last_command_acts():
    """Poles of the run: those of the design and, for each command held, its state, which the law cancels."""
    design = hinf(feedthrough_plant(0.7).to_discrete(0.1), outputs="y", inputs="u")
    poles = open_loop(design, design.system).feedback().poles().values
    assert all(np.abs(poles - value).min() < 1e-6 for value in design.poles.values)
    assert np.abs(poles).max() < 1.0
