"""A frame cut into pieces with a floating frame each, so that the whole may bend far while each piece bends little.

Beams are divided so that the longest piece is as short as possible. A piece has static shapes of its ends and its first
vibrations; pieces that meet at a point are welded there. The error of large deflections decreases with the square of
the number of pieces (Shabana 2005, ch. 5: substructures).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.core.arguments import whole_number
from dalembert.core.arrays import FloatArray
from dalembert.core.errors import ModelError, unknown_name
from dalembert.core.findings import Advice, Call
from dalembert.model.flexible import FlexibleBodyData, FlexiblePieces
from dalembert.structures.assembly.damping import Rayleigh
from dalembert.structures.flexible_body.flexible_body import flexible_body
from dalembert.structures.flexible_body.gauges import BeamGauge, check_gauges
from dalembert.structures.frame.elements.beam import BeamProperties, Beams
from dalembert.structures.frame.frame import Frame

ELEMENTS = 4  # of a piece at least: its first vibration then has its frequency within 1e-3
ENDS = ("start", "end")


def flexible_pieces(
    frame: Frame, *, pieces: int, modes: int | None = None, damping: Rayleigh | None = None,
    stiffening: bool | str | Sequence[str] | None = None, gauges: Mapping[str, BeamGauge] | None = None,
) -> FlexiblePieces:  # fmt: skip
    """Cut the beams of a frame into flexible bodies, for `Mechanism.add_flexible_pieces`.

    Parameters
    ----------
    frame : of beams with one section each; its points are nodes of the whole.
    pieces : number of all pieces, one per beam at least.
    modes : vibration modes of each piece, besides the static shapes of its ends: 1 in the plane, 2 in space when left
        out.
    damping : ``Rayleigh(beta=...)``. A damping ratio or ``alpha`` would be that of the pieces, not of the whole.
    stiffening : geometric stiffness of the pieces, as in :func:`flexible_body`.
    gauges : by name, `BeamGauge` with x from the start of its beam.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.structures import Frame, Section, flexible_pieces
    >>> f = Frame("blade", planar=True)
    >>> f.add_points(["root", "tip"], [[0, 0], [0.5, 0]])
    >>> f.add_beam("strip", "root", "tip", section=Section.rectangle(0.004, 0.03), material="steel")
    >>> m = da.Mechanism("spun blade", planar=True)
    >>> blade = m.add_flexible_pieces("blade", flexible_pieces(f, pieces=8), position=(0, 0))
    >>> hub = m.add_revolute("hub", m.ground.at(0, 0), blade.at("root"))
    >>> [body.name for body in blade.bodies][:2], blade.at("tip"), blade.at(0.125, 0)
    (['blade1', 'blade2'], Point('blade8', (0.0625, 0)), Point('blade2', (0.0625, 0)))
    """
    beams = _beams(frame)
    count = whole_number(f"frame {frame.name!r}: pieces", pieces, len(beams), 10_000)
    if damping is not None and not (isinstance(damping, Rayleigh) and not damping.alpha):
        problem = f"frame {frame.name!r}: the damping of pieces is that of the whole only as Rayleigh(beta=...)."
        raise ModelError("not-supported", problem, Advice("Give {}.", Call("da.structures.Rayleigh")))
    places = dict(zip(frame.point_names, np.array(frame.positions)))
    lengths = [float(np.linalg.norm(places[end] - places[start])) for _, _, start, end, _ in beams]
    shares = np.ones(len(beams), dtype=int)
    while shares.sum() < count:
        shares[int(np.argmax(np.array(lengths) / shares))] += 1
    kept = (1 if frame.planar else 2) if modes is None else modes
    how: dict[str, Any] = {"nodes": ENDS, "modes": kept, "damping": damping, "stiffening": stiffening}
    names = [name for name, *_ in beams]
    for key, gauge in check_gauges(frame.name, gauges).items():
        if not isinstance(gauge, BeamGauge) or gauge.beam not in names:
            problem = unknown_name("beam", getattr(gauge, "beam", ""), names, f"frame {frame.name!r}")
            raise ModelError("unknown-name", f"gauge {key!r}: {problem}", where={"gauge": key})
    made: list[FlexibleBodyData] = []
    origins: list[FloatArray] = []
    met: dict[str, tuple[int, str]] = {}  # the piece that a point belongs to, and its end there
    welds: list[tuple[int, str, int, str]] = []

    def meet(point: str, piece: int, end: str) -> None:
        if point in met:
            welds.append((*met[point], piece, end))
        met.setdefault(point, (piece, end))

    for k, (name, group, start, end, up) in enumerate(beams):
        step = (places[end] - places[start]) / shares[k]
        part = _part(frame, name, group, up, step, int(shares[k]))
        plain = flexible_body(part, **how)
        length, last = lengths[k] / shares[k], int(shares[k]) - 1
        for j in range(last + 1):
            here = {
                key: replace(gauge, x=gauge.x - j * length) for key, gauge in (gauges or {}).items()
                if gauge.beam == name and min(max(int(gauge.x / length), 0), last) == j
            }  # fmt: skip
            data = flexible_body(part, gauges=here, **how) if here else plain
            meet(start if j == 0 else f"{name}\0{j}", len(made), "start")
            meet(end if j == last else f"{name}\0{j + 1}", len(made), "end")
            made.append(data)
            origins.append(places[start] + j * step)
    points = {name: places[name] for name in frame.point_names}
    return FlexiblePieces(
        name=frame.name, pieces=tuple(made), places=np.array(origins), welds=tuple(welds), points=points
    )


def _beams(frame: Frame) -> list[tuple[str, Beams, str, str, Any]]:
    """Name, group, ends and direction of every beam; anything else is refused."""
    if not isinstance(frame, Frame):
        raise ModelError("wrong-type", f"pieces are cut from a Frame, got {type(frame).__name__}.")
    frame.validate()
    beams = []
    for group in frame.elements:
        if not isinstance(group, Beams) or group.kind != "beam" or not _is_plain(group.properties):
            name = group.own_names()[0]
            problem = f"frame {frame.name!r}: {name!r} is no beam of one section, welded from point to point."
            advice = Advice("Add masses, springs and joints to the machine, at the nodes.")
            raise ModelError("not-supported", problem, advice, where={"name": name})
        beams += list(zip(group.names, [group] * len(group.names), group.starts, group.ends, group.ups))
    if frame.supports:
        problem = f"frame {frame.name!r}: a body cut into pieces has no supports."
        raise ModelError("not-supported", problem, Advice("Join it to the ground with {}.", Call("m.add_fixed")))
    return beams


def _is_plain(p: BeamProperties) -> bool:
    return p.end_section is None and p.offsets is None and not any(p.releases)


def _part(frame: Frame, name: str, group: Beams, up: Any, step: FloatArray, shares: int) -> Frame:
    """One piece, in the axes of the whole, its start at the origin."""
    part = Frame(frame.name, planar=frame.planar)
    part.sections, part.materials = frame.sections, frame.materials
    part.add_points(ENDS, np.array([np.zeros(3), step]))
    properties = replace(group.properties, elements=max(ELEMENTS, -(-group.properties.elements // shares)))
    part.elements.append(Beams(properties, [name], [ENDS[0]], [ENDS[1]], [up]))
    return part
