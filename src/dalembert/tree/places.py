"""Places on bodies of a tree, and their target poses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from dalembert.core.errors import ModelError, unknown_name
from dalembert.core.findings import Advice, Argument
from dalembert.equations import EquationsOfMotion
from dalembert.expressions import Array
from dalembert.model import BodyFrame, Point
from dalembert.model.orientation import Rotation, as_rotation, rotation, split_pose
from dalembert.record import Record
from dalembert.solve.position.prescribed_motion import positional_outputs
from dalembert.tree.evaluation import require_tree

Place: TypeAlias = "str | Point | BodyFrame"
AXES = ("x", "y", "z")
PARTS = ("pose", "rotation", "position")  # last part of a name that selects one of them: "hand.pose"


@dataclass(frozen=True)
class ReachTask:
    """One task, without its target value: a frame on a body, or a single coordinate.

    label : as the user gave it.  place : of a frame, else None.  position, rotation : whether these are prescribed.
    measure, output : place of a coordinate or of a position sensor among those of the equations, else -1.
    """

    label: str
    place: Place | None = None
    position: bool = True
    rotation: bool = False
    measure: int = -1
    output: int = -1


@dataclass(frozen=True)
class Goal:
    """The value of a task: position (dim,) or a number (1,), and the matrix of an orientation."""

    position: Array
    matrix: Array | None = None


def read_target(eqs: EquationsOfMotion, target: object) -> tuple[tuple[ReachTask, ...], tuple[Goal, ...]]:
    """Tasks and their values from a mapping of places and coordinates."""
    require_tree(eqs)
    if not isinstance(target, Mapping) or not target:
        raise ModelError(
            "wrong-type" if not isinstance(target, Mapping) else "empty",
            f"a target must give a position or pose for each place; got {target!r:.120}.",
            Advice("Such as {}.", Argument("target", {"hand": (0.4, 0.0, 0.6)})),
        )
    pairs = [pair for place, value in target.items() for pair in _read(eqs, place, value)]
    labels = [task.label for task, _ in pairs]
    for k, label in enumerate(labels):
        if label in labels[:k]:
            raise ModelError("duplicate", f"the target names {label!r} twice.", where={"place": label})
    return tuple(task for task, _ in pairs), tuple(goal for _, goal in pairs)


def _read(eqs: EquationsOfMotion, place: Any, value: Any) -> list[tuple[ReachTask, Goal]]:
    label = place if isinstance(place, str) else repr(place)
    if isinstance(place, str):
        full = eqs.full_name(place)
        if full in eqs.measures.index:
            return [(ReachTask(label, measure=eqs.measures.index[full]), Goal(_vector(value, 1, label)))]
        sensors = positional_outputs(eqs)
        if full in sensors:
            return [(ReachTask(label, output=eqs.outputs.index[full]), Goal(_vector(value, 1, label)))]
        parts = [f"{full}.{axis}" for axis in AXES if f"{full}.{axis}" in sensors]
        if parts:
            numbers = _vector(value, len(parts), label)
            return [
                (ReachTask(part, output=eqs.outputs.index[part]), Goal(numbers[k : k + 1]))
                for k, part in enumerate(parts)
            ]
        owner, _, kind = place.rpartition(".")
        if kind in PARTS and owner and not is_place(eqs, place):
            dim = dimension(eqs, owner)
            position, matrix = read_pose(value, dim, label, kind)
            return [(ReachTask(owner, owner, position is not None, matrix is not None), _goal(position, matrix, dim))]
    dim = dimension(eqs, place)
    position, matrix = read_pose(value, dim, label)
    return [(ReachTask(label, place, position is not None, matrix is not None), _goal(position, matrix, dim))]


def _goal(position: Array | None, matrix: Array | None, dim: int) -> Goal:
    return Goal(np.zeros(dim) if position is None else position, matrix)


def is_place(eqs: EquationsOfMotion, place: Any) -> bool:
    """Whether a name is that of a body or of a point on one."""
    try:
        require_tree(eqs).function("forward_kinematics", place)
    except ModelError as error:
        if error.code != "unknown-name":
            raise
        return False
    return True


def dimension(eqs: EquationsOfMotion, place: Any) -> int:
    """2 in the plane, 3 in space; an error for a place that does not exist."""
    tree = require_tree(eqs)
    if not isinstance(place, (str, Point, BodyFrame)):
        problem = f"a place is 'body', 'body.point', or a point or frame of a body; got {place!r:.80}."
        raise ModelError("wrong-type", problem)
    if isinstance(place, str) and not is_place(eqs, place):
        known = [*tree.bodies, *(f"{body}.origin" for body in tree.bodies), *eqs.measures.names]
        problem = unknown_name("place or coordinate", place, known, f"equations {eqs.name!r}")
        raise ModelError("unknown-name", problem, where={"place": place})
    return int(tree.function("forward_kinematics", place).size1_out(0)) - 1


def read_pose(value: Any, dim: int, label: str, kind: str = "") -> tuple[Array | None, Array | None]:
    """Position and rotation matrix of a value, None where it does not give one.

    value : a position; a `da.rotation`; a pose: position and rotation in one list, or a homogeneous transform.
    """
    if isinstance(value, Rotation) or kind == "rotation":
        if dim == 2:
            angle = float(value.angle) if isinstance(value, Rotation) else float(_vector(value, 1, label)[0])
            return None, _planar_rotation(angle)
        return None, _matrix(as_rotation(value, f"target of {label!r}"))
    array = np.asarray(value, dtype=object)
    if array.shape == (dim + 1, dim + 1):
        T = _transform(array, dim, label)
        return T[:dim, dim], T[:dim, :dim]
    if kind == "position" or (array.shape == (dim,) and kind != "pose"):
        return _vector(value, dim, label), None
    if dim == 2:
        numbers = _vector(value, 3, label)
        return numbers[:2], _planar_rotation(float(numbers[2]))
    place, turned = split_pose(value, f"target of {label!r}")
    return _vector(place, 3, label), _matrix(turned)


def list_values(value: Any, dim: int) -> list[Any]:
    """Positions, rotations or poses of a list; a single one as a list of one."""
    if isinstance(value, Rotation):
        many = np.ndim(value.quaternion[0]) > 0
        return [rotation(quaternion=row.tolist()) for row in np.column_stack(value.quaternion)] if many else [value]
    if isinstance(value, (str, bytes)) or not hasattr(value, "__len__") or not len(value):
        return [value]
    if np.ndim(value[0]) == 0 and not isinstance(value[0], Rotation):
        return [value]
    if np.shape(value) == (dim + 1, dim + 1) and all(np.ndim(row) == 1 for row in value):
        last = value[-1]
        if not isinstance(last[-1], Rotation) and [float(x) for x in last] == [*[0.0] * dim, 1.0]:  # a transform
            return [value]
    return list(value)


def _planar_rotation(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]])


def _matrix(turned: Rotation) -> Array:
    return np.asarray(turned.matrix, dtype=float)


def _transform(array: Any, dim: int, label: str, orthonormal: float = 1e-6) -> Array:
    # orthonormal: entry of RᵀR - 1 up to which a matrix is a rotation: files carry six digits.
    T = np.array(array, dtype=float)
    R = T[:dim, :dim]
    if not np.isfinite(T).all() or np.abs(R.T @ R - np.eye(dim)).max() > orthonormal or np.linalg.det(R) < 0:
        raise ModelError(
            "not-orthonormal", f"target of {label!r}: the transform has no right-handed rotation.",
            where={"place": label},
        )  # fmt: skip
    if dim == 3:
        return np.block([[_matrix(rotation(matrix=_nearest(R))), T[:3, 3:]], [np.array([[0.0, 0, 0, 1]])]])
    return T


def _nearest(R: Array) -> list[list[float]]:
    U, _, V = np.linalg.svd(R)
    return (U @ V).tolist()  # type: ignore[no-any-return]


def _vector(value: Any, count: int, label: str) -> Array:
    try:
        found = np.array(value, dtype=float).reshape(-1)
    except (TypeError, ValueError):
        raise ModelError(
            "not-a-number", f"target of {label!r} must be {count} numbers, got {value!r:.80}.", where={"place": label}
        ) from None
    if found.size != count:
        raise ModelError(
            "wrong-shape", f"target of {label!r} must be {count} number{'s' * (count > 1)}, got {found.size}.",
            where={"place": label},
        )  # fmt: skip
    if not np.isfinite(found).all():
        raise ModelError(
            "not-finite", f"target of {label!r} must be finite, got {value!r:.80}.", where={"place": label}
        )
    return found


def read_path(
    eqs: EquationsOfMotion, path: Record, places: Any
) -> tuple[tuple[ReachTask, ...], list[tuple[Goal, ...]]]:
    """Tasks of a record of poses, and their values at every sample.

    places : those to follow; None: all whose position (``hand.x``, ``.y``, ``.z``) or orientation is recorded.
    """
    from dalembert.model.recorded import read_orientation

    require_tree(eqs)
    stems = dict.fromkeys(name.rpartition(".")[0] for name in path.names if name.endswith((".x", ".e0", ".rx")))
    chosen = [stem for stem in stems if is_place(eqs, stem)] if places is None else _as_list(places)
    sensors = positional_outputs(eqs)
    if places is None:
        chosen += [stem for stem in stems if stem not in chosen and f"{stem}.x" in sensors]
    if not chosen:
        raise ModelError(
            "missing-channel", f"the record has no position of a place on {eqs.name!r}; it holds "
            f"{', '.join(path.names[:8])}.", Advice("Channels of a place are such as {}.", Argument("'hand.x'")),
        )  # fmt: skip
    tasks: list[ReachTask] = []
    columns: list[list[Goal]] = []
    for stem in chosen:
        if f"{stem}.x" in sensors:
            for name in (f"{stem}.{axis}" for axis in AXES if f"{stem}.{axis}" in sensors):
                tasks.append(ReachTask(name, output=eqs.outputs.index[name]))
                columns.append([Goal(x.reshape(1)) for x in _samples(path, name)])
            continue
        dim = dimension(eqs, stem)
        position = f"{stem}.x" in path.names
        place = [_samples(path, f"{stem}.{axis}") for axis in AXES[:dim]] if position else [np.zeros(len(path))] * dim
        matrices: Array | None = None
        if dim == 3 and (found := read_orientation(path, stem)) is not None:
            matrices = np.asarray(rotation(quaternion=found[1]).matrix)
        elif dim == 2 and f"{stem}.angle" in path.names:
            matrices = np.array([_planar_rotation(float(x)) for x in _samples(path, f"{stem}.angle")])
        if not position and matrices is None:
            raise ModelError(
                "missing-channel",
                f"the record has neither position nor orientation of {stem!r}.",
                where={"place": stem},
            )
        tasks.append(ReachTask(stem, stem, position, matrices is not None))
        rows = np.column_stack(place)
        columns.append([Goal(row, None if matrices is None else matrices[k]) for k, row in enumerate(rows)])
    return tuple(tasks), list(zip(*columns, strict=True))


def _as_list(places: Any) -> list[str]:
    return [places] if isinstance(places, str) else list(places)


def _samples(path: Record, name: str) -> Array:
    if name not in path.names:
        raise ModelError("missing-channel", f"the path has no channel {name!r}.", where={"channel": name})
    values = np.asarray(path[name])
    if not np.isfinite(values).all():
        raise ModelError("gap-in-record", f"the path has gaps in channel {name!r}.", where={"channel": name})
    return values
