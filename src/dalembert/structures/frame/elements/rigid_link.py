"""Rigid links of a frame: points that follow another point as one rigid body, u_s = u_m + θ_m × d."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from dalembert.core.findings import Advice, Finding
from dalembert.structures.assembly.structure import rigid_motions
from dalembert.structures.frame import arguments
from dalembert.structures.frame.arguments import DIRECTIONS
from dalembert.structures.frame.element import FRAME_ELEMENTS, FrameElement, FrameModel

if TYPE_CHECKING:
    from dalembert.structures.frame.frame import Frame


@dataclass(frozen=True)
class RigidLink(FrameElement):
    """Slaves that follow a master point as one rigid body, in ``directions``."""

    kind: ClassVar[str] = "rigid link"
    carries: ClassVar[bool] = False
    name: str
    master: str
    slaves: tuple[str, ...]
    directions: tuple[str, ...]

    @property
    def attached(self) -> Sequence[str]:
        return (self.master, *self.slaves)

    @classmethod
    def find_common_problems(cls, elements: Sequence[RigidLink], frame: Frame) -> list[Finding]:
        problems: list[Finding] = []
        used: dict[tuple[str, str], str] = {}
        leader: dict[str, set[str]] = {}
        for link in elements:
            if not link.slaves:
                problems.append(Finding("empty", f"rigid link {link.name!r} has no slaves.", {"link": link.name}))
            for slave in link.slaves:
                leader.setdefault(slave, set()).add(link.master)
                if slave == link.master:
                    problem = f"rigid link {link.name!r}: {slave!r} is both master and slave."
                    problems.append(Finding("conflicting-links", problem, {"link": link.name, "point": slave}))
                    continue
                for way in link.directions:
                    other = used.setdefault((slave, way), link.name)
                    if other != link.name:
                        problem = f"point {slave!r} is a slave of {other!r} and of {link.name!r} in {way}."
                        problems.append(Finding("conflicting-links", problem, {"point": slave}))
                        break
        problems += _circles(leader)
        for support in frame.supports:
            both = [way for way in support.directions if (support.point, way) in used]
            if both:
                held, link_name = " ".join(both), used[support.point, both[0]]
                problem = f"support of {support.point!r} holds {held}, but the point follows rigid link {link_name!r}."
                advice = (Advice("Hold its master instead."),)
                problems.append(Finding("conflicting-links", problem, {"point": support.point}, advice=advice))
        return problems

    @classmethod
    def assemble(cls, elements: Sequence[RigidLink], model: FrameModel) -> None:
        """u = links w (exact for small rotations); slaves are dependent coordinates."""
        index, positions, keep = model.numbering.index, model.numbering.positions, model.keep
        d, N = len(keep), len(model.dependent)
        rows, columns, values = [], [], []
        for link in elements:
            m = index[link.master]
            model.touched[m] = True
            s = np.array([index[slave] for slave in link.slaves])
            # the six motions of the master, as a rigid body turning about it, seen at the slaves
            motion = rigid_motions(positions[s] - positions[m], DIRECTIONS).reshape(len(s), 6, 6)[:, keep][:, :, keep]
            follow = [k for k, way in enumerate(keep) if DIRECTIONS[way] in link.directions]
            block = motion[:, follow, :]
            place = s[:, None] * d + np.array(follow)
            rows.append(np.repeat(place[:, :, None], d, axis=2).ravel())
            columns.append(np.broadcast_to(m * d + np.arange(d), block.shape).ravel())
            values.append(block.ravel())
            model.dependent[place] = True
        own = np.flatnonzero(~model.dependent)
        rows.append(own)
        columns.append(own)
        values.append(np.ones(len(own)))
        step = sp.csc_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(N, N))
        links = step
        for _ in elements:  # a master may itself follow another one
            if not abs(links[:, np.flatnonzero(model.dependent)]).sum():
                break
            links = sp.csc_array(links @ step)
        links.eliminate_zeros()
        model.links = links


def _circles(leader: dict[str, set[str]]) -> list[Finding]:
    """Points that follow themselves through a chain of rigid links."""
    for start in leader:
        reached, front = set(), set(leader[start])
        while front:
            if start in front and start not in leader[start]:
                problem = f"rigid links run in a circle through point {start!r}."
                return [Finding("conflicting-links", problem, {"point": start})]
            reached |= front
            front = {m for point in front for m in leader.get(point, ())} - reached
    return []


class RigidLinkMethods:
    """The part of a `Frame` that takes rigid links."""

    planar: bool
    elements: list[FrameElement]

    def add_rigid(self, name: str, master: str, slaves: str | Iterable[str], directions: Any = "fixed") -> None:
        """Slaves that move with ``master`` as one rigid body (small rotations), in all or in some directions.

        ``directions="x y rz"`` makes a floor that is rigid in its own plane. Slaves lose those coordinates.
        """
        ways = arguments.directions(directions, f"rigid link {name!r}", self.planar)
        followers = (slaves,) if isinstance(slaves, str) or not np.iterable(slaves) else tuple(slaves)
        for point in (master, *followers):
            arguments.text(point, f"rigid link {name!r}")
        self.elements.append(RigidLink(name, master, followers, ways))


FRAME_ELEMENTS.register("rigid", RigidLink)
