"""Flexible bodies under loads along their axis and under moments: stiffness by tension, buckling, and warnings.

A beam on hinges under the thrust P has ω² = ω₁² (1 - P/P_E) with Euler's load P_E = π² EI/L² (exact: its mode is the
sine of its buckling). A narrow cantilever turns sideways under a force of 4.0126 √(EI GJ)/L² across its tip (Prandtl
1899), a narrow beam in fork bearings under end moments of π √(EI GJ)/L.
"""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.mechanics.bodies.floating import estimate_buckling
from dalembert.structures import Frame, Material, Section, flexible_body
from tests.helpers.findings import warns
from tests.helpers.repetitions import few

LENGTH = 1.0
STEEL = Material("steel like", E=2e11, density=7800.0)
BAR = Section.rectangle(0.01, 0.02).without_shear()
EULER = np.pi**2 * STEEL.E * BAR.I_z / LENGTH**2
NARROW = Section(area=1e-4, I_y=1e-6, I_z=2.5e-11, J=1e-10)  # stiff against the load: it buckles before it bends
SIDEWAYS = np.sqrt(STEEL.E * NARROW.I_z * STEEL.G * NARROW.J)


def rod(**how: Any) -> Any:
    frame = Frame("rod", planar=True)
    frame.add_points(["a", "b"], [[0.0, 0.0], [LENGTH, 0.0]])
    frame.add_beam("rod", "a", "b", section=BAR, material=STEEL, elements=12, rotary=False)
    return flexible_body(frame, **{"modes": 4, **how})


def pushed_rod(thrust: float, **how: Any) -> da.EquationsOfMotion:
    """A rod on a hinge and a slider, which the thrust pushes."""
    m = da.Mechanism("strut", planar=True, gravity=0)
    body = m.add_flexible_body("rod", rod(**how), position=(0, 0))
    slider = m.add_body("slider", mass=0.1, inertia=1e-3, position=(LENGTH, 0))
    m.add_revolute("A", m.ground.at(0, 0), body.at("a"))
    m.add_revolute("B", body.at("b"), slider.at(0, 0))
    m.add_prismatic("D", m.ground.at(0, 0), slider.at(0, 0))
    m.add_force("thrust", slider.at(0, 0), (-thrust, 0))
    return da.equations(m)


def lowest_square(eqs: da.EquationsOfMotion) -> float:
    """Lowest ω² about rest [rad²/s²], negative beyond buckling."""
    linear = da.linearize(eqs, at=da.equilibrium(eqs))
    return float(np.linalg.eigvals(np.linalg.solve(linear.M, linear.K)).real.min())


@pytest.mark.parametrize("how", few([{}, {"reference": "a"}]), ids=["mean axis", "tangent"])
def test_a_rod_under_thrust_loses_the_share_of_its_buckling_load(how: Any) -> None:
    """Defaults: four modes beside the static shapes miss 1e-4 of the shape of buckling."""
    free = lowest_square(pushed_rod(0.0, **how))
    for share in (0.05, 0.2, -0.2):
        assert lowest_square(pushed_rod(share * EULER, **how)) / free == pytest.approx(1 - share, abs=2e-4)


def test_bodies_with_two_interfaces_have_a_mean_axis_and_beams_are_stiffened() -> None:
    frame = Frame("rod", planar=True)
    frame.add_points(["a", "b"], [[0.0, 0.0], [LENGTH, 0.0]])
    frame.add_beam("rod", "a", "b", section=BAR, material=STEEL, elements=12)
    assert flexible_body(frame, modes=4).reference == "mean axis"
    assert flexible_body(frame, modes=4, interfaces=["b"]).reference == "attached"
    for how, stiffened in (
        ({"modes": 13}, True), ({"modes": 14}, False),  # three static shapes beside them: 16 and 17 modes
        ({"modes": 4, "fixed": "a"}, True), ({"modes": 4, "basis": "free"}, False),
        ({"modes": 4, "stiffening": False}, False),
        ({"modes": 4, "fixed": "n0", "nodes": {f"n{k}": (k / 12, 0.0, 0.0) for k in range(8)}}, True),
        ({"modes": 4, "fixed": "n0", "nodes": {f"n{k}": (k / 12, 0.0, 0.0) for k in range(9)}}, False),
    ):  # fmt: skip
        assert (flexible_body(frame, **how).stiffening is not None) == stiffened, how


