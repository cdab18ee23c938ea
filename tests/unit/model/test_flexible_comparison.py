"""A rigid body of any machine becomes flexible: its parts go to nodes, its numbers are compared."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import ModelError, ModelWarning
from dalembert.model.flexible import FlexibleBodyData
from dalembert.model.flexible_check import body_size
from dalembert.structures import Frame, Section, flexible_body


def tube(length: float, axis: int = 0, planar: bool = False, modes: int = 3) -> FlexibleBodyData:
    """A steel tube along an axis, clamped at its root."""
    size = 2 if planar else 3
    frame = Frame("tube", planar=planar)
    frame.add_points(["root", "tip"], [[0.0] * size, list(length * np.eye(3)[axis][:size])])
    frame.add_beam("tube", "root", "tip", section=Section.tube(0.03, 0.026), material="steel", elements=4)
    return flexible_body(frame, basis="clamped", fixed="root", modes=modes)


def rigid_body(m: da.Mechanism, name: str, data: FlexibleBodyData) -> da.model.Body:
    """A rigid body with the mass, centre and inertia of the data, axes turned from x to z."""
    c = float(data.center[0])
    across = float(data.inertia[1, 1] - data.mass * c**2)
    inertia = np.diag([across, across, float(data.inertia[0, 0])]).tolist()
    return m.add_body(name, mass=data.mass, inertia=inertia, center=(0, 0, c), position=(0, 0, c))


def arm(data: FlexibleBodyData) -> da.Mechanism:
    """A link along z on a hinge about y, with a load, a spring, and a sensor at its end."""
    m = da.Mechanism("arm")
    link = rigid_body(m, "link", data)
    load = m.add_body("load", mass=0.5, inertia=1e-3, position=(0, 0, 0.5))
    m.add_revolute("hinge", m.ground.frame(0, 0, 0, axis=(0, 1, 0)), link.frame(0, 0, 0, axis=(0, 1, 0)))
    m.add_fixed("weld", link.frame(0, 0, 0.5), load.frame(0, 0, 0))
    m.add_spring("spring", m.ground.at(1, 0, 0), link.at(0, 0, 0.5), stiffness=200.0, free_length=1.0)
    m.add_sensor("end", da.position(link.at(0, 0, 0.5)))
    m.add_actuator("motor", joint="hinge", input="torque")
    return m


def flexible_arm(data: FlexibleBodyData) -> da.Mechanism:
    """The same with the flexible body from the beginning."""
    m = da.Mechanism("arm")
    turn = da.rotation(matrix=TO_Z)
    link = m.add_flexible_body("link", data, position=(0, 0, 0), rotation=turn)
    load = m.add_body("load", mass=0.5, inertia=1e-3, position=(0, 0, 0.5))
    m.add_revolute(
        "hinge", m.ground.frame(0, 0, 0, axis=(0, 1, 0)), link.at("root").frame(rotation=TO_Z.T @ np.array(AXIS_Y))
    )
    m.add_fixed("weld", link.at("tip").frame(rotation=TO_Z.T @ np.array(AXIS_Z)), load.frame(0, 0, 0))
    m.add_spring("spring", m.ground.at(1, 0, 0), link.at("tip"), stiffness=200.0, free_length=1.0)
    m.add_sensor("end", da.position(link.at("tip")))
    m.add_actuator("motor", joint="hinge", input="torque")
    return m


TO_Z = np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])  # x of the data along z of the body
_BODY = da.Mechanism("axes").add_body("b", mass=1.0, inertia=1.0)
AXIS_Y, AXIS_Z = _BODY.frame(0, 0, 0, axis=(0, 1, 0)).axes, _BODY.frame(0, 0, 0).axes


@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
def test_a_body_made_flexible_is_the_flexible_body_built_by_hand(coordinates: str) -> None:
    data = tube(0.5)
    made, built = arm(data), flexible_arm(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the numbers agree: nothing to report
        made.make_flexible("link", data, nodes={"hinge": "root", "weld": "tip"}, rotation=TO_Z)
    eqs = [da.equations(m, coordinates=coordinates) for m in (made, built)]
    assert eqs[0].coordinates.names == eqs[1].coordinates.names
    start = {"hinge.angle": 0.3, "link.mode1": 1e-3, "link.mode2": -2e-3}
    runs = [da.forward_dynamics(one, da.assemble(one, start), inputs={"torque": 2.0}) for one in eqs]
    for name in ("end.x", "end.z", "hinge.angle"):  # assemblies close joints to 1e-12 of a metre
        assert runs[0][name] == pytest.approx(runs[1][name], abs=1e-9)


def test_turned_data_change_no_force_and_no_sensor_in_axes_of_the_body() -> None:
    shown = []
    # two modes: a pair of one frequency, whole whatever its axes
    for data, rotation in ((tube(0.5, axis=2, modes=2), None), (tube(0.5, modes=2), TO_Z)):
        m = arm(tube(0.5))
        end = m["link"].at(0, 0, 0.5)
        m.add_force("push", end, (1.0, 2.0, 3.0), axes="body")
        m.add_torque("twist", m["link"], (0.3, 0.2, 0.1), axes="body")
        m.add_sensor("imu", da.accelerometer(end))
        m.add_sensor("turned", da.orientation(end))
        m.make_flexible("link", data, nodes={"hinge": "root", "weld": "tip", "twist": "tip"}, rotation=rotation)
        eqs = da.equations(m, coordinates="joint")
        answer = da.forward_dynamics(eqs, da.assemble(eqs, {"hinge.angle": 0.3}))
        shown.append([answer[f"{name}{axis}"] for name in ("imu.", "turned.r", "hinge.torque.") for axis in "xyz"])
    np.testing.assert_allclose(shown[1], shown[0], rtol=1e-9, atol=1e-9)  # of some 10; joints are closed to 1e-12


def test_a_force_of_any_state_in_axes_of_the_body_is_refused_where_these_turn() -> None:
    m = arm(tube(0.5))
    m.add_force("push", m["link"].at(0, 0, 0.5), lambda s: (s.t, 0.0, 0.0), axes="body")
    with pytest.raises(ModelError, match="cannot be turned") as error:
        m.make_flexible("link", tube(0.5), nodes={"hinge": "root", "weld": "tip"}, rotation=TO_Z)
    assert error.value.code == "not-supported"
    m.make_flexible("link", tube(0.5, axis=2), nodes={"hinge": "root", "weld": "tip"})


def test_the_normal_of_a_plane_on_a_body_turns_with_the_data() -> None:
    data = tube(0.5, planar=True)
    m = da.Mechanism("table", planar=True)
    inertia = float(data.inertia[2, 2] - data.mass * data.center @ data.center)
    table = m.add_body("table", mass=data.mass, inertia=inertia)
    m.add_fixed("weld", m.ground.at(0, 0), table.at(0, 0.25))
    ball = m.add_body("ball", mass=1.0, inertia=1.0)
    m.add_contact("rest", table.at(0, -0.25), ball.at(0, 0), stiffness=1e4)  # normal: y of the table
    m.make_flexible("table", data, nodes={"weld": "root", "rest": "tip"}, angle=-np.pi / 2)
    np.testing.assert_allclose(m["rest"].normal, (-1.0, 0.0), atol=1e-15)  # x of the data runs along -y


def test_a_urdf_arm_with_a_flexible_link_keeps_its_tree_and_goes_through_a_model_file(tmp_path: Path) -> None:
    m = da.read_model("seven-joint-arm")
    with pytest.warns(ModelWarning):  # a tube without motors: less mass, more inertia about its axis
        m.make_flexible("upper_arm", upper_arm(), nodes={"joint2": "root", "joint3": "tip"})
    eqs = da.equations(m, coordinates="joint")
    assert len(eqs.rows) == 0
    assert eqs.elastic == ("upper_arm.mode1", "upper_arm.mode2")
    da.write_model(m, tmp_path / "arm.toml")
    again = da.equations(da.read_model(tmp_path / "arm.toml"), coordinates="joint")
    state, copy = (da.assemble(one, {"joint2.angle": 0.5, "upper_arm.mode1": 1e-3}) for one in (eqs, again))
    M, N = (da.tree.mass_matrix(one, at) for one, at in ((eqs, state), (again, copy)))
    np.testing.assert_allclose(N, M, rtol=1e-12, atol=1e-12)


def upper_arm() -> FlexibleBodyData:
    """A tube along z with nearly the mass of the upper arm of the library."""
    frame = Frame("upper arm")
    frame.add_points(["root", "tip"], [[0, 0, 0], [0, 0, 0.21]])
    section = Section.tube(0.13, 0.13 - 2 * 0.0152)
    frame.add_beam("tube", "root", "tip", section=section, material="aluminium", elements=4)
    return flexible_body(frame, basis="clamped", fixed="root", modes=2)


def test_an_mjcf_body_becomes_flexible(tmp_path: Path) -> None:
    text = """<mujoco><worldbody><body name="link"><joint name="hinge" axis="0 1 0"/>
    <inertial pos="0.25 0 0" mass="0.690" diaginertia="1.36e-4 1.444e-2 1.444e-2"/><site name="end" pos="0.5 0 0"/>
    </body></worldbody></mujoco>"""
    (tmp_path / "arm.xml").write_text(text)
    m = da.read_model(tmp_path / "arm.xml")
    data = tube(0.5)
    m.make_flexible("link", data, nodes={"hinge": "root", "end": "tip"})
    eqs = da.equations(m, coordinates="joint")
    assert [name for name in eqs.coordinates.names if "mode" in name] == list(eqs.elastic)


def test_differences_of_mass_inertia_and_places_are_findings() -> None:
    m = arm(tube(0.5))
    with pytest.warns(ModelWarning) as found:
        m.make_flexible("link", tube(0.45), nodes={"hinge": "root", "weld": "tip"}, rotation=TO_Z)
    shown = {one.message.finding.evidence["what"]: one.message.finding for one in found}  # type: ignore[union-attr]
    assert {one.code for one in shown.values()} == {"unlike-body"}
    assert shown["mass [kg]"].evidence["difference"] == pytest.approx(0.5 / 0.45 - 1, rel=1e-6)
    gap = shown["the distance of 'weld' from its node [m]"].evidence
    assert gap["difference"] * body_size(tube(0.45)) == pytest.approx(0.05, rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"nodes": {"hinge": "tip", "weld": "root"}}, "unlike-body"),  # the wrong way round
        ({"nodes": {}}, "missing-argument"),
        ({"nodes": {"elbow": "root"}}, "unknown-name"),
        ({"nodes": {"hinge": "middle"}}, "unknown-name"),
        ({"nodes": {"hinge": "root"}, "rotation": None}, "no-node"),  # along x: nothing is at the weld
        ({"nodes": {"hinge": "root"}, "largest": 0.0}, "not-positive"),
    ],
)
def test_data_that_do_not_fit_are_refused_and_the_machine_stays(arguments: dict[str, object], code: str) -> None:
    m = arm(tube(0.5))
    before = (list(m.bodies), list(m.joints))
    with pytest.raises(ModelError) as error:
        m.make_flexible("link", tube(0.5), **{"rotation": TO_Z, **arguments})  # type: ignore[arg-type]
    codes = {error.value.code} | {one.code for one in error.value.finding.evidence.get("problems", ())}
    assert code in codes
    assert (m.bodies, m.joints) == before
    m.validate()


def test_a_body_of_a_planar_machine_becomes_flexible_at_an_angle() -> None:
    data = tube(0.5, planar=True)
    m = da.Mechanism("swing", planar=True)
    inertia = float(data.inertia[2, 2] - data.mass * data.center @ data.center)
    rod = m.add_body("rod", mass=data.mass, inertia=inertia, position=(0, -0.25), points={"end": (0, -0.25)})
    m.add_revolute("hinge", m.ground.at(0, 0), rod.at(0, 0.25))
    m.add_sensor("end", da.position(rod.at("end")))
    nodes = {"hinge": "root", "end": "tip"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m.make_flexible(rod, data, nodes=nodes, angle=-np.pi / 2)
    state = da.equilibrium(da.equations(m))
    shown = da.forward_dynamics(state.eqs, state)
    np.testing.assert_allclose([shown["end.x"], shown["end.y"]], [0.0, -0.5], atol=1e-6)  # hangs; stretches by 1e-8 m


def test_a_torque_acts_at_the_node_that_is_named_for_it() -> None:
    data = tube(0.5)
    m = arm(data)
    m.add_torque("twist", m["link"], (0.0, 1.0, 0.0))
    nodes = {"hinge": "root", "weld": "tip"}
    with pytest.raises(ModelError) as error:
        m.make_flexible("link", data, nodes=nodes, rotation=TO_Z)
    assert error.value.code == "no-node"
    m.make_flexible("link", data, nodes={**nodes, "twist": "tip"}, rotation=TO_Z)
    assert m["twist"].node == "tip"
    assert len(da.equations(m, coordinates="joint").rows) == 0
