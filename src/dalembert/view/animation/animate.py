"""One self-contained HTML page that plays a run or mode shapes in three dimensions; it needs no network."""

from __future__ import annotations

import html
import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.core.arguments import take_names
from dalembert.core.atomic_files import write_text
from dalembert.core.errors import DataError, FileFormatError, MissingExtraError
from dalembert.record import Record
from dalembert.view.animation import payload
from dalembert.view.animation.machine_motion import add_estimate
from dalembert.view.animation.machine_scene import machine_data

if TYPE_CHECKING:
    from dalembert.estimate import Estimate


class Animation:
    """A page that moves: `save` writes it, a notebook shows it.

    ``html`` is the whole page; ``_repr_html_`` puts it into a frame of its own, so that its script sees nothing of the
    notebook.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data
        self.name = str(data.get("name") or "animation")

    @property
    def html(self) -> str:
        """The page, complete."""
        return page_text(self._data)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page; ``path`` ends in .html."""
        _check_name(path)
        write_text(path, self.html)
        return Path(path)

    def _repr_html_(self, height: int = 620) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" title="{html.escape(self.name)}" '
            f'sandbox="allow-scripts allow-downloads" '
            f'style="width:100%;height:{height}px;border:1px solid #8884;border-radius:8px"></iframe>'
        )

    def __repr__(self) -> str:
        return f"Animation({self.name!r}, {self._data['kind']}; .save('page.html') writes it)"


def animate(
    result: object,
    path: str | os.PathLike[str] | None = None,
    *,
    fps: float = 30,
    speed: float = 1.0,
    trail: str | Sequence[str] | None = None,
    channels: str | Sequence[str] | None = None,
    structure: object = None,
    modes: object = None,
    estimate: Estimate | None = None,
) -> Animation:
    """Make an animation: an HTML page that any browser plays, without a network.

    Space plays and stops, the arrow keys step; dragging turns a spatial scene and moves a planar one, the wheel zooms;
    a click into a plot sets the time, dragging there zooms; ``?`` lists all keys. ``page.html#t=1.5`` opens the page
    standing at 1.5 s. Flexible bodies are drawn deformed, in a scale from 0 to 1000 that a slider sets.

    Parameters
    ----------
    result : a run with a scene, as a simulation of a mechanism gives it; a Frame, Solid or Structure, or a Mechanism,
        its equations or one of its States, whose mode shapes are shown (of a machine about its rest, or the State; a
        State that is neither at rest nor steady is drawn without motion);
        Modes, Buckling or a response together with ``structure``.
    path : the page to write, ``.html``; left out, the animation is only returned (and shown by a notebook).
    fps : pictures per second, at least: more are stored where straight lines between them would show.
    speed : seconds of the run per second at the start; the page can change it.
    trail : points that leave a trail: a joint, a body (its origin), a named point or node ``body.point``, or a position
        ``name.x name.y [name.z]``.
    channels : those of a run that the plots open with; left out, sensors, inputs and coordinates that move.
    structure : Frame, Solid or Structure that a run (channels named as its coordinates) or Modes belong to; the
        Mechanism or equations of a run that was read from a CSV file, which has no drawing; the Mechanism, equations
        or State that the Modes of a linear model belong to.
    estimate : of a filter, drawn as a pale shadow of the run; its channels are ``estimate.<name>``.
    modes : of a structure or a machine: how many mode shapes, or the Modes themselves; 12 when left out.

    Returns
    -------
    Animation, with ``save(path)`` and ``html``.

    Examples
    --------
    >>> import dalembert as da
    >>> m = da.Mechanism("pendulum", planar=True)
    >>> rod = m.add_body("rod", mass=1.0, inertia=da.rod(1.0))
    >>> hinge = m.add_revolute("hinge", m.ground.at(0, 0), rod.at(-0.5, 0))
    >>> da.animate(da.simulate(da.equations(m), until=1.0))
    Animation('pendulum', machine; .save('page.html') writes it)
    """
    if path is not None:
        _check_name(path)
    for name, value in (("fps", fps), ("speed", speed)):
        if not (isinstance(value, int | float) and 0.0 < value < math.inf):
            raise DataError("not-positive", f"{name} must be a positive number, not {value!r}.")
    trails = list(take_names("point", trail or ()))
    shown = list(take_names("channel", channels or ()))
    if estimate is not None:
        if not isinstance(result, Record) or result.scene is None:
            raise DataError("ineffective-argument", "an estimate is drawn beside the run of a machine.")
        result = add_estimate(result, estimate)
    animation = Animation(_data(result, fps, speed, trails, shown, structure, modes))
    if path is not None:
        animation.save(path)
    return animation