def run(eqs: da.EquationsOfMotion, start: da.State) -> da.Record:
    return da.simulate(eqs, 0.005, start=start, method=da.GeneralizedAlpha(step=1e-3), progress=False)


def rest(eqs: da.EquationsOfMotion) -> da.Record:
    return run(eqs, da.equilibrium(eqs))


def check_warned(eqs: da.EquationsOfMotion) -> None:
    """Rest and a run from there warn."""
    with warns(da.errors.ModelWarning, "axial-load", "rod", "stiffening"):
        state = da.equilibrium(eqs)
    with warns(da.errors.SimulationWarning, "axial-load", "rod", "stiffening"):
        run(eqs, state)


@pytest.mark.parametrize(("reference", "critical"), few([("mean axis", EULER), ("a", EULER / 4)]))
def test_a_run_warns_of_an_axial_load_beyond_two_percent_of_the_buckling_load(reference: str, critical: float) -> None:
    """On hinges in a mean axis, as a cantilever with the frame at its root; from rest under the thrust."""
    how = {"reference": reference, "stiffening": False}
    rest(pushed_rod(0.0195 * critical, **how))
    check_warned(pushed_rod(0.0205 * critical, **how))
    rest(pushed_rod(0.2 * critical, reference=reference))  # with geometric stiffness


def blade(stiffening: Any, *, hub: float = 0.0, tip: float = 0.0) -> da.EquationsOfMotion:
    """A blade on a hub of some radius, with a mass at its tip."""
    m = da.Mechanism("rotor", planar=True, gravity=0)
    disc = m.add_body("disc", mass=1.0, inertia=1.0, position=(0, 0))
    body = m.add_flexible_body("blade", rod(fixed="a", stiffening=stiffening), position=(hub, 0))
    m.add_revolute("hub", m.ground.at(0, 0), disc.at(0, 0))
    m.add_fixed("root", disc.at(hub, 0), body.at("a"))
    if tip:
        load = m.add_body("load", mass=tip, inertia=1e-4, position=(hub + LENGTH, 0))
        m.add_fixed("tip", body.at("b"), load.at(0, 0))
    return da.equations(m)


@pytest.mark.parametrize("more", few([{"hub": 0.5}, {"tip": 0.5}]), ids=["hub with radius", "mass at the tip"])
def test_centrifugal_stiffness_alone_warns_of_other_tension(more: Any) -> None:
    def turn(eqs: da.EquationsOfMotion) -> None:
        run(eqs, da.assemble(eqs, velocity={"hub.angle": 30.0}))

    with warns(da.errors.SimulationWarning, "axial-load", "blade", "stiffening"):
        turn(blade("centrifugal", **more))
    turn(blade(True, **more))
    turn(blade("centrifugal"))  # of its own rotation alone


@pytest.mark.parametrize("more", [{"hub": 0.5}, {"tip": 0.5}], ids=["hub with radius", "mass at the tip"])
def test_linear_models_and_steady_motions_warn_as_runs_do(more: Any) -> None:
    for stiffening in ("centrifugal", True):
        eqs = blade(stiffening, **more)
        steady = da.assemble(eqs, velocity={"hub.angle": 30.0})

        def expect(stiffening: Any = stiffening) -> Any:
            return nullcontext() if stiffening is True else warns(da.errors.ModelWarning, "axial-load", "blade")

        with expect():
            da.linearize(eqs, at=steady, anywhere=True)
        with expect():
            da.equilibrium(eqs, rates={"hub": 30.0})


