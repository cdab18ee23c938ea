"""An assembly in joint coordinates starts from the joint values of the drawing."""

from __future__ import annotations

import numpy as np

import dalembert as da


def test_the_drawing_gives_the_first_guess_of_every_kind_of_joint() -> None:
    m = da.Mechanism("drawn")
    base = m.add_body("base", mass=1.0, inertia=1.0, position=(0.1, 0.2, 0.3), rotation=da.rotation(vector=(0, 0, 0.4)))
    arm = m.add_body("arm", mass=1.0, inertia=1.0, position=(0.5, 0.2, 0.3), rotation=da.rotation(vector=(0.2, 0, 0)))
    bob = m.add_body("bob", mass=1.0, inertia=1.0, position=(0.9, 0.2, 0.3), rotation=da.rotation(vector=(0, 0.3, 0)))
    m.add_free("root", m.ground.at(0, 0, 0), base.at(0, 0, 0))
    m.add_universal("U", base, arm, at=(0.3, 0.2, 0.3), axis=(0, 0, 1), second_axis=(0, 1, 0))
    m.add_spherical("S", arm, bob, at=(0.7, 0.2, 0.3))
    plain, joint = da.equations(m), da.equations(m, coordinates="joint")
    drawn = plain.state()
    for name, value in zip(joint.coordinates.names, joint.placement.q, strict=True):
        if name in plain.measures.index:
            assert abs(value - drawn[name]) < 1e-14, name
    guess = joint.state()
    for body in ("base", "arm", "bob"):
        assert all(abs(guess[f"{body}.{axis}"] - drawn[f"{body}.{axis}"]) < 1e-14 for axis in "xyz")
        turned = sum(guess[f"{body}.e{k}"] * drawn[f"{body}.e{k}"] for k in range(4))
        assert abs(abs(turned) - 1) < 1e-14  # p and -p are one orientation
    np.testing.assert_allclose(da.assemble(joint).q, joint.placement.q, rtol=0, atol=1e-12)


def test_a_planar_machine_keeps_whole_turns_of_its_drawing() -> None:
    m = da.Mechanism("turned", planar=True)
    plate = m.add_body("plate", mass=1.0, inertia=1.0, position=(0.0, 0.0), angle=0.5)
    m.add_planar("root", m.ground.frame(0, 0, angle=-4.0), plate.frame(0, 0, angle=3.0))
    plain, joint = da.equations(m), da.equations(m, coordinates="joint")
    assert joint.placement.q[2] == plain.state()["root.angle"] == 7.5
