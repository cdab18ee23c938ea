"""From a frame to its structure: elements, supports, loads."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from dalembert.core.arrays import BoolArray, FloatArray, IntArray
from dalembert.core.errors import ModelError
from dalembert.core.findings import Advice, Call
from dalembert.structures.assembly import element_assembly as assembly
from dalembert.structures.assembly.structure import Structure, assemble_structure
from dalembert.structures.frame.arguments import DIRECTIONS
from dalembert.structures.frame.element import FrameModel
from dalembert.structures.frame.frame import Frame
from dalembert.structures.frame.loads import PointLoad
from dalembert.structures.frame.numbering import number_points

PLANAR = (0, 1, 5)


@assemble_structure.register
def frame_structure(frame: Frame) -> Structure:
    """Check a frame and assemble it."""
    frame.validate()
    model = assemble_elements(frame)
    names, d = model.numbering.names, len(model.keep)
    matrices = {key: assembly.assemble(len(names), d, blocks) for key, blocks in model.blocks.items()}
    held, prescribed = _supports(frame, model)
    inactive = ~model.touched[:, list(model.keep)].ravel() & ~model.dependent & ~held
    if len(model.released):
        inactive |= _free_turns(model, matrices["K"], matrices["M"], held | model.dependent)
    return Structure(
        frame.name, names, model.numbering.positions, tuple(DIRECTIONS[k] for k in model.keep), matrices["M"],
        matrices["K"], C=matrices["C"], K_loss=matrices["K_loss"], held=held, prescribed=prescribed, links=model.links,
        inactive=inactive, loads=_loads(frame, model, matrices["M"]), groups=tuple(model.groups), damping=frame.damping,
        provenance={"source": "frame", "name": frame.name, "theory": "12-dof Timoshenko beams (Przemieniecki 1968)"},
    )  # fmt: skip


def assemble_elements(frame: Frame) -> FrameModel:
    """Number the points and let every kind of element add its part."""
    keep = PLANAR if frame.planar else (0, 1, 2, 3, 4, 5)
    numbering = number_points(frame)
    count = len(numbering.names)
    touched = np.zeros((count, 6), bool)
    touched[:, :3] = True  # rotations of points of bars alone are no coordinates
    blocks: dict[str, list[assembly.Blocks]] = {"M": [], "K": [], "C": [], "K_loss": []}
    dependent, released = np.zeros(count * len(keep), bool), np.zeros(0, dtype=np.int64)
    model = FrameModel(frame, numbering, keep, blocks, touched, dependent, None, [], released)
    for family, elements in frame.families().items():
        family.assemble(elements, model)
    return model


def _supports(frame: Frame, model: FrameModel) -> tuple[BoolArray, FloatArray]:
    index, keep = model.numbering.index, model.keep
    held, prescribed = np.zeros(len(model.dependent), bool), np.zeros(len(model.dependent))
    for support in frame.supports:
        for way, value in zip(support.directions, support.values):
            place = index[support.point] * len(keep) + keep.index(DIRECTIONS.index(way))
            held[place] = True
            prescribed[place] = value
    return held, prescribed


def _free_turns(
    model: FrameModel, K: sp.csc_array, M: sp.csc_array, fixed: BoolArray, stiffness: float = 1e-12
) -> BoolArray:
    """Rotations that every beam at the point has released: nothing turns with them, so they are no coordinates.

    stiffness : relative to the largest of the frame; condensed releases leave rounding of 1e-16 of it.
    """
    keep, names, points = model.keep, model.numbering.names, model.released
    d = len(keep)
    turns = np.array([k for k, way in enumerate(keep) if way > 2])
    diagonals = [matrix.diagonal().reshape(-1, d)[:, turns] for matrix in (K, M)]
    free = np.ones_like(diagonals[0], bool)
    for diagonal in diagonals:
        free &= diagonal <= stiffness * max(float(diagonal.max()), 1e-300)
    result = np.zeros((len(names), d), bool)
    result[np.ix_(points, turns)] = free[points]
    inactive: BoolArray = result.ravel() & ~fixed
    if len(turns) == 3:
        _refuse_slant(points, inactive | fixed, K, M, names, d)
    return inactive


def _refuse_slant(
    points: IntArray, out: BoolArray, K: sp.csc_array, M: sp.csc_array, names: Any, d: int, zero: float = 1e-10
) -> None:
    """A free rotation about a slanted axis cannot be left out by name: raise an error instead of a singular model.

    zero : eigenvalue of the rotations over the largest; a slanted axis adds rounding of its direction.
    """
    for point in points:
        rows = point * d + np.arange(3, 6)
        rows = rows[~out[rows]]
        if not len(rows):
            continue
        blocks = [matrix[rows][:, rows].toarray() for matrix in (K, M)]
        both = sum(block / max(np.abs(block).max(), 1e-300) for block in blocks)
        values, vectors = np.linalg.eigh(both)
        if values[0] < zero * values[-1]:
            axis = np.zeros(3)
            axis[rows - point * d - 3] = vectors[:, 0]
            raise ModelError(
                "not-held",
                f"point {names[point]!r}: every beam there releases the rotation about ({axis[0]:.3g}, {axis[1]:.3g}, "
                f"{axis[2]:.3g}), so nothing turns it.",
                Advice("Release one beam less, or use {}.", Call("frame.add_bar")),
                where={"point": names[point]},
            )


def _loads(frame: Frame, model: FrameModel, M: sp.csc_array) -> dict[str, FloatArray]:
    keep, count = model.keep, len(model.numbering.names)
    cases: dict[str, FloatArray] = {}
    gravity = np.array(frame.gravity)
    if gravity.any() and M.nnz:
        motion = np.zeros((count, len(keep)))
        for k, way in enumerate(keep):
            motion[:, k] = gravity[way] if way < 3 else 0.0
        cases["gravity"] = M @ motion.ravel()
    totals = {case: np.zeros((count, 6)) for case in frame.cases}
    for load in frame.loads:
        if isinstance(load, PointLoad):
            totals[load.case][model.numbering.index[load.point]] += load.force + load.moment
    for case, total in totals.items():
        on_elements = [group.case_load(case) for group in model.groups]
        cases[case] = sum((load for load in on_elements if load is not None), total[:, list(keep)].ravel())
    return cases
