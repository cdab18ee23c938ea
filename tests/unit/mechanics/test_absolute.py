"""Equations of motion as a value: sizes, copies, pickling, states."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import dalembert as da
from dalembert.equations import ARGUMENTS, HOLONOMIC, VELOCITY
from tests.helpers.findings import assert_read_only
from tests.helpers.loops import gain_law


def machine() -> da.Mechanism:
    m = da.Mechanism("cart", planar=True)
    length, mass = m.parameter("length", 1.0), m.parameter("bob.mass", 2.0)
    cart = m.add_body("cart", mass=3.0, inertia=1.0)
    bob = m.add_body("bob", mass=mass, inertia=da.rod(length))
    m.add_prismatic("rail", m.ground.at(0, 0), cart.at(0, 0))
    m.add_revolute("pin", cart.at(0, 0), bob.at(0, length / 2))
    m.add_actuator("motor", "rail", input="u", model=da.FirstOrderLag(0.2))
    m.add_sensor("tip", da.position(bob.at(0, -length / 2)))
    return m


@pytest.fixture(scope="module")
def eqs() -> da.EquationsOfMotion:
    return da.equations(machine())


def values(eqs: da.EquationsOfMotion) -> dict[str, list[np.ndarray]]:
    """Every function at one fixed state."""
    rng = np.random.default_rng(0)
    sizes = {"q": eqs.nq, "v": eqs.nv, "z": eqs.nz, "u": eqs.nu, "t": 1, "lam": len(eqs.rows), "a": eqs.nv}
    args = {name: rng.normal(size=size) for name, size in sizes.items()} | {"p": eqs.p}
    return {name: eqs.kernel(name)(*(args[a] for a in ARGUMENTS[name].split())) for name in eqs.functions}


def test_sizes_and_names_fit_together(eqs: da.EquationsOfMotion) -> None:
    assert (eqs.nq, eqs.nv, eqs.nz, eqs.nu, eqs.ny) == (6, 6, 1, 1, 2)
    assert eqs.inputs.names == ("u",)
    assert eqs.internal.names == ("motor.effort",)
    assert eqs.outputs.names == ("tip.x", "tip.y")
    assert [row.owner for row in eqs.rows] == ["rail", "rail", "pin", "pin"]
    assert eqs.is_holonomic
    assert {row.level for row in eqs.rows} == {HOLONOMIC}
    assert repr(eqs) == (
        "EquationsOfMotion('cart': 6 coordinates, 6 speeds, 4 constraint rows, 1 internal states, 1 inputs, 2 outputs)"
    )


def test_every_function_takes_the_arguments_the_contract_says(eqs: da.EquationsOfMotion) -> None:
    symbols = eqs.symbols()
    for name, function in eqs.functions.items():
        sizes = [getattr(symbols, argument).shape[0] for argument in ARGUMENTS[name].split()]
        assert [function.size1_in(k) for k in range(function.n_in())] == sizes, name


def test_rolling_brings_velocity_rows() -> None:
    m = da.Mechanism("ball")
    body = m.add_body("ball", mass=1.0, inertia=da.sphere(0.1))
    m.add_rolling_sphere("floor", m.ground, body, radius=0.1)
    eqs = da.equations(m)
    assert not eqs.is_holonomic
    assert [row.level for row in eqs.rows] == [HOLONOMIC, VELOCITY, VELOCITY]
    assert eqs.holonomic_rows == [0]
    assert eqs.rate_rows == [0, 1, 2]


def test_equations_are_frozen(eqs: da.EquationsOfMotion) -> None:
    with pytest.raises(FrozenInstanceError):
        eqs.name = "other"  # type: ignore[misc]


def test_another_parameter_value_is_another_machine_and_leaves_the_first_alone(eqs: da.EquationsOfMotion) -> None:
    before = values(eqs)
    other = eqs.replace(length=0.5, bob__mass=7.0)
    assert (other.p.tolist(), eqs.p.tolist()) == ([0.5, 7.0], [1.0, 2.0])
    assert other.kernel("inertia")(np.zeros(6), other.p, 0.0)[0][3, 3] == 7.0
    for name, expected in values(eqs).items():
        for ours, first in zip(expected, before[name], strict=True):
            np.testing.assert_array_equal(ours, first)


def test_a_replaced_parameter_equals_a_rebuilt_machine(eqs: da.EquationsOfMotion) -> None:
    m = da.Mechanism("cart", planar=True)
    cart = m.add_body("cart", mass=3.0, inertia=1.0)
    bob = m.add_body("bob", mass=7.0, inertia=da.rod(0.5))
    m.add_prismatic("rail", m.ground.at(0, 0), cart.at(0, 0))
    m.add_revolute("pin", cart.at(0, 0), bob.at(0, 0.25))
    m.add_actuator("motor", "rail", input="u", model=da.FirstOrderLag(0.2))
    m.add_sensor("tip", da.position(bob.at(0, -0.25)))
    replaced, rebuilt = values(eqs.replace(length=0.5, bob__mass=7.0)), values(da.equations(m))
    for name in rebuilt:
        for ours, theirs in zip(replaced[name], rebuilt[name], strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-14, atol=1e-14)  # other order of a few operations


def test_equations_and_states_survive_pickling(eqs: da.EquationsOfMotion) -> None:
    state = da.assemble(eqs, {"pin": 0.4}, velocity={"rail": 1.0}, internal={"motor.effort": 2.0})
    copy = pickle.loads(pickle.dumps(state))  # noqa: S301 (our own bytes)
    assert copy.eqs.name == "cart"
    for part in ("q", "v", "z", "lam"):
        np.testing.assert_array_equal(getattr(copy, part), getattr(state, part))
    ours, theirs = values(copy.eqs), values(eqs)
    for name in theirs:
        for a, b in zip(ours[name], theirs[name], strict=True):
            np.testing.assert_array_equal(a, b)


def test_something_built_once_is_kept(eqs: da.EquationsOfMotion) -> None:
    calls = []
    for _ in range(3):
        assert eqs.cache("test of cached", lambda: calls.append(1) or "made") == "made"
    assert len(calls) == 1
    assert eqs.kernel("rows") is eqs.kernel("rows")


def test_a_state_reads_coordinates_speeds_joints_and_internal_states(eqs: da.EquationsOfMotion) -> None:
    state = da.assemble(eqs, {"pin": 0.4, "rail": 0.1}, velocity={"rail": 1.0}, internal={"motor.effort": 2.0})
    assert state["pin"] == state["pin.angle"] == pytest.approx(0.4, abs=1e-11)
    assert state["cart.x"] == state["rail"] == pytest.approx(0.1, abs=1e-11)
    assert state["rail.speed"] == state["cart.vx"] == pytest.approx(1.0, abs=1e-11)
    assert state["motor.effort"] == 2.0
    assert "pin.angle=0.4" in repr(state)


def test_a_state_from_arrays_is_a_frozen_copy(eqs: da.EquationsOfMotion) -> None:
    q = np.zeros(6)
    state = eqs.state(q)
    q[:] = 5.0
    assert state["cart.x"] == 0.0
    assert_read_only(state.q)


def test_a_mechanism_may_be_changed_after_its_equations_were_made() -> None:
    m = machine()
    first = da.equations(m)
    m.add_body("extra", mass=1.0, inertia=1.0)
    m.add_fixed("weld", m.bodies[0].at(0, 0), m.bodies[-1].at(0, 0))
    assert (first.nq, da.equations(m).nq) == (6, 9)


# --- what distinguishes a model from others


def test_the_same_description_has_the_same_hash_and_a_copy_keeps_it(eqs: da.EquationsOfMotion) -> None:
    assert da.equations(machine()).content_hash == eqs.content_hash
    assert pickle.loads(pickle.dumps(eqs)).content_hash == eqs.content_hash  # noqa: S301
    assert len(eqs.content_hash) == 64


def test_another_parameter_value_has_another_hash_and_back_again_the_old_one(eqs: da.EquationsOfMotion) -> None:
    changed = eqs.replace(length=1.5)
    assert changed.content_hash != eqs.content_hash
    assert changed.replace(length=1.0).content_hash == eqs.content_hash


def test_another_mass_name_or_pose_has_another_hash_but_not_the_name_of_the_machine() -> None:
    def pendulum(title: str = "p", mass: float = 1.0, joint: str = "pin", angle: float = 0.0) -> str:
        m = da.Mechanism(title, planar=True)
        rod = m.add_body("rod", mass=mass, inertia=0.1, position=(0.5, 0.0), angle=angle)
        m.add_revolute(joint, m.ground.at(0, 0), rod.at(-0.5, 0))
        return da.equations(m).content_hash

    first = pendulum()
    assert pendulum(title="q") == first
    others = {pendulum(mass=1.1), pendulum(joint="hinge"), pendulum(angle=0.2)}
    assert first not in others and len(others) == 3


def test_runs_of_every_kind_report_the_hash_of_their_model() -> None:
    m = da.Mechanism("pendulum", planar=True)
    rod = m.add_body("rod", mass=1.0, inertia=0.1)
    m.add_revolute("pin", m.ground.at(0, 0), rod.at(-0.5, 0))
    m.add_actuator("motor", joint="pin", input="u")
    own = da.equations(m)
    law = gain_law(np.array([[1.0]]), ["pin.angle"], ["u"], 0.05)
    runs = [
        da.simulate(own, 0.1), da.kinematics(own, 0.1, motion={"pin": lambda t: t}, every=0.05),
        da.inverse_dynamics(own, {"pin.angle": lambda t: t}, times=np.linspace(0.0, 0.1, 3)),
        da.simulate(own, 0.1, controller=law, method=da.RK4(step=0.05)),
    ]  # fmt: skip
    assert [run.provenance["model_hash"] for run in runs] == [own.content_hash] * 4


def test_runs_of_linear_models_report_a_hash_of_their_matrices() -> None:
    plant = da.StateSpace([[0, 1], [-1, 0]], [0, 1], [1, 0], inputs="u", states=["x", "v"], outputs="y")
    law = gain_law(np.array([[1.0]]), ["y"], ["u"], 0.1)
    hashes = [
        da.simulate(model.to_discrete(0.1), 1.0, controller=law).provenance["model_hash"]
        for model in (plant, plant, plant.replace(C=[0, 1]))
    ]
    assert hashes[0] == hashes[1] != hashes[2]