def test_stiffness_by_forces_alone_warns_of_tension_by_acceleration() -> None:
    """The tip mass pulls by its node, which stiffens; the hub accelerates the blade itself, which nothing stiffens."""

    def turn(eqs: da.EquationsOfMotion) -> None:
        run(eqs, da.assemble(eqs, velocity={"hub.angle": 30.0}))

    with warns(da.errors.SimulationWarning, "axial-load", "blade", "stiffening"):
        turn(blade(("centrifugal", "forces"), hub=0.5))
    turn(blade(("centrifugal", "forces"), tip=0.5))
    turn(blade(("centrifugal", "acceleration", "forces"), hub=0.5, tip=0.5))


def column(kind: str, support: str = "") -> Frame:
    """A body of twelve elements, free or supported and pushed along its axis."""
    frame = Frame("rod", planar=True)
    names = ["a", *(f"p{k}" for k in range(1, 12)), "b"]
    frame.add_points(names, [[x, 0.0] for x in np.linspace(0.0, LENGTH, 13)])
    for k in range(12):
        side = 0.02 * (1.0 - (0.5 * (k + 0.5) / 12 if kind == "tapered" else 0.0))
        section = Section.i_section(0.05, 0.03, 0.004, 0.003) if kind == "I" else Section.square(side)
        frame.add_beam(f"e{k}", names[k], names[k + 1], section=section, material=STEEL)
    if kind == "heavy tip":
        frame.add_mass("load", "b", mass=20.0)
    if support:
        frame.add_support("a", "fixed" if support == "clamped" else "pinned")
        if support == "hinges":
            frame.add_support("b", "y")
        frame.add_force("thrust", "b", (-1.0, 0.0))
    return frame


@pytest.mark.parametrize("support", ["hinges", "clamped"])
@pytest.mark.parametrize("kind", ["plain", "I", "tapered", "heavy tip"])
def test_the_estimate_of_the_buckling_load_is_that_of_the_model(kind: str, support: str) -> None:
    """Its flexibility decides, not its mass. A quarter: a taper to half the height has it where buckling does not."""
    exact = da.structures.find_buckling(da.structures.assemble_structure(column(kind, support)), "thrust").critical
    how = {"fixed": "a"} if support == "clamped" else {}
    data = flexible_body(column(kind), modes=6, nodes=["a", "b"], stiffening=False, **how)
    assert estimate_buckling(data)[2] == pytest.approx(exact, rel=0.25 if kind == "tapered" else 0.02)


def test_a_load_of_a_force_element_is_seen() -> None:
    m = da.Mechanism("column", planar=True, gravity=0)
    body = m.add_flexible_body("rod", rod(fixed="a", stiffening=False), position=(0, 0))
    m.add_fixed("foot", m.ground.at(0, 0), body.at("a"))
    m.add_force("weight", body.at("b"), (-0.1 * EULER / 4, 0))
    check_warned(da.equations(m))


def narrow_beam(count: int, modes: int, **how: Any) -> tuple[da.Mechanism, list[Any]]:
    """A beam in so many welded pieces."""
    frame = Frame("piece")
    frame.add_points(["a", "b"], [[0.0] * 3, [LENGTH / count, 0.0, 0.0]])
    frame.add_beam("strip", "a", "b", section=NARROW, material=STEEL, elements=6, up=(0, 1, 0), rotary=False)
    data = flexible_body(frame, modes=modes, **how)
    m = da.Mechanism("narrow beam", gravity=0)
    bodies = [m.add_flexible_body(f"b{k}", data, position=(LENGTH / count * k, 0, 0)) for k in range(count)]
    for k in range(1, count):
        m.add_fixed(f"weld{k}", bodies[k - 1].frame("b"), bodies[k].frame("a"))
    return m, bodies


def under_force(count: int, share: float, modes: int = 4, **how: Any) -> float:
    """Lowest ω² of a cantilever under a share of Prandtl's load."""
    m, bodies = narrow_beam(count, modes, **how)
    m.add_fixed("wall", m.ground.frame(0, 0, 0), bodies[0].frame("a"))
    m.add_force("load", bodies[-1].at("b"), (0, 0, -share * 4.0126 * SIDEWAYS / LENGTH**2))
    return lowest_square(da.equations(m))


