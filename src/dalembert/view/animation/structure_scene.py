"""Scene of a structure for the page: its parts at rest, and shapes that displace them.

Displaced: x = x_rest + scale Σ_k w_k φ_k. Of modes one w is the cosine of the phase, and φ is scaled to largest
displacement 1; of a response the w are functions of time, found with the φ by a singular value decomposition of the
displacements, u(t) ≈ Σ_k w_k(t) φ_k, which is exact to `_LOST` of the largest displacement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.linear.modes import Modes, damping_text, turns
from dalembert.numerics import ties
from dalembert.record import Record
from dalembert.structures import Frame, Solid
from dalembert.structures.analysis.buckling import Buckling
from dalembert.structures.assembly.structure import Structure, assemble_structure
from dalembert.structures.beams.beam_group import BeamGroup
from dalembert.view.animation.channels import channels_of
from dalembert.view.animation.mode_playback import MOST_MODES, REACH, mode_clock, read_count, scene_box
from dalembert.view.plots.structures import geometry, stage

_LOST = 1e-4  # of the largest displacement, at most, by leaving out singular values
_MOST_NUMBERS = 6_000_000  # of all shapes, 24 MB
_MOST_PICTURES = 4000


@dataclass(frozen=True)
class _Shapes:
    """Displacements u (N, k) of all coordinates, real and imaginary part, each with words and a word for its number."""

    real: FloatArray
    imaginary: FloatArray | None
    titles: list[str]
    notes: list[str]


def structure_data(
    thing: object, structure: object, modes: object, fps: float, speed: float, shown: Sequence[str] = ()
) -> dict[str, Any]:
    """The data of the page for a Structure (or what makes one), Modes, Buckling, or a response of a structure."""
    if isinstance(thing, Buckling):
        return _mode_data(
            thing.structure, _collect_buckling(thing), f"{thing.structure.name}: buckling under {thing.load!r}", speed
        )
    if isinstance(thing, Frame | Solid | Structure):
        body = _structure(thing)
        most = max(1, min(MOST_MODES, len(body.free) - 1))
        drawn = modes if isinstance(modes, Modes) else body.modes(read_count(modes) or most)
        return _mode_data(body, _collect_modes(body, drawn), body.name, speed)
    if isinstance(thing, Modes | Record):
        if structure is None:
            raise DataError(
                "no-scene",
                "Modes have no geometry of their own.",
                Advice("Give their structure, {}.", Argument("structure")),
            )
        body = _structure(structure)
        if isinstance(thing, Record):
            return _response_data(body, thing, fps, speed, shown)
        return _mode_data(body, _collect_modes(body, thing), body.name, speed)
    raise DataError(
        "wrong-type",
        f"animate takes a Record, a Frame, Solid or Structure, Modes or Buckling, not a {type(thing).__name__}.",
    )


def _structure(thing: object) -> Structure:
    return thing if isinstance(thing, Structure) else assemble_structure(thing)


# -- shapes ----------------------------------------------------------------------------------------------------------


def _collect_modes(structure: Structure, modes: Modes) -> _Shapes:
    geometry.check_modes(structure, modes)
    if not len(modes):
        raise DataError("empty", "there are no modes to show.")
    shapes = np.asarray(modes.shapes)
    largest = np.take_along_axis(shapes, ties.first_largest(shapes)[None, :], axis=0)
    shapes = shapes / np.where(np.abs(largest) > 0.0, largest, 1.0)
    turning = np.iscomplexobj(shapes) and bool(turns(np.abs(shapes.imag).max()))
    hertz, damping = modes.frequencies_hz, modes.damping_ratios
    titles = [f"{value:.4g} Hz" for value in hertz]
    notes = [damping_text(zeta) for zeta in damping]
    imaginary = structure.expand(np.ascontiguousarray(shapes.imag)) if turning else None
    return _Shapes(structure.expand(np.ascontiguousarray(shapes.real)), imaginary, titles, notes)


def _collect_buckling(found: Buckling) -> _Shapes:
    titles = [f"load × {factor:.4g}" for factor in found.factors]
    return _Shapes(found.structure.expand(found.shapes), None, titles, [""] * len(titles))


def _mode_data(structure: Structure, shapes: _Shapes, name: str, speed: float) -> dict[str, Any]:
    parts = _Parts(structure)
    parts.check_size(len(shapes.titles) * (1 if shapes.imaginary is None else 2))
    moved, turned = (
        None if u is None else np.stack([parts.displace(column) for column in u.T])
        for u in (shapes.real, shapes.imaginary)
    )
    assert moved is not None
    squares = (moved**2).sum(axis=2) + (0.0 if turned is None else (turned**2).sum(axis=2))
    largest = np.sqrt(squares.max(axis=1, initial=0.0))[:, None, None]
    largest[largest == 0.0] = 1.0
    size = stage.size_of(structure.positions)
    return {
        "kind": "structure",
        "name": name,
        **parts.at_rest(REACH * size),
        "modes": [{"title": title, "note": note} for title, note in zip(shapes.titles, shapes.notes)],
        "shapes": (moved / largest).astype(np.float32),
        "turned": None if turned is None else (turned / largest).astype(np.float32),
        "unit": REACH * size,
        **mode_clock(speed),
    }


def _response_data(structure: Structure, run: Record, fps: float, speed: float, shown: Sequence[str]) -> dict[str, Any]:
    missing = [name for name in structure.free if name not in run.names]
    if missing:
        raise DataError(
            "missing-channel",
            f"this record is no response of structure {structure.name!r}: {len(missing)} of its {len(structure.free)} "
            f"coordinates are missing. {unknown_name('channel', missing[0], run.names)}",
        )
    length = float(run.time[-1] - run.time[0])
    frames = min(max(2, round(length * fps / speed) + 1), _MOST_PICTURES) if len(run) > 1 else 1
    times = np.linspace(run.time[0], run.time[-1], frames)
    free_run = run.select(*structure.free)
    u = free_run.data if frames == 1 else free_run.resample(times=times, kind="linear").data
    if not np.isfinite(u).all():
        raise DataError("not-finite", "this response has gaps; animate a part without them: run.between(start, stop).")
    left_vectors, values, right = np.linalg.svd(u, full_matrices=False)
    rank = max(1, int((values > _LOST * (values[0] or 1.0)).sum()))
    parts = _Parts(structure)
    parts.check_size(rank)
    shapes = np.stack([parts.displace(column) for column in structure.expand(np.ascontiguousarray(right[:rank].T)).T])
    weights = (left_vectors[:, :rank] * values[:rank]).T
    size = stage.size_of(structure.positions)
    largest = max(
        float(np.linalg.norm(np.tensordot(w, shapes, 1), axis=1).max()) for w in weights.T[:: -(-frames // 200)]
    )
    return {
        "kind": "structure",
        "name": run.name or structure.name,
        **parts.at_rest(REACH * size),
        "modes": [],
        "shapes": shapes.astype(np.float32),
        "turned": None,
        "weights": weights,
        "unit": 1.0 if largest > REACH * size or largest == 0.0 else REACH * size / largest,
        "largest": largest,
        "clock": "time",
        "start": float(times[0]), "end": float(times[-1]), "frames": frames,
        "step": float(times[1] - times[0]) if frames > 1 else 0.0,
        "picture": float(times[1] - times[0]) if frames > 1 else 0.0,
        "speed": float(speed),
        "channels": channels_of(run, shown),
    }  # fmt: skip


# -- parts -----------------------------------------------------------------------------------------------------------


class _Parts:
    """Places whose displacements are drawn: the points, then the samples along beams."""

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self.groups: Sequence[BeamGroup] = geometry.beams(structure)
        self.xi = [geometry.places(group) for group in self.groups]
        self.rest = [geometry.rest_lines(structure, group, xi) for group, xi in zip(self.groups, self.xi)]
        self.others = geometry.other_curves(structure, np.zeros(len(structure.coordinates)))
        self.rest += [line[None] for line in self.others]
        self.faces = [geometry.outer_faces(group).points for group in geometry.solids(structure)]
        # inside a solid nothing is seen
        shown = [face.ravel() for face in self.faces] or [np.arange(len(structure.points))]
        self.used = np.unique(np.concatenate(shown))
        self.number = np.full(len(structure.points), -1, dtype=np.int64)
        self.number[self.used] = np.arange(len(self.used))

    def check_size(self, shapes: int) -> None:
        """Refuse scenes that are too large for one page."""
        places = len(self.used) + sum(resting.shape[0] * resting.shape[1] for resting in self.rest)
        if 3 * places * shapes > _MOST_NUMBERS:
            raise DataError(
                "too-large",
                f"{shapes} shapes of {places} places are too much for one page; show "
                f"{max(1, _MOST_NUMBERS // (3 * places))} at a time.",
                Advice("Animate(structure, {}...).", Argument("modes")),
            )

    def displace(self, u: FloatArray) -> FloatArray:
        """(places, 3) displacements from u (N,)."""
        along = [geometry.displace_by_shape(group, u, xi).reshape(-1, 3) for group, xi in zip(self.groups, self.xi)]
        along += [line - resting for line, resting in zip(geometry.other_curves(self.structure, u), self.others)]
        places: FloatArray = np.concatenate([geometry.translations(self.structure, u)[self.used], *along])
        return places

    def at_rest(self, reach: float) -> dict[str, Any]:
        """Everything that does not change; ``reach`` [m] is how far shapes leave it."""
        structure = self.structure
        places = np.concatenate([structure.positions[self.used], *(resting.reshape(-1, 3) for resting in self.rest)])
        first, beams = len(self.used), []
        thin = [*(group.is_bar.astype(np.int32) for group in self.groups), *([np.ones(1, np.int32)] * len(self.others))]
        for is_bar, resting in zip(thin, self.rest):
            beams.append({"first": first, "count": len(resting), "samples": resting.shape[1], "is_bar": is_bar})
            first += resting.shape[0] * resting.shape[1]
        pairs, grounded, masses = geometry.find_springs_and_masses(structure)
        marks = {**stage.held_kinds(structure), "spring to ground": grounded, "mass": masses}
        names = [k for k in self.used if "[" not in structure.points[k]] if not self.faces else []
        return {
            **scene_box(places, reach, geometry.is_planar(structure)),
            "places": places,
            "beams": beams,
            "triangles": self._triangles(),
            "edges": self._edges(),
            "springs": self.number[pairs],
            "links": self.number[geometry.rigid_links(structure)],
            "marks": {kind: self.number[at][self.number[at] >= 0] for kind, at in marks.items() if len(at)},
            "names": [{"name": structure.points[k], "at": int(self.number[k])} for k in names[:60]],
        }

    def _triangles(self) -> Any:
        """(n, 3) corners of the outer faces, each cut into a fan."""
        fans = [
            np.stack([ring[:, [0, i, i + 1]] for i in range(1, ring.shape[1] - 1)], axis=1).reshape(-1, 3)
            for ring in self.faces
        ]
        return self.number[np.concatenate(fans)] if fans else np.zeros((0, 3), dtype=np.int64)

    def _edges(self) -> Any:
        """(n, 2) edges between outer faces, each once."""
        rings = [np.stack([ring, np.roll(ring, -1, axis=1)], axis=2).reshape(-1, 2) for ring in self.faces]
        if not rings:
            return np.zeros((0, 2), dtype=np.int64)
        return self.number[np.unique(np.sort(np.concatenate(rings), axis=1), axis=0)]
