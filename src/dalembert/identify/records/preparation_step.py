"""Steps of the preparation of records: one record or several, some channels, a note in the provenance."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.identify.records.checks import list_records
from dalembert.record import Record

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class AcceptsSeveral(Protocol[P, R_co]):
    """A function of one record that takes a sequence of records too, and then returns a tuple."""

    __name__: str

    @overload
    def __call__(self, record: Record, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    def __call__(self, record: Sequence[Record], *args: P.args, **kwargs: P.kwargs) -> tuple[R_co, ...]: ...


def accept_several(function: Callable[Concatenate[Record, P], R_co]) -> AcceptsSeveral[P, R_co]:
    """Let a function of one record take several."""

    @functools.wraps(function)
    def call(record: object, *args: P.args, **kwargs: P.kwargs) -> Any:
        if isinstance(record, Record):
            return function(record, *args, **kwargs)
        return tuple(function(run, *args, **kwargs) for run in list_records(record))

    return call


def find_columns(record: Record, channels: str | Iterable[str] | None) -> list[int]:
    """Columns of the named channels (stems allowed), all when None."""
    if channels is None:
        return list(range(len(record.names)))
    wanted = (channels,) if isinstance(channels, str) else tuple(channels)
    position = {name: i for i, name in enumerate(record.names)}
    places = [position[channel] for name in wanted for channel in record.expand(name)]
    if not places:
        raise DataError("empty", "no channel is named.", Advice("Leave {} out to take all.", Argument("channels")))
    return list(dict.fromkeys(places))


def describe_channels(record: Record, places: Sequence[int]) -> str:
    """The channels as a note names them: nothing where it is all of them."""
    if len(places) == len(record.names):
        return ""
    return " of " + ", ".join(record.names[i] for i in places)


def add_note(record: Record, data: FloatArray, step: str, *, time: FloatArray | None = None) -> Record:
    """The record with other numbers, its names and units, and one more line in ``provenance["preparation"]``."""
    provenance = record.provenance
    provenance["preparation"] = [*provenance.get("preparation", []), step]
    return Record(
        record.time if time is None else time, data, record.names, record.units, name=record.name,
        status=record.status, statistics=record.statistics, provenance=provenance, scene=record.scene,
    )  # fmt: skip


def refuse_gaps(record: Record, places: Sequence[int], doing: str) -> None:
    """Refuse channels with samples that are not finite, named."""
    for i in places:
        column = record.data[:, i]
        if not (np.isfinite(column.min()) and np.isfinite(column.max())):
            count = int(np.count_nonzero(~np.isfinite(column)))
            raise DataError(
                "not-finite",
                f"channel {record.names[i]!r} has {count} samples that are not finite (gaps); {doing} would spread "
                "them.",
                Advice("Fill them first with {}.", Call("da.identify.repair")),
                where={"channel": record.names[i]},
            )
