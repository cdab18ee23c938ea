"""Group ``solid-link``: a bent aluminium link with holes, from its mesh of 20 000 nodes to a moving machine."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Emit, Row, ask
from benchmarks.structures import figure

DIVISIONS = (140, 24, 5)
ALLOWED = 60.0  # s, mesh, body, equations, run and animation, each for the first time in its process
REACH, RADIUS = 0.26, 0.4  # between the holes along the middle line, and radius that this line is bent to [m]


def rows() -> list[Row]:
    mine = figure(ask("benchmarks.solid_link", "ours", {"divisions": DIVISIONS}, limit=600.0))
    extra = {"details": {"ours": mine}, "note": mine.get("split", "")}
    return [
        Row(f"solid-link/{mine.get('points', 0)} nodes", "s", mine.get("cpu"), {"allowed": ALLOWED}, 1.0, extra=extra)
    ]


def bent_link(divisions: tuple[int, int, int]) -> Any:
    """A plate of 300 x 40 x 10 mm with a hole at each end, bent to an arc; the first hole is at the origin.

    The walls of the holes are the point sets "big end" and "small end".
    """
    from dalembert.structures import box_mesh

    plate = box_mesh((0.30, 0.04, 0.01), divisions, origin=(-0.02, -0.02, -0.005), name="link")
    x, y, _ = plate.points[plate.cells].mean(axis=1).T
    plate = plate.replace(cells=plate.cells[np.minimum(np.hypot(x, y), np.hypot(x - REACH, y)) > 0.008])
    x, y, z = plate.points.T
    angle, distance = x / RADIUS, RADIUS - y
    walls = {name: np.flatnonzero(np.hypot(x - at, y) < 0.010) for name, at in (("big end", 0.0), ("small end", REACH))}
    places = np.stack([distance * np.sin(angle), RADIUS - distance * np.cos(angle), z], axis=1)
    return plate.replace(points=places, point_sets=walls)


def move(mesh: Any, page: Path) -> Any:
    """What a user writes: from a mesh to the animation of a slider-crank whose connecting rod it is."""
    import dalembert as da
    from dalembert.structures import Solid, flexible_body

    link = Solid("link", mesh, "aluminium")
    for end in ("big end", "small end"):
        link.add_interface(end, end)
    m = da.Mechanism("slider-crank", gravity=(0, -9.81, 0))
    crank = m.add_body("crank", mass=0.2, inertia=da.rod(0.05), position=(0.025, 0, 0))
    rod = m.add_flexible_body("rod", flexible_body(link, modes=6), position=(0.05, 0, 0), cutoff_hz=3000.0)
    slider = m.add_body("slider", mass=0.5, inertia=1e-4, position=(0.3, 0, 0))
    m.add_revolute("A", m.ground.frame(0, 0, 0), crank.frame(-0.025, 0, 0))
    m.add_revolute("B", crank.frame(0.025, 0, 0), rod.frame("big end"))
    m.add_spherical("C", rod.at("small end"), slider.at(0, 0, 0))
    m.add_prismatic("D", m.ground.frame(0, 0, 0, axis=(1, 0, 0)), slider.frame(0, 0, 0, axis=(1, 0, 0)))
    m.add_driver("motor", "A.angle", lambda t: 60.0 * t)
    m.add_sensor("bending", da.deflection(rod.at("small end")))
    run = da.simulate(da.equations(m), 0.2, method=da.GeneralizedAlpha(step=1e-4), every=1e-3)
    da.animate(run, page)
    return run


def ours(task: dict[str, Any], emit: Emit) -> None:
    """Everything counted, imports too."""
    begin, cpu = time.perf_counter(), time.process_time()
    mesh = bent_link(tuple(task["divisions"]))
    meshed = time.process_time() - cpu
    with tempfile.TemporaryDirectory() as folder:
        run = move(mesh, Path(folder) / "link.html")
    cpu, elapsed = time.process_time() - cpu, time.perf_counter() - begin
    stroke = float(np.ptp(run["slider.x"]))
    split = f"{elapsed:.1f} s by the clock, mesh {meshed:.1f} s; stroke {1e3 * stroke:.2f} mm"
    emit({"cpu": cpu, "elapsed": elapsed, "points": len(mesh.points), "stroke": stroke, "split": split})
