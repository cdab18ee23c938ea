"""A crank-rocker of 4 x 20 mm aluminium links: equivalent rigid links against flexible bodies of the same mesh."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ConvergenceError
from dalembert.linkages import EquivalentRigidLinks
from dalembert.structures import Frame, Section, flexible_body

LENGTHS = {"crank": 0.2, "coupler": 0.6, "rocker": 0.5}
GROUND = 0.7
LOWEST_HZ = 26.309  # of the machine with the crank at 90 degrees
BETA = 2 * 0.02 / (2 * np.pi * LOWEST_HZ)  # 2 % of critical damping at the lowest frequency


def drawing(angle: float, ground: float = GROUND) -> dict[str, tuple[Any, float]]:
    """Origin and angle of every link on the open branch."""
    B = LENGTHS["crank"] * np.array([np.cos(angle), np.sin(angle)])
    D = np.array([ground, 0.0])
    reach = float(np.hypot(*(D - B)))
    along = (LENGTHS["coupler"] ** 2 - LENGTHS["rocker"] ** 2 + reach**2) / (2 * reach)
    e = (D - B) / reach
    C = B + along * e + np.sqrt(LENGTHS["coupler"] ** 2 - along**2) * np.array([-e[1], e[0]])
    coupler, rocker = (float(np.arctan2(*(C - start)[::-1])) for start in (B, D))
    return {"crank": (np.zeros(2), angle), "coupler": (B, coupler), "rocker": (D, rocker)}


def strip(name: str, beta: float = BETA) -> Frame:
    frame = Frame(name, planar=True)
    length = LENGTHS[name]
    frame.add_points(["a", "middle", "b"], [[0, 0], [length / 2, 0], [length, 0]])
    for start, end in (("a", "middle"), ("middle", "b")):
        frame.add_beam(f"{start} {end}", start, end, section=Section.rectangle(0.004, 0.02), material="aluminium",
                       elements=2, theory="euler-bernoulli", rotary=False)  # fmt: skip
    frame.set_damping(beta=beta)
    return frame


def machine(angle: float, *, flexible: bool, drive: float = 0.0, beta: float = BETA) -> da.Mechanism:
    """drive : torque per difference of the crank's speed [N m s]."""
    m = da.Mechanism("crank-rocker", planar=True, gravity=0)
    links = {}
    for name, (origin, turned) in drawing(angle).items():
        place = {"position": tuple(origin), "angle": turned}
        if flexible:
            data = flexible_body(strip(name, beta), basis="craig-bampton", modes=6, stiffening=False,
                                 nodes=["a", "middle", "b"], reference="a")  # fmt: skip
            links[name] = m.add_flexible_body(name, data, **place)
        else:
            points = {"a": (0, 0), "middle": (LENGTHS[name] / 2, 0), "b": (LENGTHS[name], 0)}
            links[name] = m.add_body(name, mass=1, inertia=0.01, center=(0, 0), points=points, **place)
    m.add_revolute("A", m.ground.at(0, 0), links["crank"].at("a"))
    m.add_revolute("B", links["crank"].at("b"), links["coupler"].at("a"))
    m.add_revolute("C", links["coupler"].at("b"), links["rocker"].at("b"))
    m.add_revolute("D", m.ground.at(GROUND, 0), links["rocker"].at("a"))
    m.add_actuator("motor", joint="A", input="torque")
    m.add_damper("drive", joint="A", damping=drive)
    for point in ("a", "middle", "b"):
        m.add_sensor(point, da.position(links["coupler"].at(point)))
    return m


def links_of(angle: float, **options: Any) -> EquivalentRigidLinks:
    frames = {name: strip(name) for name in LENGTHS}
    return EquivalentRigidLinks(machine(angle, flexible=False, **options), beams=frames, coordinates=["A.angle"])


@pytest.mark.slow
@pytest.mark.spec("004-C37")
def test_frequencies_at_24_poses_are_those_of_flexible_bodies_with_all_modes() -> None:
    whole = da.equations(machine(0.5, flexible=True, beta=0.0))
    for first in 0.5 + 2 * np.pi / 3 * np.arange(3):
        erls = links_of(first)
        poses = first + np.linspace(-np.pi / 3, np.pi / 3, 8, endpoint=False)
        states = []
        for pose in poses:
            states.append(da.assemble(whole, dict.fromkeys(whole.elastic, 0.0) | {"A.angle": pose}))
        for pose, lin in zip(poses, da.linearize(whole, at=states)):
            system = erls.system({"A.angle": pose})
            ours, theirs = system.modes().frequencies, lin.modes().frequencies
            assert len(ours) == len(theirs) == 37
            assert ours[1:] == pytest.approx(theirs[1:], rel=1e-8)  # the first is zero


def deflection(run: da.Record) -> Any:
    """Of the middle of the coupler from the chord between its ends."""
    a, middle, b = (np.array([run[f"{point}.x"], run[f"{point}.y"]]) for point in ("a", "middle", "b"))
    chord = (b - a) / np.hypot(*(b - a))
    return chord[0] * (middle - a)[1] - chord[1] * (middle - a)[0]


def difference(ratio: float, drive: float = 5.0, samples: int = 400) -> float:
    """Largest difference of the deflection in two turns, of its peak; ratio : lowest frequency over the turning one."""
    speed = 2 * np.pi * LOWEST_HZ / ratio
    until = 2 * 2 * np.pi / speed
    options = {"inputs": {"torque": drive * speed}, "every": until / samples,
               "method": da.GeneralizedAlpha(step=until / (10 * samples))}  # fmt: skip
    ours = da.equations(links_of(np.pi / 2, drive=drive))
    start = ours.state(v=np.append(np.zeros(len(ours.elastic)), speed))
    first = deflection(da.simulate(ours, until, start=start, **options))
    whole = da.equations(machine(np.pi / 2, flexible=True, drive=drive))
    state = da.assemble(whole, dict.fromkeys(whole.elastic, 0.0) | {"A.angle": np.pi / 2}, velocity={"A.angle": speed})
    second = deflection(da.simulate(whole, until, start=state, **options))
    return float(np.abs(first - second).max() / np.abs(second).max())


@pytest.mark.slow
@pytest.mark.spec("004-C37")
@pytest.mark.filterwarnings("ignore:.*axis by more than")
def test_the_deflection_of_the_coupler_is_that_of_flexible_bodies_at_low_speed_and_departs_with_speed() -> None:
    slow, fast = difference(20.0), difference(10.0)
    assert slow < 0.02
    assert fast > 3 * slow


@pytest.mark.slow
def test_a_pass_of_the_dead_centre_is_an_error_with_its_name() -> None:
    """Where crank and coupler align, the angle of the rocker does not determine the pose."""
    frames = {name: strip(name) for name in LENGTHS}
    erls = EquivalentRigidLinks(machine(2.0, flexible=False), beams=frames, coordinates=["D.angle"])
    eqs = da.equations(erls)
    speed = np.append(np.zeros(len(eqs.elastic)), 4.0)
    with pytest.raises(ConvergenceError) as caught:
        da.simulate(eqs, 1.0, start=eqs.state(v=speed), method=da.GeneralizedAlpha(step=1e-3))
    assert caught.value.code == "dead-point"
    assert "D.angle" in str(caught.value)
