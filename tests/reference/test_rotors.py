"""Whirling of shafts with discs, seen from the ground and from the turning frame."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.linear import campbell
from dalembert.structures import Frame, Material, Section, Structure, assemble_structure, spin, spin_rotor

THIN = {"theory": "euler-bernoulli", "rotary": False}


class TestRotors:
    def test_an_overhung_disc_whirls_as_the_closed_form_says(self) -> None:
        """Disc at the end of a massless cantilever shaft, w = y + i z, ψ = rz - i ry: the polynomial of order 4

        |k11 - m ω², k12; k12, k22 - J_t ω² + J_p Ω ω| = 0, k = EI/L³ [12, -6 L; -6 L, 4 L²].
        """
        m, J_t, J_p, L, Omega = 2.0, 0.3, 0.55, 1.0, 3.0
        frame = Frame("overhung", gravity=0)
        frame.add_points(["bearing", "disc"], [[0, 0, 0], [L, 0, 0]])
        massless = Material("massless", E=1.0, density=0.0, G=1.0)
        frame.add_beam(
            "shaft", "bearing", "disc", section=Section(area=1e6, I_y=1.0, I_z=1.0, J=1.0), material=massless, **THIN
        )
        frame.add_support("bearing", "fixed")
        frame.add_support("disc", "x rx")
        frame.add_mass("disc", "disc", m, inertia=(J_p, J_t, J_t))
        system = spin_rotor(assemble_structure(frame), "x", Omega)
        a = np.polynomial.Polynomial([12.0, 0, -m])
        b = np.polynomial.Polynomial([4.0, -J_p * Omega, -J_t])
        exact = np.sort(np.abs((a * b - 36.0).roots()))
        assert np.sort(system.dense().modes().frequencies) == pytest.approx(exact, rel=1e-9)

    @pytest.mark.parametrize("theory", [{}, THIN])
    def test_seen_from_the_ground_and_from_the_turning_frame_the_same_rotor_whirls(self, theory: dict) -> None:
        """A round shaft with a disc on two bearings: ω in the turning frame is |ω_forward - Ω| or ω_backward + Ω."""
        Omega = 300.0
        frame = Frame("rotor", gravity=0)
        frame.add_points(["A", "M", "B"], [[0, 0, 0], [0.4, 0, 0], [1, 0, 0]])
        for name, start, end in (("left", "A", "M"), ("right", "M", "B")):
            frame.add_beam(name, start, end, section=Section.circle(0.04), material="steel", elements=3, **theory)
        frame.add_mass("disc", "M", 20.0, inertia=(0.5, 0.26, 0.26), offset=(0.02, 0, 0))
        frame.add_support("A", "x y z rx")
        frame.add_support("B", "y z rx")
        model = assemble_structure(frame)
        ground = spin_rotor(model, "x", Omega).dense().modes()
        turning = spin(model, "x", Omega, stiffening=False).dense().modes()
        bending = [name.endswith((".y", ".z", ".ry", ".rz")) for name in model.free]
        expected, found = set(), set()
        place = {name: k for k, name in enumerate(model.free)}
        for k, frequency in enumerate(ground.frequencies[:8]):
            shape = ground.shapes[:, k]
            if np.abs(shape[bending]).max() < 1e-6 * np.abs(shape).max():
                continue
            y, z = shape[place["M.y"]], shape[place["M.z"]]
            forward = (z / y).imag * np.sign(ground.eigenvalues[k].imag) < 0
            expected.add(round(abs(frequency - Omega) if forward else frequency + Omega, 4))
        found = {round(float(value), 4) for value in turning.frequencies}
        assert len(expected) >= 4
        assert expected <= found

    def friswell(self) -> Structure:
        """Example 5.9.1 of Friswell, Penny, Garvey, Lees, Dynamics of Rotating Machines, 2010.

        Shaft of 1.5 m and 50 mm in six elements, discs of 0.28 and 0.35 m, 70 mm thick, at 0.5 and 1 m, bearings of
        1 MN/m at both ends; E = 211 GPa, G = 81.2 GPa, 7810 kg/m³.
        """
        E, G, density, bore, width = 211e9, 81.2e9, 7810.0, 0.05, 0.07
        steel = Material("steel", E=E, G=G, density=density, poisson=E / (2 * G) - 1)
        frame = Frame("rotor", gravity=0)
        frame.add_points("p", [[0.25 * k, 0, 0] for k in range(7)])
        names = [f"p{k + 1}" for k in range(7)]
        shaft = Section.circle(bore, poisson=steel.poisson)
        frame.add_beams("shaft", names[:-1], names[1:], section=shaft, material=steel)
        for point, diameter in (("p3", 0.28), ("p5", 0.35)):
            mass = density * np.pi * width * (diameter**2 - bore**2) / 4
            J_p = density * np.pi * width * (diameter**4 - bore**4) / 32
            J_t = J_p / 2 + mass * width**2 / 12
            frame.add_mass(f"disc at {point}", point, mass, inertia=(J_p, J_t, J_t))
        for point in ("p1", "p7"):
            frame.add_spring(f"bearing {point}", point, stiffness={"y": 1e6, "z": 1e6})
        frame.add_support(names, "x rx")
        return assemble_structure(frame)

    def test_a_published_rotor_with_two_discs_whirls_as_other_software_finds(self) -> None:
        """ROSS (github.com/petrobras/ross, example 05_09_01), rad/s at rest and at 4000 rev/min, eight decimals."""
        model = self.friswell()
        still = [86.65811435, 86.65811435, 274.31285391, 274.31285391, 716.78631221, 716.78631221]
        turning = [85.389467, 87.7958637, 251.78460413, 294.71333087, 600.17936195, 827.07536193]
        for speed, expected in ((0.0, still), (4000 * np.pi / 30, turning)):
            found = spin_rotor(model, "x", speed).dense().modes().frequencies[:6]
            assert found == pytest.approx(expected, rel=1e-8)

    def test_its_critical_speeds_are_where_a_campbell_line_of_order_one_crosses(self) -> None:
        model = self.friswell()
        crossings = campbell(lambda speed: spin_rotor(model, "x", speed).dense(), np.linspace(60.0, 110.0, 11), count=4)
        speeds = [critical.speed for critical in crossings.critical_speeds]
        assert len(speeds) == 2  # backward and forward whirl of the first mode
        for speed in speeds:
            frequencies = spin_rotor(model, "x", speed).dense().modes().frequencies
            assert np.abs(frequencies / speed - 1).min() < 1e-6

    def overhung(self) -> Structure:
        """Disc at the end of a slender shaft that is held at its foot: bending, torsion and axial motion."""
        frame = Frame("overhung", gravity=0)
        frame.add_points(["A", "B"], [[0, 0, 0], [0.5, 0, 0]])
        light = Material("light", E=210e9, density=1e-3)
        frame.add_beam("shaft", "A", "B", section=Section.circle(0.02), material=light, theory="euler-bernoulli")
        frame.add_mass("disc", "B", 10.0, inertia=(1.0, 2.0, 2.0))
        frame.add_support("A", "fixed")
        return assemble_structure(frame)

    def test_torsion_that_meets_the_speed_is_no_critical_speed(self) -> None:
        """Torsion √(GJ/l J_p) = 50.4 rad/s above two whirls; only these are excited by unbalance.

        Whirl at ω = ±Ω (Stodola): mass m and rotary inertia J_t ∓ J_p on the flexible shaft.
        """
        model = self.overhung()
        found = campbell(lambda speed: spin_rotor(model, "x", speed).dense(), np.linspace(1.0, 60.0, 8), orders=(1.0,))
        EI, L, m, J_t, J_p = 210e9 * np.pi * 0.02**4 / 64, 0.5, 10.0, 2.0, 1.0
        torsion = np.sqrt(210e9 / 2.6 * np.pi * 0.02**4 / 32 / L / J_p)
        k = EI * np.array([[12 / L**3, -6 / L**2], [-6 / L**2, 4 / L]])
        expected = {}
        for name, J in (("forward", J_t - J_p), ("backward", J_t + J_p)):  # ω = ±Ω: ω² m, ω² (J_t ∓ J_p)
            squares = np.linalg.eigvals(np.linalg.solve(np.diag([m, J]), k))
            expected[name] = np.sort(np.sqrt(squares[squares > 0].real))
        every = sorted([(v, name) for name, values in expected.items() for v in values if v < 60.0])
        assert {name for _, name in every} == {"forward", "backward"}
        assert [one.whirl for one in found.critical_speeds] == [name for _, name in every]
        assert [one.speed for one in found.critical_speeds] == pytest.approx([v for v, _ in every], rel=1e-6)
        assert [one.speed for one in found.coincidences] == pytest.approx([torsion], rel=1e-6)
        assert "no critical speed, order 1: torsion or axial motion meets it" in repr(found)
        assert "(backward whirl)" in repr(found)

    def test_whirl_is_forward_with_the_spin_whichever_way_that_is(self) -> None:
        model = self.overhung()
        speeds = np.array([30.0, 40.0])
        ahead = campbell(lambda speed: spin_rotor(model, "x", speed).dense(), speeds)
        back = campbell(lambda speed: spin_rotor(model, (-1, 0, 0), speed).dense(), speeds)
        negative = campbell(lambda speed: spin_rotor(model, "x", speed).dense(), -speeds[::-1])
        expected = [one.whirl for one in ahead.critical_speeds]
        assert [one.whirl for one in back.critical_speeds] == expected
        assert [one.whirl for one in negative.critical_speeds[::-1]] == expected
        assert expected
