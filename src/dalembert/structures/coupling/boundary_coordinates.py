"""Which coordinates of which parts are one and the same: the bookkeeping of every coupling.

Parts meet at coordinates of equal names, or at differently named ones that a mapping joins. Modal coordinates are
private to their part and never meet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from dalembert.core.errors import ModelError, unknown_name
from dalembert.core.findings import Advice, Finding
from dalembert.core.text import list_names
from dalembert.structures.reduction.master_coordinates import Indices, by_point

Place = tuple[str, int]  # part, number of its coordinate


class BoundaryCoordinates:
    """Global coordinates of joined parts.

    Parameters
    ----------
    parts : coordinate names of every part
    private : names per part that never meet others
    shared : names or points that meet; all equal names when ``None``
    join : ``{"left.A.x": "right.B.x"}`` or, by points, ``{"left.A": "right.B"}``

    Attributes
    ----------
    names : global coordinate names
    maps : for every part, the global place of each of its coordinates
    joined : global names in which more than one coordinate meet
    """

    def __init__(
        self,
        parts: Mapping[str, Sequence[str]],
        private: Mapping[str, Iterable[str]],
        shared: Iterable[str] | str | None,
        join: Mapping[str, str],
    ) -> None:
        self.parts = {name: tuple(coordinates) for name, coordinates in parts.items()}
        self.private = {name: frozenset(private.get(name, ())) for name in self.parts}
        self._parent: dict[Place, Place] = {}
        self._problems: list[Finding] = []
        self._at = {name: {c: i for i, c in enumerate(own)} for name, own in self.parts.items()}
        self._points = {name: by_point(own) for name, own in self.parts.items()}
        self._share(shared)
        for left, right in join.items():
            self._join(left, right)
        if self._problems:
            problem = "\n  ".join(["the parts do not fit together:", *(one.text() for one in self._problems)])
            raise ModelError("several-problems", problem, evidence={"problems": self._problems})
        self._number()

    # ---- what meets

    def _share(self, shared: Iterable[str] | str | None) -> None:
        owners: dict[str, list[str]] = {}
        for name, own in self.parts.items():
            for coordinate in own:
                if coordinate not in self.private[name]:
                    owners.setdefault(coordinate, []).append(name)
        if shared is None:
            self._check_points(owners)
            wanted = [coordinate for coordinate, where in owners.items() if len(where) > 1]
        else:
            wanted = self._find_shared((shared,) if isinstance(shared, str) else tuple(shared), owners)
        for coordinate in wanted:
            first, *others = owners[coordinate]
            for other in others:
                self._merge((first, self._at[first][coordinate]), (other, self._at[other][coordinate]))

    def _find_shared(self, shared: tuple[str, ...], owners: Mapping[str, list[str]]) -> list[str]:
        points = {point for name in self.parts for point in self._points[name]}
        wanted: list[str] = []
        for name in shared:
            if name in owners:
                wanted.append(name)
            elif name in points:
                wanted += [coordinate for coordinate in owners if coordinate.rpartition(".")[0] == name]
            else:
                problem = unknown_name("coordinate or point", name, [*owners, *points], "these parts")
                self._problems.append(Finding("unknown-name", problem, {"coordinate": name}))
        for coordinate in wanted:
            if len(owners[coordinate]) < 2:
                problem = _describe_unpaired(coordinate, owners[coordinate][0])
                self._problems.append(Finding("not-connected", problem, {"coordinate": coordinate}))
        return [coordinate for coordinate in wanted if len(owners[coordinate]) > 1]

    def _check_points(self, owners: Mapping[str, list[str]]) -> None:
        """A point that several parts have must have the same coordinates in all of them."""
        where: dict[str, set[str]] = {}
        for name in self.parts:
            for point in self._points[name]:
                where.setdefault(point, set()).add(name)
        for coordinate, own in owners.items():
            point, dot, _ = coordinate.rpartition(".")
            if dot and len(where[point]) > 1 and set(own) != where[point]:
                missing = ", ".join(sorted(where[point] - set(own)))
                problem = f"{_describe_unpaired(coordinate, ', '.join(own))} Point {point!r} of {missing} has none."
                self._problems.append(Finding("not-connected", problem, {"coordinate": coordinate, "point": point}))

    def _join(self, left: str, right: str) -> None:
        ours, theirs = self._find(left), self._find(right)
        if ours is None or theirs is None:
            return
        if set(ours) != set(theirs):
            odd = sorted(set(ours) ^ set(theirs))
            problem = f"{left!r} and {right!r} have different coordinates: {list_names(odd, {})} on one side only."
            self._problems.append(Finding("missing-coordinates", problem, {"left": left, "right": right}))
            return
        for component, place in ours.items():
            self._merge(place, theirs[component])

    def _find(self, name: str) -> dict[str, Place] | None:
        """Components of ``"part.point"`` or of ``"part.coordinate"`` (the component is then ``""``)."""
        for part in sorted(self.parts, key=len, reverse=True):
            if name.startswith(f"{part}."):
                rest = name[len(part) + 1 :]
                if rest in self._at[part]:
                    return {"": (part, self._at[part][rest])}
                if rest in self._points[part]:
                    own = self.parts[part]
                    return {own[i].rpartition(".")[2]: (part, i) for i in self._points[part][rest]}
                known = [*self._at[part], *self._points[part]]
                problem = unknown_name("coordinate or point", rest, known, f"part {part!r}")
                self._problems.append(Finding("unknown-name", problem, {"part": part, "coordinate": rest}))
                return None
        problem = f"{name!r} must begin with the name of a part: {list_names(sorted(self.parts), {})}."
        self._problems.append(Finding("unknown-name", problem, {"coordinate": name}))
        return None

    def _merge(self, a: Place, b: Place) -> None:
        a, b = self._root(a), self._root(b)
        if a != b:
            self._parent[b] = a

    def _root(self, place: Place) -> Place:
        while place in self._parent:
            place = self._parent[place]
        return place

    # ---- numbering

    def _number(self) -> None:
        groups: dict[Place, list[Place]] = {}
        for name, own in self.parts.items():
            for i in range(len(own)):
                groups.setdefault(self._root((name, i)), []).append((name, i))
        owners = Counter(name for part, own in self.parts.items() for name in own if name not in self.private[part])
        names = []
        for (part, i), group in groups.items():
            name = self._plain(group)
            # its own name where all that have it meet here; else with the name of its part in front
            names.append(name if name and owners[name] == len(group) else f"{part}.{self.parts[part][i]}")
        if len(set(names)) < len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            raise ModelError(
                "taken-name",
                f"coordinates of the joined system would have one name: {list_names(twice, {})}.",
                Advice("Rename a part."),
            )
        self.names = tuple(names)
        self.joined = tuple(name for name, group in zip(names, groups.values()) if len(group) > 1)
        maps = {name: np.empty(len(own), dtype=np.intp) for name, own in self.parts.items()}
        for k, group in enumerate(groups.values()):
            for part, i in group:
                maps[part][i] = k
        for places in maps.values():
            places.setflags(write=False)
        self.maps: dict[str, Indices] = maps

    def _plain(self, group: Sequence[Place]) -> str:
        """The name all members have, or "" where they differ or are private."""
        if any(self.parts[part][i] in self.private[part] for part, i in group):
            return ""
        names = {self.parts[part][i] for part, i in group}
        return names.pop() if len(names) == 1 else ""

    def place(self, name: str) -> int:
        """Global place of a global name or of ``"part.coordinate"``."""
        if name in self.names:
            return self.names.index(name)
        found = self._find(name) if any(name.startswith(f"{part}.") for part in self.parts) else None
        if found and set(found) == {""}:
            part, i = found[""]
            return int(self.maps[part][i])
        raise ModelError("unknown-name", unknown_name("coordinate", name, self.names, "the joined system"))


def _describe_unpaired(coordinate: str, part: str) -> str:
    return f"boundary coordinate {coordinate!r} is in {part} only."
