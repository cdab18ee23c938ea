"""Scenes of machines: forces, wheels, rods, springs, and the channels that plots open with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.record import Record
from dalembert.view.animation.channels import channels_of
from dalembert.view.animation.machine_motion import still
from dalembert.view.animation.machine_scene import machine_data


def turning(**more: Any) -> Record:
    t = np.linspace(0.0, 1.0, 31)
    channels = {"b.x": np.cos(t), "b.y": np.sin(t), "b.angle": t, "push": 2.0 * t}
    scene = {"planar": True, "bodies": [{"name": "b", "points": [[0, 0, 0], [1, 0, 0]], "lines": [[0, 1]]}], **more}
    return Record.from_channels(t, channels, name="turning", scene=scene)


def test_a_force_of_the_scene_is_its_vector_times_its_input_turned_with_its_body() -> None:
    force = {"name": "pusher", "at": ["b", [1, 0, 0]], "vector": [3, 0], "axes": "body", "input": "push"}
    found = machine_data(turning(forces=[force]), 30, 1.0, [])["forces"]
    assert [(one["name"], one["kind"], one["body"]) for one in found] == [("pusher", "applied", "b")]
    t = np.linspace(0.0, 1.0, 31)
    expected = 6.0 * t[:, None] * np.stack([np.cos(t), np.sin(t), 0 * t], axis=1)
    assert found[0]["values"] == pytest.approx(expected, abs=1e-12)


def test_what_stands_on_the_ground_is_drawn_and_framed() -> None:
    corners = [[[-5.0, 0.0, 0.0], [-5.0, 1.0, 0.0], [-4.0, 0.0, 0.0]]]
    found = machine_data(turning(ground_shape={"kind": "mesh", "triangles": corners}), 30, 1.0, [])
    assert found["ground_shape"]["triangles"].tolist() == [[-5, 0, 0, -5, 1, 0, -4, 0, 0]]
    assert found["low"][0] == pytest.approx(-5.0)
    assert "ground_shape" not in machine_data(turning(), 30, 1.0, [])


def test_reactions_are_drawn_where_they_are_recorded() -> None:
    run = turning(joints=[{"name": "J", "type": "revolute", "body": "b", "point": [1, 0, 0]}])
    more = np.column_stack([run.data, np.full(len(run), 3.0), np.full(len(run), 4.0)])
    both = Record(run.time, more, [*run.names, "J.force.x", "J.force.y"], scene=run.scene)
    assert machine_data(run, 30, 1.0, [])["forces"] == []
    (found,) = machine_data(both, 30, 1.0, [])["forces"]
    assert found["kind"] == "reaction"
    assert found["values"][0].tolist() == [3.0, 4.0, 0.0]


def test_a_body_without_a_shape_that_rolls_is_drawn_as_a_wheel() -> None:
    joint = {"name": "W", "type": "rolling wheel", "body": "b", "point": [0, 0, 0], "radius": 0.3, "axis": [0, 1, 0]}
    t = np.linspace(0.0, 1.0, 11)
    values = np.column_stack([t, 0 * t, 0 * t + 0.3, 0 * t + 1.0, 0 * t, 0 * t, 0 * t])
    names = [f"b.{c}" for c in ("x", "y", "z", "e0", "e1", "e2", "e3")]
    plane = {"body": None, "point": [0, 0, 0]}
    scene = {
        "bodies": [{"name": "b", "points": [[0, 0, 0]]}],
        "joints": [{**joint, "other": plane}],
        "ground": [[0, 0, 0]],
    }
    found = machine_data(Record(t, values, names, scene=scene), 30, 1.0, [])
    shape = found["bodies"][0]["shape"]
    assert (shape["kind"], shape["radius"], shape["axis"]) == ("cylinder", 0.3, [0.0, 1.0, 0.0])
    assert found["ground"] == []  # the origin of a plane is no support


def test_plots_open_with_each_curve_once_and_with_the_rate_of_an_angle_that_turns_on() -> None:
    t = np.linspace(0.0, 10.0, 201)
    angle = 10.0 * t + 0.3 * np.sin(10.0 * t)
    channels = {
        "encoder": angle,
        "A.angle": angle,
        "A.rate": np.gradient(angle, t),
        "B.angle": np.cos(t),
        "s": 2 + 0 * t,
    }
    units = {"encoder": "rad", "A.angle": "rad", "A.rate": "rad/s", "B.angle": "rad", "s": "m"}
    scene = {"joints": [{"name": "A"}, {"name": "B"}], "sensors": ["encoder", "s"]}
    run = Record.from_channels(t, channels, units=units, scene=scene)
    assert channels_of(run)["shown"] == ["A.rate", "B.angle"]
    assert channels_of(run, ["encoder", "A.angle"])["shown"] == ["encoder", "A.angle"]  # who asks gets it


def test_orientation_parameters_are_not_what_plots_open_with() -> None:
    t = np.linspace(0.0, 1.0, 11)
    run = Record.from_channels(t, {"b.e0": np.cos(t), "b.x": t, "b.z": 1 + 0 * t}, scene={"bodies": []})
    assert channels_of(run)["shown"] == ["b.x"]


def shown(m: da.Mechanism) -> dict[str, Any]:
    eqs = da.equations(m)
    return machine_data(still(eqs, da.assemble(eqs)), 30, 1.0, [])


def test_a_rod_in_the_plane_lies_along_its_joint() -> None:
    m = da.Mechanism("cart with pendulum", planar=True)
    rod = m.add_body("rod", mass=0.2, inertia=da.rod(0.6))
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(0, -0.3))
    ends = shown(m)["bodies"][0]["shape"]["ends"]
    assert np.array(ends) == pytest.approx(np.array([[0, 0.3, 0], [0, -0.3, 0]]), abs=1e-12)


def test_floors_on_sprung_slides_stand_on_leaf_springs() -> None:
    m = da.Mechanism("two storeys", planar=True)
    below = m.ground
    for k in (1, 2):
        floor = m.add_body(f"floor{k}", mass=1.0, inertia=da.rod(0.3))
        m.add_prismatic(f"storey{k}", below.at(0, 0.2), floor.at(0, 0), axis=(1, 0))
        m.add_spring(f"leaves{k}", joint=f"storey{k}", stiffness=100.0)
        below = floor
    data = shown(m)
    assert [one.get("foot") for one in data["joint_springs"]] == [[0, 0, 0], [0, 0, 0]]
    assert data["low"][1] == 0.0  # the feet on the ground are in the picture
    # no rigid bar from a floor to the next: only its own plate is left
    assert data["bodies"][0]["points"] == [[0.0, 0.0, 0.0]]


def test_springs_of_hinges_and_slots_are_in_the_scene() -> None:
    m = da.Mechanism("yoke", planar=True)
    crank, yoke = m.add_body("crank", mass=1.0, inertia=da.rod(0.2)), m.add_body("yoke", mass=1.0, inertia=0.1)
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-0.1, 0))
    m.add_prismatic("guide", m.ground.at(0, 0), yoke.at(0, 0), axis=(1, 0))
    m.add_pin_in_slot("slot", yoke.at(0, 0), crank.at(0.1, 0), axis=(0, 1))
    m.add_spring("winder", joint="A", stiffness=0.1)
    m.add_spring("return", joint="guide", stiffness=50.0)
    m.add_damper("oil", joint="guide", damping=3.0)
    data = shown(m)
    found = [(one["name"], one["joint"], one["turns"], "foot" in one) for one in data["joint_springs"]]
    assert found == [("winder", "A", True, False), ("return", "guide", False, False)]
    slot = next(joint for joint in data["joints"] if joint["name"] == "slot")
    assert slot["other"]["body"] == "yoke"
    assert np.array(slot["other"]["axis"]) == pytest.approx([0, 1, 0], abs=1e-12)
