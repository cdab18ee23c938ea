"""Mode shapes at the nodes of a model from redundant sensors along links (Palomba 2016, ch. 4).

Along a straight link, at s from its start, the displacement across it is a polynomial through the sensors by least
squares,

    w(s) = Σ_j c_j (s/l)^j,   j = 0 ... degree,       rotation θ(s) = dw/ds

which smooths noise where there are more sensors than coefficients.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from dalembert.core.declare import checked, count, instance, mapping, number
from dalembert.core.errors import DataError, require_name
from dalembert.core.findings import Advice, Argument
from dalembert.linear.modes import Modes

__all__ = ["MeasuredLink", "expand_shapes"]

Places = Annotated[Mapping[str, float], mapping("coordinate", number)]


@checked
@dataclass(frozen=True)
class MeasuredLink:
    """A straight link with sensors across it.

    Parameters
    ----------
    sensors : measured coordinate, and its place along the link [m]
    displacements, rotations : coordinates of the model, and their places along the link [m]
    """

    sensors: Places
    displacements: Places = field(default_factory=dict)
    rotations: Places = field(default_factory=dict)


@checked
def expand_shapes(
    modes: Annotated[Modes, instance(Modes), "measured"],
    links: Annotated[Sequence[MeasuredLink], instance(list, tuple), "with their sensors"],
    *,
    degree: Annotated[int, count(0), "of the polynomial along each link"] = 3,
) -> Modes:
    """Shapes at coordinates of a model from measured ones, link by link.

    Returns
    -------
    Modes with the displacements and rotations of all links, in their order.

    Examples
    --------
    >>> s = [0.0, 0.1, 0.2, 0.3]
    >>> measured = Modes([3.0j], np.array([[x**2] for x in s]), ["a1", "a2", "a3", "a4"])
    >>> link = MeasuredLink(dict(zip(measured.coordinates, s)), {"B.y": 0.15}, {"B.rz": 0.15})
    >>> expand_shapes(measured, [link], degree=2).shapes[:, 0].real.round(6).tolist()
    [0.0225, 0.3]
    """
    names: list[str] = []
    parts = []
    for k, link in enumerate(links):
        if not isinstance(link, MeasuredLink):
            raise DataError("wrong-type", f"links must be measured links, got {link!r:.60}.")
        for name in link.sensors:
            require_name("coordinate", name, modes.coordinates, "the modes", argument="links")
        places = np.array([*link.sensors.values()], dtype=np.float64)
        different = len(set(places.tolist()))
        if different < degree + 1:
            raise DataError(
                "too-few-samples",
                f"link {k + 1} has sensors at {different} places; a polynomial of degree {degree} needs {degree + 1}, "
                "more to smooth noise.",
                Advice("Give a smaller {}.", Argument("degree", max(different - 2, 0))),
                Advice("Or measure at more places along this link."),
                where={"link": k + 1},
            )  # fmt: skip
        start, length = places.min(), max(float(np.ptp(places)), np.finfo(float).tiny) if degree else 1.0
        powers = np.arange(degree + 1)
        measured = modes.shapes[[modes.coordinates.index(name) for name in link.sensors]]
        fit = np.linalg.lstsq((((places - start) / length)[:, None] ** powers), measured, rcond=None)[0]
        for wanted, turns in ((link.displacements, False), (link.rotations, True)):
            at = (np.array([*wanted.values()], dtype=np.float64) - start) / length
            basis = at[:, None] ** powers
            if turns:
                basis = np.where(powers > 0, powers * at[:, None] ** np.maximum(powers - 1, 0) / length, 0.0)
            names += wanted
            parts.append(basis @ fit)
    if not names:
        raise DataError("empty", "no link has a coordinate of the model.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError("duplicate", f"coordinate {twice!r} of the model is on two links.", where={"name": twice})
    deviations = {key: getattr(modes, key) for key in ("frequency_deviations_hz", "damping_deviations")}
    return Modes(modes.eigenvalues, np.concatenate(parts), names, **deviations)
