"""Forces after the motion: laws, matrices, single samples, inside a simulation (spec 004, C23 to C28)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError, ModelError
from dalembert.estimate import (
    ExtendedKalman,
    ForceLaw,
    GaussMarkov,
    LowPassed,
    RandomWalk,
    TwoStage,
    model_forces,
    process,
)
from tests.helpers.findings import raises

DT = 2e-3
JOINTS = ["A.angle", "B.angle"]


def built(loads: dict[str, float] | None) -> da.EquationsOfMotion:
    """Two links in a vertical plane with motors; force at the tip and weight at the elbow are inputs, or fixed."""
    m = da.Mechanism("arm", planar=True)
    upper = m.add_body("upper", mass=2.0, inertia=da.rod(0.4), position=(0.2, 0))
    lower = m.add_body("lower", mass=1.0, inertia=da.rod(0.4), position=(0.6, 0))
    m.add_revolute("A", m.ground.at(0, 0), upper.at(-0.2, 0))
    m.add_revolute("B", upper.at(0.2, 0), lower.at(-0.2, 0))
    m.add_actuator("shoulder", joint="A", input="t1")
    m.add_actuator("elbow", joint="B", input="t2")
    for name, point, along in (
        ("fx", lower.at(0.2, 0), (1, 0)), ("fy", lower.at(0.2, 0), (0, 1)), ("weight", upper.at(0.2, 0), (0, -1)),
    ):  # fmt: skip
        if loads is None:
            m.add_force(f"of {name}", point, along, input=name)
        else:
            m.add_force(f"of {name}", point, tuple(loads.get(name, 0.0) * x for x in along))
    for k, (joint, body) in enumerate((("A", upper), ("B", lower)), start=1):
        m.add_sensor(f"encoder {k}", da.angle(joint))
        m.add_sensor(f"acc{k}", da.accelerometer(body.at(0.1, 0)))
    return da.equations(m)


@cache
def arm() -> da.EquationsOfMotion:
    return built(None)


def model(form: str = "known-from-unknown", **laws) -> da.estimate.ForceModel:
    laws = {"fx": RandomWalk(0.3), "fy": RandomWalk(0.3), **laws}
    return model_forces(arm(), independent=JOINTS, known=["t1", "t2"], unknown=laws, inputs="weight", form=form)


POSE = {"A.angle": 0.4, "B.angle": -0.9}
MOTION = np.array([0.4, -0.9, 2.0, -3.0, 15.0, 8.0])
WEIGHT = 4.0


@cache
def balance() -> tuple[np.ndarray, np.ndarray]:
    """h with the weight, and B₂, from the inverse dynamics of machines with fixed loads (B₁ is the identity)."""

    def torques(**loads: float) -> np.ndarray:
        a, w, s = MOTION[:2], MOTION[2:4], MOTION[4:]
        motion = {name: (lambda t, k=k: a[k] + w[k] * t + s[k] / 2 * t**2) for k, name in enumerate(JOINTS)}
        found = da.inverse_dynamics(built({"weight": WEIGHT, **loads}), motion, times=[0.0], inputs=["t1", "t2"])
        return np.array([found["t1"][0], found["t2"][0]])

    h = torques()
    return h, np.column_stack([h - torques(**{name: 1.0}) for name in ("fx", "fy")])


def step_of(force_model: da.estimate.ForceModel, F: np.ndarray) -> np.ndarray:
    p = process(force_model)
    x = np.concatenate([F, da.assemble(arm(), POSE).q])
    return np.array(p.functions["step"](x, [*MOTION, WEIGHT], p.p, 0.0, DT)).ravel()[:4]


# --- matrices ---------------------------------------------------------------------------------------------------------


@pytest.mark.spec("004-C24")
def test_known_from_unknown_has_the_matrices_of_the_source() -> None:
    """F = [[0, -B₁⁻¹B₂], [0, 1]], H = [1 0]; the step is the inverse dynamics of the machine."""
    made = model()
    h, B2 = balance()
    F = np.array([1.0, -2.0, 5.0, 3.0])
    assert step_of(made, F) == pytest.approx([*(h - B2 @ F[2:]), *F[2:]], abs=1e-9)
    ekf = ExtendedKalman(made, Q=1.0, R=1.0, P0=1.0)
    x = np.concatenate([F, da.assemble(arm(), POSE).q])
    slope, H, _, _ = ekf.linearize(x, np.array([*MOTION, WEIGHT]), 0.0, DT)
    np.testing.assert_allclose(
        slope, np.block([[np.zeros((2, 2)), -B2], [np.zeros((2, 2)), np.eye(2)]]), rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(H, np.eye(2, 4), rtol=0, atol=0)


@pytest.mark.spec("004-C25")
def test_unknown_from_known_inverts_the_other_map() -> None:
    """F₂⁺ = B₂⁻¹(h - F₁), F₁ stays; F₂ acts on nothing: its column of F is zero, and so is that of H (trap 15)."""
    made = model("unknown-from-known")
    h, B2 = balance()
    F = np.array([1.0, -2.0, 5.0, 3.0])
    assert step_of(made, F) == pytest.approx([*F[:2], *np.linalg.solve(B2, h - F[:2])], abs=1e-8)
    ekf = ExtendedKalman(made, Q=1.0, R=1.0, P0=1.0)
    x = np.concatenate([F, da.assemble(arm(), POSE).q])
    slope, H, _, _ = ekf.linearize(x, np.array([*MOTION, WEIGHT]), 0.0, DT)
    expected = np.block([[np.eye(2), np.zeros((2, 2))], [-np.linalg.inv(B2), np.zeros((2, 2))]])
    np.testing.assert_allclose(slope, expected, rtol=0, atol=1e-8)
    assert not H[:, 2:].any()


# --- laws -----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("004-C27")
def test_every_law_goes_on_as_it_says() -> None:
    """fx by the law, fy walks; the low-pass mixes in what the motion says at once (B₂⁻¹(h - F₁))."""
    F = np.array([1.0, -2.0, 5.0, 3.0])
    a = np.exp(-2 * np.pi * 10.0 * DT)
    h, B2 = balance()
    at_once = np.linalg.solve(B2, h - F[:2])[0]
    for law, wanted, variance in (
        (RandomWalk(0.3), 5.0, 0.09),
        (GaussMarkov(10.0, 40.0), a * 5.0, 1600.0 * (1 - a**2)),
        (LowPassed(10.0, 0.5), a * 5.0 + (1 - a) * at_once, 0.25),
        (ForceLaw(lambda s: -200.0 * (s["B.angle"] + 1.0) - 3.0 * s["A.rate"], 0.1), -200.0 * 0.1 - 6.0, 0.01),
    ):
        made = model(fx=law)
        assert step_of(made, F)[2:] == pytest.approx([wanted, 3.0], abs=1e-8), law
        noise = made.noise(DT, {"t1": 4.0, "t2": 1.0})
        assert noise == pytest.approx({"t1": 4.0, "t2": 1.0, "fx": variance, "fy": 0.09})


# --- both stages ------------------------------------------------------------------------------------------------------


def tip(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return 10.0 * np.sin(6.0 * t), 5.0 + 5.0 * (t > 0.4)


@cache
def run() -> da.Record:
    t = np.arange(401) * DT
    fx, fy = tip(t)
    drive = {"t1": 9.0 + 0 * t, "t2": 2.0 + 0.4 * np.sin(4.0 * t), "weight": 2.0 * np.cos(3 * t), "fx": fx, "fy": fy}
    inputs = da.Record(t, np.column_stack(list(drive.values())), list(drive))
    return da.simulate(arm(), t[-1], start=da.assemble(arm(), POSE), inputs=inputs, every=DT)


def stages(current: bool = False, kind: str = "EKF") -> TwoStage:
    motion = da.estimate.model_kinematics(
        arm(), independent=JOINTS, inputs=["acc1.y", "acc2.y"], outputs=["encoder 1", "encoder 2"],
        start=da.assemble(arm(), POSE), use_current=current, method="heun" if current else "euler",
    )  # fmt: skip
    made = model()
    first = ExtendedKalman(
        motion, R=1e-8, input_noise=1e-4, Q=[0, 0, 1e-8, 1e-8, 0, 0], P0=[1e-8] * 4 + [1e3] * 2, dt=DT
    )
    second = ExtendedKalman(made, R=1e-4, Q=made.noise(DT, 1e-2), P0=[1.0, 1.0, 1e3, 1e3], dt=DT)
    return TwoStage(first, second, current=current)


@pytest.mark.spec("004-C23")
@pytest.mark.parametrize("current", [False, True])
def test_single_samples_give_what_the_record_gives(current: bool) -> None:
    """The interface of the source, step(ξ_{k-1}, y_k), for both stages at once; a known input may vary."""
    both = stages(current)
    found, stepper = both.run(run()), both.stepper()
    names = ["encoder 1", "encoder 2", "acc1.y", "acc2.y", "t1", "t2", "weight"]
    for k in range(len(run())):
        step = stepper.step({name: float(run()[name][k]) for name in names})
        for name in ("fx", "t1", "B.rate"):
            assert step[name] == pytest.approx(found[name][k], abs=1e-8)
    with raises(DataError, "missing-channel", "acc1.y", "acc2.y"):
        stepper.step({"encoder 1": 0.0, "t1": 0.0})
    assert np.isfinite(stepper.step({name: run()[name][-1] for name in names if name != "t1"})["fx"])  # not measured


@pytest.mark.spec("004-C23")
@pytest.mark.parametrize("current", [False, True])
def test_both_stages_sit_inside_a_simulation(current: bool) -> None:
    """Sensors are read, torques are known: what the record gives afterwards, and the force in the end."""
    both = stages(current)
    t = run().time
    inputs = da.Record(t, np.column_stack([run()[n] for n in arm().inputs.names]), arm().inputs.names)
    inside = da.simulate(arm(), 0.4, start=da.assemble(arm(), POSE), inputs=inputs, observer=both, every=DT)
    found = both.run(inside)
    assert inside["estimate.fx"] == pytest.approx(found["fx"], abs=1e-6)
    assert inside["estimate.B.acceleration"] == pytest.approx(found["B.acceleration"], abs=1e-8)
    assert "estimate.fy.deviation" in inside.names


@pytest.mark.spec("004-C23")
def test_two_unknown_forces_come_out_at_their_place() -> None:
    """Sine and step at the tip within 6 % of their size; with a late motion the lag of a sample or two is left."""
    fx, fy = tip(run().time)
    wrong = {}
    for current in (False, True):
        found = stages(current).run(run())
        wrong[current] = [np.sqrt(np.mean((found[n] - f)[50:] ** 2)) for n, f in (("fx", fx), ("fy", fy))]
    assert max(wrong[True]) < 0.6
    assert wrong[True][0] < wrong[False][0]
    assert found.record.names[-1] == "fy" and len(found.record) == len(run())


@pytest.mark.spec("004-C23")
def test_filters_that_do_not_go_together_are_refused() -> None:
    good = stages()
    slow = da.estimate.model_kinematics(
        arm(), independent=JOINTS, inputs=["A.rate", "B.rate"], outputs=["encoder 1", "encoder 2"], order="velocity"
    )
    for motion, second, why in (
        (ExtendedKalman(slow, R=1.0, Q=1.0, P0=1.0), good.forces, ("missing-channel", "'A.acceleration'")),
        (good.forces, good.motion, ("wrong-type",)),
        ("motion", good.forces, ("wrong-type",)),
    ):
        with raises(ModelError, *why):
            TwoStage(motion, second)


def test_both_stages_are_exported_for_a_microcontroller(tmp_path: Path) -> None:
    """Named sensors in, both estimates out; no input of the machine but the measured and known forces."""
    export = da.export_c(stages(True), tmp_path)
    header = (tmp_path / f"{export.name}.h").read_text(encoding="utf-8")
    for name in ("encoder 1", "acc2.y", "t2", "weight", "fx", "B.acceleration"):
        assert f"] {name}" in header, name