def under_moment(count: int, share: float, modes: int = 4, **how: Any) -> float:
    """Lowest ω² of a beam in fork bearings, which do not let its ends twist, under end moments."""
    m, bodies = narrow_beam(count, modes, **how)
    moment, tiny = share * np.pi * SIDEWAYS / LENGTH, {"mass": 1e-3, "inertia": 1e-6}
    carriage = m.add_body("carriage", **tiny, position=(LENGTH, 0, 0))
    m.add_prismatic("slide", m.ground.frame(LENGTH, 0, 0, axis=(1, 0, 0)), carriage.frame(0, 0, 0, axis=(1, 0, 0)))
    for name, ground, x, node, sign in (
        ("left", m.ground.frame(0, 0, 0, axis=(0, 1, 0)), 0.0, bodies[0].frame("a"), 1),
        ("right", carriage.frame(0, 0, 0, axis=(0, 1, 0)), LENGTH, bodies[-1].frame("b"), -1),
    ):
        end = m.add_body(name, **tiny, position=(x, 0, 0))
        m.add_fixed(f"{name} weld", end.frame(0, 0, 0), node)
        m.add_universal(f"{name} fork", ground, end.frame(0, 0, 0, axis=(0, 0, 1)))
        m.add_torque(f"{name} moment", end, (0, sign * moment, 0))
    return lowest_square(da.equations(m))


def critical_share(square: Any, *given: Any, **how: Any) -> float:
    """Share of the known load at which ω² is zero; it is nearly a straight line above 0.9."""
    below, above = (square(given[0], share, *given[1:], **how) for share in (0.9, 1.0))
    return float(0.9 + 0.1 * below / (below - above))


@pytest.mark.slow
def test_cutting_a_stiffened_body_does_not_change_its_lateral_buckling() -> None:
    """1 % with four modes beside the static shapes; two pieces without moments in their stiffness buckle at 1.107."""
    whole, cut = (critical_share(under_force, count) for count in (1, 2))
    assert 1.0 < cut < whole < 1.01


@pytest.mark.slow
@pytest.mark.parametrize("square", [under_force, under_moment])
def test_pieces_buckle_sideways_under_the_known_load(square: Any) -> None:
    """1, 2 and 4 pieces of six elements with eight modes: 1.5 %, and a quarter of the error with twice the pieces."""
    errors = [critical_share(square, count, modes=8) - 1.0 for count in (1, 2, 4)]
    assert 0.0 < errors[2] < 0.3 * errors[1] < 0.09 * errors[0] < 0.09 * 0.015


@pytest.mark.slow
def test_moments_at_nodes_conserve_energy() -> None:
    """Two welded strips swing far out of plane under a moment at their tip fixed in space and a weight: power of the
    moment and energy balance to the tolerance of the run."""
    frame = Frame("strip")
    frame.add_points(["a", "b"], [[0.0] * 3, [0.3, 0.0, 0.0]])
    frame.add_beam("strip", "a", "b", section=Section.rectangle(0.002, 0.02), material=STEEL, elements=4)
    data = flexible_body(frame, modes=1, stiffening=True)
    assert data.stiffening is not None and data.stiffening.moments
    m = da.Mechanism("strips", gravity=(0, -9.81, 0))
    first, second = (m.add_flexible_body(f"b{k}", data, position=(0.3 * k, 0, 0)) for k in range(2))
    m.add_fixed("wall", m.ground.frame(0, 0, 0), first.frame("a"))
    m.add_fixed("weld", first.frame("b"), second.frame("a"))
    weight = m.add_body("weight", mass=0.05, inertia=1e-5, position=(0.6, 0, 0.05))
    m.add_fixed("clamp", second.frame("b"), weight.frame(0, 0, -0.05))
    m.add_torque("twist", weight, (0.05, 0.0, 0.0))
    eqs = da.equations(m)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", da.errors.SimulationWarning)
        swing = da.simulate(eqs, 0.05, method=da.Rosenbrock(rtol=1e-8, atol=1e-10), every=1e-3, progress=False)
    assert np.abs(swing["energy.balance"]).max() < 1e-6 * np.ptp(swing["energy.kinetic"])
