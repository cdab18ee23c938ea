"""A crank-rocker four-bar swings freely under gravity: the first example, and the demo.

Crank 0.2 m, coupler 0.6 m, rocker 0.5 m, ground 0.7 m, uniform rods of 1 kg/m, open branch; the crank starts upright at
10 rad/s. Without torque the machine is conservative, so after 24 turns the crank angle is a sharp check.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path

import dalembert as da
from dalembert.core.atomic_files import replace_file

FINAL_ANGLE = 149.5885938329
"""Crank angle after 10 s without torque [rad]: the reference value of this problem.

Good to 5e-10: quadrature of the energy integral in the crank angle, with 25 digits, gives 149.588593833341.
"""


@dataclass(frozen=True)
class DemoResult:
    """Results of the demo: rows of (quantity, value, unit), and the files it wrote."""

    rows: tuple[tuple[str, str, str], ...]
    files: tuple[Path, ...]
    record: da.Record


def mechanism() -> da.Mechanism:
    """The machine: three rods, four revolute joints, a motor torque at the crank, an encoder."""
    m = da.Mechanism("crank-rocker", planar=True)
    crank = m.add_body("crank", mass=0.2, inertia=da.rod(0.2))
    coupler = m.add_body("coupler", mass=0.6, inertia=da.rod(0.6))
    rocker = m.add_body("rocker", mass=0.5, inertia=da.rod(0.5))
    m.add_revolute("A", m.ground.at(0, 0), crank.at(-0.1, 0))
    m.add_revolute("B", crank.at(0.1, 0), coupler.at(-0.3, 0))
    m.add_revolute("C", coupler.at(0.3, 0), rocker.at(0.25, 0))
    m.add_revolute("D", m.ground.at(0.7, 0), rocker.at(-0.25, 0))
    m.add_actuator("motor", joint="A", input="torque")
    m.add_sensor("encoder", da.angle("A"))
    return m


def simulate(until: float = 10.0) -> da.Record:
    """The free motion, sampled every 10 ms."""
    eqs = da.equations(mechanism())
    start = da.assemble(eqs, {"A.angle": math.pi / 2}, velocity={"A.angle": 10.0})
    return da.simulate(eqs, until=until, start=start, inputs={"torque": 0.0}, every=0.01)


def demo(out: Path) -> DemoResult:
    """Simulate, compare with the reference, write figure, record and animation into ``out``.

    Every file appears whole or not at all.
    """
    began = time.process_time()
    run = simulate()
    cpu = time.process_time() - began
    out.mkdir(parents=True, exist_ok=True)
    files = tuple(out / f"crank-rocker.{kind}" for kind in ("png", "csv", "html"))
    picture, table, animation = files
    with replace_file(picture) as temporary:
        da.plot(run, "A.rate", "D.angle", "energy.balance").savefig(temporary, dpi=150)
    da.write_record(run, table)
    da.animate(run, animation)
    return DemoResult(rows=_rows(run, cpu), files=files, record=run)


def _rows(run: da.Record, cpu: float) -> tuple[tuple[str, str, str], ...]:
    angle, rate, rocker = float(run["A.angle"][-1]), run["A.rate"], run["D.angle"]
    return (
        ("turns of the crank", f"{(angle - run['A.angle'][0]) / (2.0 * math.pi):.2f}", ""),
        ("crank rate, least", f"{rate.min():.3f}", "rad/s"),
        ("crank rate, most", f"{rate.max():.3f}", "rad/s"),
        ("swing of the rocker", f"{math.degrees(rocker.max() - rocker.min()):.2f}", "deg"),
        ("final crank angle", f"{angle:.10f}", "rad"),
        ("reference", f"{FINAL_ANGLE:.10f}", "rad"),
        ("difference", f"{angle - FINAL_ANGLE:.1e}", "rad"),
        ("energy balance, largest", f"{abs(run['energy.balance']).max():.1e}", "J"),
        ("joint gap, largest", f"{abs(run['residual.position']).max():.1e}", "m"),
        ("steps", f"{run.statistics.get('steps', '-')}", ""),
        ("CPU time, equations and run", f"{cpu:.3f}", "s"),
    )
