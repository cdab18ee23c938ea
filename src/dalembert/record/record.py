"""Record: time and named channels with units, for a simulated run and for a measurement alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from dalembert.core.arguments import real_number, take_names
from dalembert.core.arrays import FloatArray as Array
from dalembert.core.errors import DataError, require_extra, require_name, unknown_name
from dalembert.core.findings import Advice, Argument, Call
from dalembert.core.tables import align_columns, small_table
from dalembert.record import sampling
from dalembert.record.checks import (
    check_data,
    check_line,
    check_mapping,
    check_names,
    check_time,
    check_units,
    freeze,
    numbers,
)
from dalembert.record.interpolate import check_inside, interpolate_cubic, interpolate_linear, regular_times
from dalembert.record.sampling import Gaps

_AXES = ("x", "y", "z")
_ROWS_SHOWN = 20


class About(TypedDict, total=False):
    """Name, status, statistics, provenance and scene of a record."""

    name: str
    status: str
    statistics: Mapping[str, Any] | None
    provenance: Mapping[str, Any] | None
    scene: Mapping[str, Any] | None


class Record:
    """Time and named channels with units; frozen.

    Large arrays are kept, not copied, and handed out read-only: do not write into an array after giving it away.

    Parameters
    ----------
    time : (N,) strictly increasing and finite [s]; any spacing.
    data : (N, k); NaN marks a sample that was not measured (a gap).
    names : k different channel names.
    units : one per channel, or a mapping from some of the names; "" is dimensionless.
    name : of the record.
    status : "complete", or why it ends early.
    statistics, provenance : plain values about how it was made.
    scene : plain data for the animation, or ``None``.

    Examples
    --------
    >>> run = Record([0.0, 0.5, 1.0], [[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]], ["tip.x", "tip.y"], ["m", "m"])
    >>> run["tip.x"]
    array([0., 1., 2.])
    >>> run["tip"].shape
    (3, 2)
    >>> run.at(0.25)
    {'tip.x': 0.5, 'tip.y': 1.0}
    """

    _time: Array
    _data: Array
    _columns: dict[str, int]
    _units: tuple[str, ...]
    _about: About

    def __init__(
        self,
        time: npt.ArrayLike,
        data: npt.ArrayLike,
        names: Sequence[str],
        units: Sequence[str] | Mapping[str, str] | None = None,
        *,
        name: str = "",
        status: str = "complete",
        statistics: Mapping[str, Any] | None = None,
        provenance: Mapping[str, Any] | None = None,
        scene: Mapping[str, Any] | None = None,
    ) -> None:
        put = object.__setattr__
        columns = check_names(names if isinstance(names, (str, tuple)) else take_names("channel", names))
        put(self, "_columns", columns)
        put(self, "_time", check_time(time))
        put(self, "_data", check_data(data, self._time.size, columns))
        put(self, "_units", check_units(units, columns))
        about = About(
            name=check_line(name, "the name of a record"),
            status=check_line(status, "the status of a record"),
            statistics=check_mapping(statistics or {}, "statistics"),
            provenance=check_mapping(provenance or {}, "provenance"),
            scene=None if scene is None else check_mapping(scene, "scene"),
        )
        put(self, "_about", about)

    @classmethod
    def from_channels(
        cls,
        time: npt.ArrayLike,
        channels: Mapping[str, npt.ArrayLike],
        units: Mapping[str, str] | None = None,
        **about: Unpack[About],
    ) -> Record:
        """Record from one array per channel; a scalar is a constant channel, (N, 2) and (N, 3) become .x .y [.z].

        Examples
        --------
        >>> Record.from_channels([0.0, 1.0], {"force": [3.0, 4.0]}, {"force": "N"}).units
        {'force': 'N'}
        """
        t = check_time(time)
        labels: dict[str, str] = {}
        columns: list[Array] = []
        units_ = dict(units or {})
        for label, values in channels.items():
            column = numbers(values, f"channel {label!r}")
            if column.ndim == 0:
                column = np.full(t.size, float(column))
            if column.shape[:1] != t.shape or column.ndim > 2 or (column.ndim == 2 and column.shape[1] not in (2, 3)):
                raise DataError(
                    "wrong-shape", f"channel {label!r} has shape {column.shape}; expected ({t.size},), as long as time."
                )
            unit = units_.pop(label, "")
            parts = [label] if column.ndim == 1 else [f"{label}.{axis}" for axis in _AXES[: column.shape[1]]]
            for i, label_ in enumerate(parts):
                DataError.when(label_ in labels, "taken-name", f"channel {label_!r} is given twice.")
                labels[label_] = units_.pop(label_, unit)
                columns.append(column if column.ndim == 1 else column[:, i])
        for label in units_:
            require_name("channel", label, labels, "units")
        data = np.column_stack(columns) if columns else np.empty((t.size, 0))
        return cls(t, data, tuple(labels), tuple(labels.values()), **about)

    @classmethod
    def from_pandas(cls, frame: Any, units: Mapping[str, str] | None = None, *, time: str | None = None) -> Record:
        """Record of a ``pandas.DataFrame``: its index is the time [s], or the column `time` if one is named.

        Dates and time differences count from the first row. Units are those given, else ``frame.attrs["units"]``, as
        of :meth:`to_pandas`. Columns that are no numbers are refused by name.

        Examples
        --------
        >>> import pandas
        >>> table = pandas.DataFrame({"t": [0.0, 0.1], "force": [3.0, 4.0]})
        >>> Record.from_pandas(table, {"force": "N"}, time="t").names
        ('force',)
        """
        pandas = require_extra("pandas", "data")
        problem = f"from_pandas needs a pandas.DataFrame, got {type(frame).__name__}."
        DataError.when(not isinstance(frame, pandas.DataFrame), "wrong-type", problem)
        if time is not None and time not in frame.columns:
            raise DataError("unknown-name", unknown_name("column", time, map(str, frame.columns), "the table"))
        clock = frame.index if time is None else pandas.Index(frame[time])
        if isinstance(clock, (pandas.DatetimeIndex, pandas.TimedeltaIndex)):
            clock = (clock - clock[0]).total_seconds()
        table = frame if time is None else frame.drop(columns=time)
        for name in table.columns:
            problem = f"column {name!r} holds no numbers: {table[name].dtype}."
            DataError.when(not pandas.api.types.is_numeric_dtype(table[name]), "not-a-number", problem)
        attrs = frame.attrs
        units_ = dict(attrs.get("units", {}) if units is None else units)
        about = {key: attrs[key] for key in ("name", "status") if key in attrs}
        return cls(
            numbers(clock, "time"), table.to_numpy(dtype=float), [str(name) for name in table.columns], units_, **about
        )

    # ---- contents

    @property
    def time(self) -> Array:
        """(N,) [s], read-only."""
        return self._time

    @property
    def data(self) -> Array:
        """(N, k), read-only, columns in the order of ``names``."""
        return self._data

    @property
    def names(self) -> tuple[str, ...]:
        """Channel names."""
        return tuple(self._columns)

    @property
    def units(self) -> dict[str, str]:
        """Unit of every channel by name (a copy)."""
        return dict(zip(self._columns, self._units, strict=True))

    @property
    def name(self) -> str:
        """What the record is called."""
        return self._about["name"]

    @property
    def status(self) -> str:
        """``"complete"``, or why it ends early."""
        return self._about["status"]

    @property
    def statistics(self) -> dict[str, Any]:
        """Counts and times of the computation (a copy)."""
        return dict(self._about["statistics"] or {})

    @property
    def provenance(self) -> dict[str, Any]:
        """How the record was made, in plain values (a copy)."""
        return dict(self._about["provenance"] or {})

    @property
    def scene(self) -> dict[str, Any] | None:
        """What the animation draws, in plain values (a copy), or ``None``."""
        scene = self._about["scene"]
        return None if scene is None else dict(scene)

    @property
    def sample_time(self) -> float:
        """Time between samples [s]; ``DataError`` where it is not the same throughout."""
        t = self._time
        DataError.when(t.size < 2, "too-few-samples", f"{self._label()} has one sample, so no sample time.")
        if not self.is_even:
            steps = np.diff(t)
            raise DataError(
                "uneven-sampling",
                f"{self._label()} is not sampled uniformly: steps from {steps.min():.6g} s to {steps.max():.6g} s "
                f"(the longest after t = {t[int(steps.argmax())]:.6g} s).",
                Advice("Use {}.", Call("Record.resample", Argument("every", float(f"{np.median(steps):.6g}")))),
            )
        return float(t[-1] - t[0]) / (t.size - 1)

    @property
    def is_even(self) -> bool:
        """Whether the time between samples is the same throughout; ``resample`` makes it so."""
        return sampling.is_even(self._time)

    def has_gaps(self) -> bool:
        """Whether any sample of any channel is missing (NaN)."""
        return bool(np.isnan(self._data).any())

    def gaps(self) -> Gaps:
        """Missing samples: channel, from, to, number; "(all)" where time itself jumps.

        Examples
        --------
        >>> Record([0.0, 1.0, 2.0, 3.0], [[1.0], [float("nan")], [float("nan")], [4.0]], ["tip.x"]).gaps()
        the record has 1 gap, 2 samples missing
        channel  from [s]  to [s]  samples
        tip.x           1       2        2
        """
        return Gaps(tuple(sampling.find_gaps(self._time, self._data, self.names)), self._label())

    # ---- picking

    def __len__(self) -> int:
        return int(self._time.size)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self._data, dtype=dtype, copy=True if copy is None else copy)

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (
            name == "time" or self._short(name) in self._columns or bool(self._vector(name))
        )

    def __getitem__(self, name: str | Sequence[str]) -> Array:
        """(N,) of a channel, (N, 2 or 3) of a vector by its stem, (N, k) of a list of names; read-only."""
        if isinstance(name, str):
            column = self._columns.get(self._short(name))
            if column is not None:
                return self._data[:, column]
            if name == "time":
                return self._time
            vector = self._vector(name)
            if not vector:
                raise self._report_unknown(name)
            return freeze(self._data[:, vector])
        if not isinstance(name, (list, tuple)):
            raise DataError(
                "wrong-type",
                f"a record is indexed by channel name, not by {type(name).__name__}.",
                Advice("For samples use {}.", Call("Record.between")),
            )
        if all(isinstance(entry, str) and entry in self._columns for entry in name):
            return freeze(self._data.take([self._columns[entry] for entry in name], axis=1))
        return freeze(np.column_stack([self[entry] for entry in name]))

    def select(self, *names: str) -> Record:
        """Record of some channels only: exact names, or stems (``"A"`` takes ``A.angle``, ``A.force.x``, ...)."""
        DataError.when(not names, "empty", f"select needs at least one name. Known: {', '.join(self.names[:20])}.")
        columns: dict[int, None] = {}
        for name in names:
            channels = self.expand(name)
            columns.update(dict.fromkeys(self._columns[channel] for channel in channels))
        index = list(columns)
        every = self.names
        return self._with(self._time, self._data[:, index], [every[i] for i in index], [self._units[i] for i in index])

    def expand(self, name: str) -> tuple[str, ...]:
        """Channels meant by a name: itself, or all whose names start with it and a dot."""
        if self._short(name) in self._columns:
            return (self._short(name),)
        channels = tuple(channel for channel in self._columns if channel.startswith(f"{name}."))
        if not channels or not isinstance(name, str):
            raise self._report_unknown(name)
        return channels

    def between(self, start: float | None = None, stop: float | None = None) -> Record:
        """Samples with ``start <= time <= stop``, as a view."""
        t = self._time
        start, stop = (
            None if end is None else real_number(name, end, finite=False)
            for name, end in (("start", start), ("stop", stop))
        )
        first = 0 if start is None else int(np.searchsorted(t, start, side="left"))
        last = t.size if stop is None else int(np.searchsorted(t, stop, side="right"))
        ends = f"{t[0]:.6g} to {t[-1]:.6g} s"
        problem = f"no sample of {self._label()} lies between {start} and {stop} s; it runs from {ends}."
        DataError.when(first >= last, "out-of-range", problem)
        return self._with(t[first:last], self._data[first:last], self.names, self._units)

    def parts(self) -> tuple[Record, ...]:
        """The record cut where time jumps by more than three usual steps; itself alone where it does not.

        Examples
        --------
        >>> run = Record([0.0, 1.0, 2.0, 3.0, 9.0, 10.0, *range(11, 20)], np.zeros((15, 1)), ["x"])
        >>> [part.time.tolist()[:2] for part in run.parts()]
        [[0.0, 1.0], [9.0, 10.0]]
        """
        holes = sampling.find_holes(self._time)
        if not holes:
            return (self,)
        noted = self._with_note("parted", *(sampling.describe_gap(hole, self._time) for hole in holes))
        starts, stops = [None, *(hole.stop for hole in holes)], [*(hole.start for hole in holes), None]
        return tuple(noted.between(start, stop) for start, stop in zip(starts, stops, strict=True))

    def at(self, t: float) -> dict[str, float]:
        """Every channel at one time, by linear interpolation."""
        wanted = check_inside(self._time, np.array([real_number("t", t)]), self._label())
        row = interpolate_linear(self._time, self._data, wanted)[0]
        return dict(zip(self._columns, row.tolist(), strict=True))

    def resample(
        self,
        *,
        every: float | None = None,
        times: npt.ArrayLike | None = None,
        kind: Literal["linear", "cubic"] = "linear",
    ) -> Record:
        """Record at other times inside its own range.

        Parameters
        ----------
        every : new sample time [s], from the first sample on.
        times : or the new times themselves [s].
        kind : "linear" (gaps stay gaps), or "cubic" (a spline through all samples; no gaps allowed).

        Interpolated rates are not the rates of interpolated values: ``provenance["resampled"]`` notes it.

        Where time itself jumps, values in between are made up: warned of (``GapWarning``), and kept in
        ``provenance["filled"]``. ``parts()`` cuts a record there instead.

        Examples
        --------
        >>> Record([0.0, 1.0], [[0.0], [2.0]], ["x"]).resample(every=0.5)["x"]
        array([0., 1., 2.])
        """
        if (every is None) == (times is None):
            raise DataError(
                "conflicting-arguments",
                "resample needs either a sample time or an array of times, and not both.",
                Advice("Give {}.", Argument("every"), Argument("times")),
            )
        if times is None:
            assert every is not None
            wanted = regular_times(self._time, every)
        else:
            wanted = check_time(times)
        wanted = check_inside(self._time, wanted, self._label())
        if kind == "linear":
            data = interpolate_linear(self._time, self._data, wanted)
        elif kind == "cubic":
            data = interpolate_cubic(self._time, self._data, wanted, self.names)
        else:
            raise DataError("unknown-choice", f"kind must be 'linear' or 'cubic', not {kind!r}.")
        record = self._with(wanted, data, self.names, self._units)
        if not sampling.are_samples(self._time, wanted):
            record = record._with_note("resampled", f"resampled by {kind} interpolation")
        holes = sampling.find_interpolated(self._time, wanted)
        if not holes:
            return record
        sampling.warn_of_interpolation(holes, self._label())
        return record._with_note("filled", *holes)

    # ---- to others

    def to_pandas(self) -> Any:
        """``pandas.DataFrame`` with time as its index; units in ``.attrs["units"]``."""
        pandas = require_extra("pandas", "data")
        frame = pandas.DataFrame(self._data, index=pandas.Index(self._time, name="time"), columns=list(self.names))
        frame.attrs.update(name=self.name, status=self.status, units=self.units)
        return frame

    def to_xarray(self) -> Any:
        """``xarray.Dataset`` with one variable per channel along ``time``; units as attributes."""
        xarray = require_extra("xarray", "data")
        variables = {
            label: ("time", self._data[:, i], {"units": unit})
            for i, (label, unit) in enumerate(zip(self._columns, self._units, strict=True))
        }
        return xarray.Dataset(
            variables,
            coords={"time": ("time", self._time, {"units": "s"})},
            attrs={"name": self.name, "status": self.status},
        )

    # ---- as an object

    def __setattr__(self, name: str, value: object = None) -> None:
        raise AttributeError(f"a Record is frozen: {name!r} cannot be changed. Make a new one.")

    __delattr__ = __setattr__

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Record, **self._about), (self._time, self._data, self.names, self._units)

    def _repr_html_(self) -> str:
        t, most = self._time, 2 * _ROWS_SHOWN
        title = f"{self.name or 'Record'}: {t.size} samples, {t[0]:.6g} to {t[-1]:.6g} s, {self.status}"
        columns = zip(self.names[:most], self._units, self._data.T, strict=False)
        rows = [(n, u, f"{np.fmin.reduce(c):.5g}", f"{np.fmax.reduce(c):.5g}") for n, u, c in columns]
        return small_table(title, ("channel", "unit", "min", "max"), rows, max(len(self.names) - most, 0))

    def __repr__(self) -> str:
        t = self._time
        gaps = sampling.describe_missing(self._data)
        head = (
            f"Record{f' {self.name!r}' if self.name else ''}: {t.size} samples, {t[0]:.6g} to {t[-1]:.6g} s, "
            f"{len(self._units)} channels, {self.status}" + (f", {gaps}" if gaps else "")
        )
        uneven = sampling.describe_unevenness(t)
        if uneven:
            lost = sampling.find_jumps(t)
            times = f"; {sum(gap.samples for gap in lost)} samples lost in {len(lost)} jumps of time" if lost else ""
            head += f"\n  {uneven}{times}"
        shown = self.names[:_ROWS_SHOWN]
        columns = zip(shown, self._units, self._data.T, strict=False)
        rows = [(n, u, f"{np.fmin.reduce(c):.5g}", f"{np.fmax.reduce(c):.5g}") for n, u, c in columns]
        lines = [head, align_columns(("channel", "unit", "min", "max"), rows, left=(0, 1), indent="  ")]
        if len(self._units) > _ROWS_SHOWN:
            lines.append(f"  ... and {len(self._units) - _ROWS_SHOWN} more")
        return "\n".join(lines)

    # ---- inside

    def _label(self) -> str:
        return f"record {self.name!r}" if self.name else "the record"

    def _short(self, name: str) -> str:
        """A channel may also be called by its header in the file, which had its unit in it."""
        if name in self._columns:
            return name
        full = (self._about["provenance"] or {}).get("headers")
        short = full.get(name) if isinstance(full, Mapping) else None
        return short if isinstance(short, str) else name

    def _vector(self, stem: str) -> list[int]:
        columns = [self._columns[channel] for axis in _AXES if (channel := f"{stem}.{axis}") in self._columns]
        return columns if f"{stem}.x" in self._columns and f"{stem}.y" in self._columns else []

    def _report_unknown(self, name: object) -> DataError:
        parts = [channel for channel in self._columns if channel.startswith(f"{name}.")]
        if parts:
            more = f", ... ({len(parts)} in all)" if len(parts) > _ROWS_SHOWN else ""
            return DataError(
                "stem-of-names",
                f"{name!r} is neither a channel nor a vector of {self._label()}, but the stem of "
                f"{', '.join(parts[:_ROWS_SHOWN])}{more}.",
                Advice("Take one of them, or all with {}.", Call("Record.select")),
                where={"name": str(name)},
            )
        problem = unknown_name("channel", str(name), self._columns, self._label())
        return DataError("unknown-name", problem, where={"name": str(name)})

    def _with_note(self, key: str, *texts: str) -> Record:
        """The record with further notes in its provenance."""
        provenance = {**self.provenance, key: [*self.provenance.get(key, []), *texts]}
        about: About = {**self._about, "provenance": provenance}
        return Record(self._time, self._data, self.names, self._units, **about)

    def _with(self, time: Array, data: Array, names: Sequence[str], units: Sequence[str]) -> Record:
        return Record(time, data, names, units, **self._about)
