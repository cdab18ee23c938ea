"""The three-storey rig in motion: its leaves bending, exaggerated, and the pendulum that holds the top floor."""

from __future__ import annotations

import dalembert as da
from dalembert.structures import Structure, assemble
from dalembert.studies import three_storey_rig as rig
from dalembert.studies.three_storey_euk import Estimated, Held
from dalembert.view.reports.pages import Moving

WIDE = 0.3
"""Between the leaves of a storey, as drawn [m]."""
AROUND = 5.0
"""Shown before and after the law is switched on [s]."""


def drawing() -> Structure:
    """Floors on one leaf at each side; coordinates are named as those of the machine, ``floor1.x`` and so on.

    Points with brackets in their names are not labelled on the page.
    """
    section = da.structures.Section.rectangle(height=rig.THICKNESS, width=rig.WIDTH).without_shear()
    steel = da.structures.Material("spring steel", E=rig.STEEL_E, density=rig.STEEL_DENSITY)
    model = da.structures.Frame("three storeys", planar=True)
    height, below = 0.0, ("ground", "ground[right]")
    for name, x in zip(below, (0.0, WIDE), strict=True):
        model.add_point(name, x, 0.0)
        model.add_support(name, "fixed")
    for name, length, mass in zip(rig.FLOORS, rig.STATED, rig.MASSES, strict=True):
        height += length
        both = (name, f"{name}[right]")
        for point, x, foot in zip(both, (0.0, WIDE), below, strict=True):
            model.add_point(point, x, height)
            model.add_support(point, "y rz")
            model.add_beam(f"{foot} to {point}", foot, point, section=section, material=steel, theory="euler-bernoulli")
        model.add_mass(f"mass of {name}", name, mass)
        model.add_rigid(f"plate of {name}", *both, "x")
        below = both
    return assemble(model)


def swaying(estimated: Estimated) -> Moving:
    """The building before and after its top floor is held, on the estimate."""
    run = estimated.run.between(estimated.on - AROUND, estimated.on + AROUND)
    shown = run.select(*(f"{name}.x" for name in rig.FLOORS), "push")
    words = (
        f"The building from {run.time[0]:.0f} to {run.time[-1]:.0f} s at half speed, displacements exaggerated (the "
        f"slider shows the factor): at {estimated.on:.2f} s a force begins to hold the top floor still, on the "
        "estimate of the filter; the plots show its sway and the force. The pendulum is not drawn here."
    )
    page = da.animate(shown, structure=drawing(), speed=0.5, channels=[f"{rig.FLOORS[-1]}.x", "push"])
    return Moving("swaying", page, words)


def swinging(held: Held) -> Moving:
    """The machine with its pendulum, which holds the top floor until it is horizontal."""
    words = (
        f"The machine as it is drawn, twenty times slower than real: from {held.on:.2f} s on the motor swings the "
        "pendulum so that the top floor is at rest. Floors move by a millimetre, which is not visible here."
    )
    return Moving("pendulum", da.animate(held.run, speed=0.05), words)
