"""Several set-ups of sensors on one structure, merged by the reference sensors that stay in place.

poser    every set-up is identified by itself, then its shapes are scaled and joined (``poser.py``)
preger   the covariances of all set-ups are brought to one excitation, then identified at once (``preger.py``)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dalembert.core.arguments import one_of, whole_number
from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument
from dalembert.core.text import list_names
from dalembert.identify.auto.time_scale import reduce_rate
from dalembert.identify.auto.validation import find_no_sound_mode
from dalembert.identify.model.identified import Identified, take_identified
from dalembert.identify.records.checks import common_sample_time, common_units, list_records
from dalembert.identify.records.data import Data, read_data
from dalembert.identify.records.reporting import report_findings
from dalembert.identify.setups.merged_modes import MergedModes
from dalembert.identify.setups.one_quantity import find_conversion
from dalembert.identify.setups.poser import SetupModes, identify_setup, join_setups, modes_of_model
from dalembert.identify.setups.preger import identify_at_once
from dalembert.identify.setups.setup_classes import find_common_scale
from dalembert.record import Record

if TYPE_CHECKING:
    from dalembert.identify.auto.result import AutoIdentified

METHODS = ("poser", "preger")


@report_findings
def merge_setups(
    setups: Sequence[Record | Sequence[Record] | Identified | AutoIdentified], *,
    references: str | Iterable[str] | None = None, method: str = "poser", most: int | None = None,
    rows: int | None = None,
) -> MergedModes:  # fmt: skip
    """Modes with the sensors of several set-ups, from outputs alone, merged by the sensors that stay in place.

    Parameters
    ----------
    setups : one per set-up: a Record, or several of repeated tests; for "poser" also an identified model
        Moved sensors have another name in every set-up. Of a result of :func:`auto` the sound modes are taken.
    references : names of the sensors that stay in place; the channels that all set-ups share when left out
    method : "poser" or "preger"
        Post separate estimation re-scaling: every set-up by itself (SSI-data), modes paired by frequency and MAC at the
        references, frequencies and damping ratios averaged, shapes scaled at the references and joined. Pre global
        estimation re-scaling: the covariances of every set-up brought to a common excitation, then one SSI; suits many
        set-ups and modes that are close.
    most : largest order of the stabilization diagrams, optional
        60 for PoSER, 40 for PreGER, whose poles of all sensors scatter at larger ones.
    rows : block rows of past and future, optional

    Returns
    -------
    MergedModes
    """
    one_of("method", method, METHODS)
    sources: list[Any] = list(setups) if isinstance(setups, Sequence) else []
    if len(sources) < 2:
        raise DataError(
            "empty", "merging needs at least two set-ups, one record (or a list of repeated tests) each.",
            where={"argument": "setups"},
        )  # fmt: skip
    if most is not None:
        whole_number("most", most, 2)
    models = [isinstance(take_identified(each), Identified) for each in sources]
    if method == "preger" and any(models):
        raise DataError(
            "wrong-type", f"set-up {models.index(True) + 1} is a model: PreGER merges records.",
            Advice("Use {} for models.", Argument("method", "poser")),
        )  # fmt: skip
    names = [
        take_identified(each).outputs if model else list_records(each)[0].names for each, model in zip(sources, models)
    ]
    shared = find_references(names, references)
    moved = [tuple(name for name in names_here if name not in shared) for names_here in names]
    _check_moved(moved)
    runs = [list_records(each)[0] for each, model in zip(sources, models) if not model]
    if runs:
        common_sample_time(runs)
        common_units(runs, shared)
    channels = [(*shared, *names_here) for names_here in moved]
    units = {
        name: unit for each, model in zip(sources, models)
        for name, unit in (take_identified(each).system.units if model else list_records(each)[0].units).items()
    }  # fmt: skip
    conversion = find_conversion((*shared, *sum(moved, ())), units)
    parts: list[Any] = [
        each if model else _read(each, names_here) for each, model, names_here in zip(sources, models, channels)
    ]
    measured = [piece for piece in parts if isinstance(piece, Data)]
    doubts = [*conversion.findings, *(each for piece in measured for each in piece.findings)]
    scale = find_common_scale(measured) if measured else None
    if scale is not None and scale.factor > 1:
        parts = [
            _read(reduce_rate(list_records(each), scale.factor), names_here) if isinstance(piece, Data) else piece
            for each, piece, names_here in zip(sources, parts, channels)
        ]
    if method == "preger":
        assert scale is not None
        merged = identify_at_once(parts, shared, moved, most, rows, scale, conversion, doubts)
    else:
        results: list[SetupModes] = []
        for piece in parts:
            if isinstance(piece, Data):
                assert scale is not None
                results.append(identify_setup(piece, most, rows, scale))
            else:
                results.append(modes_of_model(piece))
        merged = join_setups(results, shared, moved, scale, conversion, doubts)
    return replace(merged, findings=(*merged.findings, *find_no_sound_mode(merged.judgements)))


def _read(setup: Any, channels: Sequence[str]) -> Data:
    return read_data.quiet(list_records(setup), (), channels, detrend="mean")


def find_references(names: Sequence[Sequence[str]], given: str | Iterable[str] | None) -> tuple[str, ...]:
    """Channels of all set-ups that stay in place: as given, or those that all share."""
    shared = [name for name in names[0] if all(name in channels for channels in names[1:])]
    if given is None:
        if shared:
            return tuple(shared)
        raise DataError(
            "missing-channel",
            "the set-ups share no channel: at least one sensor must stay in place, under one name in all records.",
            Advice("Name the channels alike, or give {}.", Argument("references")),
        )
    wanted = (given,) if isinstance(given, str) else tuple(given)
    for name in wanted:
        for k, channels in enumerate(names):
            if name not in channels:
                raise DataError(
                    "missing-channel",
                    f"set-up {k + 1} has no channel {name!r}, which is a reference. All set-ups share: "
                    f"{list_names(shared, {}) or 'none'}.",
                    where={"record": k + 1, "channel": name},
                )
    if not wanted:
        raise DataError("empty", "references names no channel.", where={"argument": "references"})
    return tuple(dict.fromkeys(wanted))


def _check_moved(moved: Sequence[Sequence[str]]) -> None:
    """Refuse sensors with one name in several set-ups that are not references, and set-ups without moved sensors."""
    if not any(moved):
        raise DataError(
            "duplicate",
            "all channels have the same names in all set-ups: nothing is to be merged. Name moved sensors differently "
            "in every set-up; records of one set-up are repeated tests, which all methods take as a list.",
            Advice("Or give {}.", Argument("references")),
        )
    homes: dict[str, int] = {}
    for k, channels in enumerate(moved):
        for name in channels:
            if name in homes:
                raise DataError(
                    "duplicate",
                    f"channel {name!r} is in set-ups {homes[name] + 1} and {k + 1} but is no reference. Name moved "
                    "sensors differently in every set-up, or leave the channel out of one of them.",
                    where={"channel": name, "record": k + 1},
                )
            homes[name] = k
