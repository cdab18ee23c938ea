"""Random planar linkages by their nodes move as the same mechanisms in absolute coordinates.

Domain: trees of one to four bodies with two or three nodes 0.2 to 1 m apart, masses of 0.1 to 5 kg, centres of mass up
to one length beside the first node, rates up to 5 rad/s; in every second tree pins may slide in slots.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dalembert as da

SAME = 1e-10  # relative; the mass matrices have condition numbers below 1e5


def build(seed: int) -> tuple[da.symbolic.PlanarModel, da.Mechanism, list[str]]:
    """A random linkage twice, and the names of its joints."""
    random = np.random.default_rng(seed)
    m = da.symbolic.PlanarModel("random", gravity=(1.0, -9.0))
    twin = da.Mechanism("random", planar=True, gravity=(1.0, -9.0))
    base = random.uniform(-1, 1, 2)
    m.add_ground(tuple(base))
    ends = {"0.1": (base, lambda: twin.ground.at(*base))}
    joints = []
    for number in range(1, int(random.integers(2, 6))):
        name = f"b{number}"
        parent = str(random.choice(list(ends)))
        first, place = ends[parent]
        ways = random.uniform(-np.pi, np.pi, int(random.integers(1, 3)))
        lengths = random.uniform(0.2, 1.0, len(ways))
        nodes = np.vstack([first, *(first + size * np.array([np.cos(a), np.sin(a)]) for size, a in zip(lengths, ways))])
        a1, a2 = random.uniform(-1, 1, 2)
        mass, inertia = random.uniform(0.1, 5.0), random.uniform(0.01, 0.5)
        m.add_body(name, [tuple(x) for x in nodes], mass=mass, inertia=inertia, center=(a1, a2))
        along = nodes[1] - nodes[0]
        center = nodes[0] + a1 * along + a2 * np.array([-along[1], along[0]])
        angle = float(np.arctan2(along[1], along[0]))
        body = twin.add_body(name, mass=mass, inertia=inertia, position=center, angle=angle)
        c, s = np.cos(angle), np.sin(angle)
        own = (nodes - center) @ np.array([[c, -s], [s, c]])
        slides = seed % 2 == 1 and number > 1 and not joints[-1].startswith("s")
        joint = f"{'s' if slides else 'j'}{number}"
        if slides and parent != "0.1" and parent.endswith(".2"):
            owner = parent.partition(".")[0]
            m.add_slot(f"{owner}.1-{parent}", f"{name}.1", name=joint, input=f"u{number}")
            one, two = (ends[f"{owner}.{k}"] for k in (1, 2))
            way = two[0] - one[0]
            turned = float(np.arctan2(way[1], way[0])) - float(twin.bodies[int(owner[1:]) - 1].angle)
            twin.add_pin_in_slot(joint, one[1](), body.at(*own[0]), axis=(np.cos(turned), np.sin(turned)))
        else:
            joint = f"j{number}"
            m.add_revolute(f"{parent}-{name}.1", name=joint, input=f"u{number}")
            twin.add_revolute(joint, place(), body.at(*own[0]))
        twin.add_actuator(f"m{number}", joint, input=f"u{number}")
        for k, at in enumerate(nodes):
            ends[f"{name}.{k + 1}"] = (at, lambda body=body, x=own[k]: body.at(*x))
        joints.append(joint)
    tip = list(ends)[-1]
    m.add_force("F", tip, (2.0, -1.0))
    twin.add_force("F", ends[tip][1](), (2.0, -1.0))
    return m, twin, joints


@given(st.integers(0, 10_000))
def test_a_random_linkage_accelerates_as_the_same_mechanism(seed: int) -> None:
    m, twin, joints = build(seed)
    eqs, other = da.equations(m), da.equations(twin)
    random = np.random.default_rng(seed + 1)
    coordinates = [name for name in eqs.measures.names if name.split(".")[0] in joints and "force" not in name]
    rates = {name: float(random.uniform(-5, 5)) for name in coordinates}
    inputs = {name: float(random.uniform(-3, 3)) for name in eqs.inputs.names}
    if any(name.startswith("s") for name in joints):  # a pin in a slot turns freely: its angle moves too
        rates |= {f"b{name[1:]}.angle": 1.5 for name in joints if name.startswith("s")}
    found, expected = (
        da.forward_dynamics(one, da.assemble(one, velocity=rates), inputs=inputs) for one in (eqs, other)
    )
    for body in list(m.bodies)[1:]:
        for speed in ("rate", "vx", "vy"):
            assert found[f"{body}.{speed}"] == pytest.approx(
                expected[f"{body}.{speed}"], rel=SAME, abs=SAME * np.abs(expected.acceleration).max()
            )
