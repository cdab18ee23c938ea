"""Flexible bodies for pictures: a cantilever with polynomial modes, as lines, as a surface, or by its nodes only."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import dalembert as da
from dalembert.core.arrays import FloatArray
from dalembert.model.flexible import BodyPicture, FlexibleBodyData, FlexibleNode
from dalembert.record import Record

LENGTH, LINE_MASS, STIFFNESS = 0.5, 0.8, 2.0  # m, kg/m, N m²


def motion(x: FloatArray, spatial: bool) -> tuple[FloatArray, FloatArray]:
    """Translation and rotation (n, 3, m) of sections: (x/l)² and (x/l)³ along y, in space also (x/l)² along z."""
    s = x / LENGTH
    translation, rotation = (np.zeros((len(x), 3, 3 if spatial else 2)) for _ in range(2))
    translation[:, 1, 0], rotation[:, 2, 0] = s**2, 2 * s / LENGTH
    translation[:, 1, 1], rotation[:, 2, 1] = s**3, 3 * s**2 / LENGTH
    if spatial:
        translation[:, 2, 2], rotation[:, 1, 2] = s**2, -2 * s / LENGTH
    return translation, rotation


def lines(spatial: bool, count: int = 21) -> BodyPicture:
    x = np.linspace(0.0, LENGTH, count)
    points = np.column_stack([x, 0 * x, 0 * x])
    first = np.arange(count - 1)
    pairs, none = np.column_stack([first, first + 1]), np.zeros((0, 3), dtype=np.intp)
    return BodyPicture(points=points, modes=motion(x, spatial)[0], lines=pairs, triangles=none)


def surface(spatial: bool, count: int = 21, side: float = 0.02) -> BodyPicture:
    """The skin of a square bar; its sections stay plane."""
    x = np.repeat(np.linspace(0.0, LENGTH, count), 4)
    corner = np.tile(0.5 * side * np.array([[0, -1, -1], [0, 1, -1], [0, 1, 1], [0, -1, 1]]), (count, 1))
    translation, rotation = motion(x, spatial)
    modes = translation + np.stack([np.cross(rotation[:, :, k], corner) for k in range(translation.shape[2])], axis=2)
    faces = []
    for k in range(count - 1):
        for a, b in ((0, 1), (1, 2), (2, 3), (3, 0)):
            i, j = 4 * k + a, 4 * k + b
            faces += [(i, j, j + 4), (i, j + 4, i + 4)]
    last = 4 * count - 4
    faces += [(0, 2, 1), (0, 3, 2), (last, last + 1, last + 2), (last, last + 2, last + 3)]
    corners = np.column_stack([x, 0 * x, 0 * x]) + corner
    none = np.zeros((0, 2), dtype=np.intp)
    return BodyPicture(points=corners, modes=modes, lines=none, triangles=np.array(faces, dtype=np.intp))


def cantilever(picture: BodyPicture | None = None, *, spatial: bool = False) -> FlexibleBodyData:
    """A slender beam along x, held at its root, with nodes root, middle and tip."""
    s, w = np.polynomial.legendre.leggauss(8)
    x, dm = LENGTH * (s + 1) / 2, LINE_MASS * LENGTH * w / 2
    points = np.column_stack([x, 0 * x, 0 * x])
    S = motion(x, spatial)[0]
    moments, products = np.einsum("n,na,nbm->abm", dm, points, S), np.einsum("n,nam,nbk->abmk", dm, S, S)
    inertia = np.diag([0.0, dm @ x**2, dm @ x**2])
    curvature = np.zeros((len(x), S.shape[2], 2))
    curvature[:, 0, 0], curvature[:, 1, 0] = 2 / LENGTH**2, 6 * x / LENGTH**3
    if spatial:
        curvature[:, 2, 1] = 2 / LENGTH**2
    stiffness = STIFFNESS / LINE_MASS * np.einsum("n,nma,nka->mk", dm, curvature, curvature)
    places = {"root": 0.0, "middle": LENGTH / 2, "tip": LENGTH}
    nodes = []
    for name, at in places.items():
        translation, rotation = motion(np.array([at]), spatial)
        place = np.array([at, 0.0, 0.0])
        nodes.append(FlexibleNode(name=name, place=place, translation=translation[0], rotation=rotation[0]))
    return FlexibleBodyData(
        name="cantilever", mass=float(dm.sum()), first_moment=dm @ points, inertia=inertia,
        translation=np.einsum("n,nam->am", dm, S),
        rotation=moments[[1, 2, 0], [2, 0, 1]] - moments[[2, 0, 1], [1, 2, 0]],
        modal_mass=np.einsum("aamk->mk", products), moments=moments, products=products, stiffness=stiffness,
        damping=0.002 * stiffness, nodes=tuple(nodes), picture=picture,
    )  # fmt: skip


def pendulum(picture: BodyPicture | None = None, *, spatial: bool = False) -> da.Mechanism:
    """A flexible rod on a hinge, with a mass at its tip, a spring at its middle and a force at its tip."""
    m = da.Mechanism("flexible pendulum", planar=not spatial, gravity=(0, -9.81, 0) if spatial else (0, -9.81))
    rod = m.add_flexible_body("rod", cantilever(picture, spatial=spatial))
    bob = m.add_body("bob", mass=0.1, inertia=1e-4, position=(LENGTH, 0, 0) if spatial else (LENGTH, 0))
    origin = (0, 0, 0) if spatial else (0, 0)
    if spatial:
        m.add_revolute("A", m.ground.frame(*origin, axis=(0, 0, 1)), rod.frame("root", axis=(0, 0, 1)))
        m.add_spherical("B", rod.at("tip"), bob.at(*origin))
    else:
        m.add_revolute("A", m.ground.at(*origin), rod.at("root"))
        m.add_revolute("B", rod.at("tip"), bob.at(*origin))
    above = (0.25, 0.4, 0) if spatial else (0.25, 0.4)
    m.add_spring("k", rod.at("middle"), m.ground.at(*above), stiffness=20.0, free_length=0.3)
    m.add_sensor("tip", da.position(rod.at("tip")))
    m.add_sensor("middle", da.position(rod.at("middle")))
    m.add_force("push", rod.at("middle"), (0, 0.5, 0) if spatial else (0, 0.5), axes="body")
    return m


def swing(picture: BodyPicture | None = None, *, spatial: bool = False, until: float = 0.4) -> Record:
    """A run of the pendulum from a level start."""
    eqs = da.equations(pendulum(picture, spatial=spatial))
    with warnings.catch_warnings():  # its data have no geometric stiffness, and the bob pulls
        warnings.simplefilter("ignore", da.errors.SimulationWarning)
        return da.simulate(eqs, until, start=da.assemble(eqs, {"A.angle": 0.0}), every=0.005, progress=False)


def stiffened_swing(planar: bool = True) -> Record:
    """A soft strip with geometric stiffness and a bob at its tip, which bends by a tenth of its length."""
    from dalembert.structures import Frame, Section, flexible_body

    frame = Frame("strip", planar=planar)
    frame.add_points(["root", "tip"], [[0.0, 0.0], [LENGTH, 0.0]] if planar else [[0.0] * 3, [LENGTH, 0.0, 0.0]])
    frame.add_beam("strip", "root", "tip", section=Section.rectangle(0.002, 0.03), material="steel", elements=8)
    data = flexible_body(frame, basis="clamped", fixed="root", modes=2, stiffening="forces", damping=0.02)
    m = da.Mechanism("strip", planar=planar)
    strip = m.add_flexible_body("rod", data)
    place = (LENGTH, 0) if planar else (LENGTH, 0, 0)
    bob = m.add_body("bob", mass=0.15, inertia=1e-5, position=place)
    if planar:
        m.add_fixed("wall", m.ground.at(0, 0), strip.at("root"))
        m.add_fixed("B", strip.at("tip"), bob.at(0, 0))
    else:
        m.add_fixed("wall", m.ground.frame(0, 0, 0), strip.frame("root"))
        m.add_fixed("B", strip.frame("tip"), bob.frame(0, 0, 0))
    m.add_sensor("tip", da.position(strip.at("tip")))
    eqs = da.equations(m)
    method = da.GeneralizedAlpha(step=1e-3)
    return da.simulate(eqs, 0.3, start=da.assemble(eqs), method=method, every=0.005, progress=False)


def spatial_four_bar(modes: int, **drive: Any) -> da.Mechanism:
    """Crank, flexible coupler and rocker on a tilted axis; as drawn the axes of the universal joint are parallel.

    drive : of a driver of the crank, which turns all the way round.
    """
    from dalembert.structures import BeamGauge, Frame, Section, flexible_body

    def strip(name: str, length: float) -> FlexibleBodyData:
        frame = Frame(name)
        frame.add_points(["a", "middle", "b"], [[0, 0, 0], [length / 2, 0, 0], [length, 0, 0]])
        for start, end in (("a", "middle"), ("middle", "b")):
            frame.add_beam(start, start, end, section=Section.rectangle(0.006, 0.02), material="aluminium", elements=4)
        gauges = {"gauge": BeamGauge(beam="middle", x=0.0, y=0.003)}
        return flexible_body(frame, modes=modes, damping=0.01, interfaces=["a", "b"], gauges=gauges)

    m = da.Mechanism("spatial four-bar")
    crank = m.add_body("crank", mass=0.3, inertia=da.box(0.1, 0.02, 0.02), position=(0.05, 0, 0))
    coupler = m.add_flexible_body("coupler", strip("coupler", 0.6), position=(0.1, 0, 0))
    rocker = m.add_flexible_body("rocker", strip("rocker", 0.35), position=(0.4, 0.3, 0))
    m.add_revolute("A", m.ground.frame(0, 0, 0, axis=(0, 0, 1)), crank.frame(-0.05, 0, 0, axis=(0, 0, 1)))
    m.add_spherical("B", crank.at(0.05, 0, 0), coupler.at("a"))
    m.add_universal("C", coupler.frame("b"), rocker.frame("b", axis=(0, 1, 0)))
    m.add_revolute("D", m.ground.frame(0.4, 0.3, 0, axis=(1, 0.2, 0.1)), rocker.frame("a", axis=(0, 1, 0)))
    m.add_sensor("middle", da.position(coupler.at("middle")))
    m.add_sensor("bending", da.deflection(coupler.at("middle"), start=coupler.at("a"), end=coupler.at("b")))
    m.add_sensor("strain", da.strain(coupler, "gauge"))
    if drive:
        m.add_driver("motor", "A.angle", **drive)
    return m


def straight_bar(
    length: float, width: float, height: float, *, planar: bool, material: str = "steel", **options: Any
) -> FlexibleBodyData:
    """A slender bar along x between nodes a and b."""
    from dalembert.structures import Frame, Section, flexible_body

    size = 2 if planar else 3
    frame = Frame("bar", planar=planar)
    frame.add_points(["a", "b"], [[0.0] * size, [length] + [0.0] * (size - 1)])
    section = Section.rectangle(width, height).without_shear()
    frame.add_beam("beam", "a", "b", section=section, material=material, elements=4)
    return flexible_body(frame, **options)


def welded_pieces(
    count: int, length: float, width: float, height: float, *, planar: bool, force: Any = None, **options: Any
) -> da.Mechanism:
    """A cantilever along x in pieces p0, p1, ... that are welded to each other, with a dead force at its tip."""
    m = da.Mechanism("pieces", planar=planar, gravity=0)
    data = straight_bar(length / count, width, height, planar=planar, **options)
    none = (0.0,) if planar else (0.0, 0.0)
    end = m.ground.at(0.0, *none)
    for k in range(count):
        piece = m.add_flexible_body(f"p{k}", data, position=(k * length / count, *none))
        m.add_fixed(f"weld{k}", end, piece.at("a"))
        end = piece.at("b")
    if force is not None:
        m.add_force("tip load", end, force)
    m.add_sensor("tip", da.position(end))
    return m