def _data(
    result: object, fps: float, speed: float, trails: list[str], shown: list[str], structure: object, modes: object
) -> dict[str, Any]:
    if isinstance(result, Record) and (structure is None or isinstance(structure, _machines()[:2])):
        if modes is not None:
            raise DataError("ineffective-argument", "modes belong to a structure or a machine.")
        if structure is not None:
            result = _attach_scene(result, structure)
        return _guard(lambda: machine_data(result, fps, speed, trails, shown))
    if trails:
        raise DataError("ineffective-argument", "trail belongs to the run of a machine.")
    if shown and not isinstance(result, Record):
        raise DataError("ineffective-argument", "channels belong to a run.")
    machine: Any = (
        result if isinstance(result, _machines()) else structure if isinstance(structure, _machines()) else None
    )
    if machine is not None:
        from dalembert.linear.modes import Modes
        from dalembert.view.animation.machine_modes import machine_mode_data

        if result is not machine and not isinstance(result, Modes):
            raise DataError("wrong-type", f"on a machine only runs and Modes are drawn, not a {type(result).__name__}.")
        return machine_mode_data(machine, modes if result is machine else result, speed, fps)
    from dalembert.view.animation.structure_scene import structure_data

    return structure_data(result, structure, modes, fps, speed, shown)


def _attach_scene(run: Record, machine: object) -> Record:
    """A run without a drawing, with that of its machine."""
    from dalembert.equations import EquationsOfMotion
    from dalembert.mechanics import equations

    eqs = machine if isinstance(machine, EquationsOfMotion) else equations(machine)
    missing = [name for name in eqs.coordinates.names if name not in run.names and name not in eqs.unrecorded]
    if missing:
        raise DataError(
            "missing-channel",
            f"the record lacks {missing[0]!r} of mechanism {eqs.name!r}: animate a run of this machine, with all "
            "coordinates of its bodies.",
        )
    return Record(
        run.time, run.data, run.names, run.units, name=run.name or eqs.name, status=run.status,
        scene=eqs.scene_data,
        statistics=run.statistics, provenance=run.provenance,
    )  # fmt: skip


def _machines() -> tuple[type, ...]:
    from dalembert.equations import EquationsOfMotion, State
    from dalembert.model import Mechanism

    return (Mechanism, EquationsOfMotion, State)


def _guard(make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return make()
    # a scene from a file can be anything
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        raise DataError(
            "damaged", f"the scene of this record cannot be drawn ({type(error).__name__}: {error})."
        ) from error


def _check_name(path: str | os.PathLike[str]) -> None:
    if not isinstance(path, (str, os.PathLike)) or Path(path).suffix.lower() not in (".html", ".htm"):
        raise FileFormatError("bad-name", "an animation is an HTML page; give a name ending in .html.", path=str(path))


def page_text(data: Mapping[str, Any], *, connect: str = "'none'", live: Mapping[str, Any] | None = None) -> str:
    """The page with its data in it; ``connect`` : addresses that its script may use (a live view: ``'self'``)."""
    from dalembert.view.animation import page_build

    try:
        template = page_build.template()
    except page_build.PageError as error:
        raise MissingExtraError("missing-extra", str(error)) from error
    content = {**data, "live": dict(live)} if live else data
    packing, text = payload.as_text(content)
    # each mark occurs once and in this order: inserted texts are not searched again
    before, tail = template.split("<!--TITLE-->", 1)
    middle, after = tail.split("<!--DATA-->", 1)
    before = before.replace("connect-src 'none'", f"connect-src {connect}")
    title = html.escape(str(data.get("name") or "animation"))
    return f'{before}{title}{middle}<script type="text/plain" id="data" data-packing="{packing}">{text}</script>{after}'
