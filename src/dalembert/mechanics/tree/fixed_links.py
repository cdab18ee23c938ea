"""Bodies on fixed joints as parts of the links that carry them: fewer links with the same motion.

With axes and place of the fixed body's link on the other one, moments about the origin add up:

    m + m' ,     h + R h' + m' d ,     J + (J' in the axes and about the origin of the other link) .

The centre of mass h / m is a quotient, so that a body whose mass is a parameter stays a link of its own. Bodies on the
ground have no part in any motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from dalembert.expressions import Expr
from dalembert.mechanics.absolute.producer import ROUNDING
from dalembert.mechanics.tree.link_inertia import BodyInertia, LinkInertia
from dalembert.mechanics.tree.links import Link
from dalembert.mechanics.tree.spatial import FrameChange, SpatialInertia, parallel

SX = ca.SX


def without_rounding_errors(x: Expr) -> Expr:
    """Remove rounding errors from the zeros of a constant."""
    if not x.is_constant():
        return ca.sparsify(x)
    values = np.array(ca.DM(ca.densify(x)))
    return ca.sparsify(SX(ca.DM(np.where(abs(values) <= ROUNDING * abs(values).max(initial=0.0), 0.0, values))))


@dataclass(frozen=True)
class _Carrier:
    """The link that carries a body (None: the ground), and the axes and the place of the body's link on it."""

    number: int | None
    axes: Expr
    place: Expr


def merge_fixed_links(links: Sequence[Link], inertias: Sequence[BodyInertia]) -> tuple[list[Link], list[BodyInertia]]:
    """Links that move, with their inertias."""
    links, inertias = _without_ends(links, inertias)
    if all(link.columns for link in links):
        return list(links), list(inertias)
    found: list[Link] = []
    own: list[BodyInertia] = []
    added: dict[int, list[tuple[_Carrier, LinkInertia]]] = {}
    carriers: dict[int, _Carrier] = {}
    for link, inertia in zip(links, inertias, strict=True):
        dim = link.space.dim
        at = _Carrier(None, SX.eye(dim), SX(dim, 1)) if link.parent is None else carriers[id(link.parent)]
        joins = at.number is None or _joins(inertia, own[at.number])
        if joins and not link.columns and isinstance(inertia, LinkInertia):
            place = without_rounding_errors(at.place + at.axes @ link.d)
            carriers[id(link)] = held = _Carrier(at.number, without_rounding_errors(at.axes @ link.R), place)
            if at.number is not None and not _is_nothing(inertia):
                added.setdefault(at.number, []).append((held, inertia))
            continue
        carriers[id(link)] = _Carrier(len(found), SX.eye(dim), SX(dim, 1))
        E = without_rounding_errors(at.axes @ link.E)
        offset = without_rounding_errors(at.place + at.axes @ link.offset)
        found.append(replace(link, parent=None if at.number is None else found[at.number], E=E, offset=offset))
        own.append(inertia)
    if added:
        _add_bodies(found, own, added)
    return found, own


def _without_ends(
    links: Sequence[Link], inertias: Sequence[BodyInertia]
) -> tuple[Sequence[Link], Sequence[BodyInertia]]:
    """Without links that carry nothing and move with speeds of another one: nodes of flexible bodies."""
    carrying = {id(link.parent) for link in links}
    elastic = {k for inertia in inertias for k in inertia.columns}
    if not elastic:
        return links, inertias

    def is_end(link: Link, inertia: BodyInertia) -> bool:
        light = isinstance(inertia, LinkInertia) and _is_nothing(inertia)
        return light and id(link) not in carrying and elastic.issuperset(link.columns)

    pairs = [pair for pair in zip(links, inertias, strict=True) if not is_end(*pair)]
    return [link for link, _ in pairs], [inertia for _, inertia in pairs]


def _joins(inertia: BodyInertia, other: BodyInertia) -> bool:
    if not isinstance(inertia, LinkInertia) or not isinstance(other, LinkInertia):
        return False
    return _is_nothing(inertia) or bool(inertia.mass.is_constant() and other.mass.is_constant())


def _is_nothing(inertia: LinkInertia) -> bool:
    return bool(SX(inertia.mass).is_zero() and SX(inertia.about_origin).is_zero())


def _add_bodies(
    links: list[Link], inertias: list[BodyInertia], added: dict[int, list[tuple[_Carrier, LinkInertia]]]
) -> None:
    """Give links the bodies that are fixed to them; their centres of mass move."""
    new: dict[int, Link] = {}
    for number, link in enumerate(links):
        if link.parent is not None and id(link.parent) in new:
            new[id(link)] = link = replace(link, parent=new[id(link.parent)])
        if number in added:
            own = inertias[number]
            assert isinstance(own, LinkInertia)
            inertias[number], centre = _sum(link, own, added[number])
            moved = replace(link, far=SX.eye(link.space.dim), place=-centre)
            new[id(links[number])] = link = moved
        elif link is not links[number]:
            new[id(links[number])] = link
        links[number] = link


def _sum(link: Link, own: LinkInertia, more: Sequence[tuple[_Carrier, LinkInertia]]) -> tuple[LinkInertia, Expr]:
    """The inertia of all, and the centre of mass on the link."""
    space = link.space
    total = own.spatial
    plain = own.about_origin - own.inertia + own.gyroscopic
    for at, inertia in more:
        change = FrameChange(space, at.axes, at.place)
        total = total + change.inertia_out(inertia.spatial)
        without = SpatialInertia(
            inertia.mass, inertia.moment, inertia.about_origin - inertia.inertia + inertia.gyroscopic
        )
        plain = plain + change.inertia_out(without).inertia
    centre = without_rounding_errors(total.moment / total.mass) if not total.mass.is_zero() else SX(space.dim, 1)
    shift = total.mass * parallel(space, centre, centre)
    parts = (total.mass, total.mass * centre, total.inertia - shift, plain - shift, total.inertia)
    return LinkInertia(*(without_rounding_errors(SX(x)) for x in parts)), centre
