"""Progress of long computations: nothing for two seconds, then a bar on a terminal.

Work in named steps shows one bar for all of them (:class:`Steps`), with the present step and the remaining time. Bars
of computations inside a step are not shown. The remaining time is the expected time of the remaining steps, times the
ratio of actual to expected time so far.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar, Token
from typing import Any, Self

from dalembert.core.errors import require_name

Setting = bool | Callable[[float], None] | None
"""Values of every ``progress=``."""

_FIRST = 0.05  # fraction done from which the time spent gives an estimate of the pace


class Progress:
    """None: a bar on a terminal after two seconds; True: always a bar; False: none; or a function of the fraction."""

    def __init__(self, setting: Setting, title: str) -> None:
        self._call = setting if callable(setting) else None
        self._allowed = setting is True or (setting is None and sys.stderr.isatty() and _steps.get() is None)
        self._delay = 0.0 if setting is True else 2.0
        self._start = time.monotonic()
        self._title = title
        self._bar: Any = None
        self._task: Any = None

    def update(self, fraction: float) -> None:
        if self._call is not None:
            self._call(fraction)
        if not self._allowed or time.monotonic() - self._start < self._delay:
            return
        if self._bar is None:
            from rich.progress import TimeRemainingColumn

            self._bar, self._task = _bar(self._title, TimeRemainingColumn())
        self._bar.update(self._task, completed=fraction)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


class Steps:
    """Work in named steps, one bar for all: ``with Steps(None, "study", {"model": 2.0, "runs": 20.0}): ...``.

    Inside, :func:`step` names the one that begins, wherever it is called.

    Parameters
    ----------
    setting : None: a bar on a terminal; True: always; False: none; or a function of the fraction.
    title : what runs
    plan : names of the steps in order, and about how many seconds each takes

    Examples
    --------
    >>> seen = []
    >>> with Steps(lambda fraction: seen.append(round(fraction, 2)), "study", {"model": 1.0, "runs": 3.0}):
    ...     step("model")
    ...     step("runs")
    >>> seen
    [0.0, 0.25, 1.0]
    """

    def __init__(self, setting: Setting, title: str, plan: Mapping[str, float]) -> None:
        self._call = setting if callable(setting) else None
        self._allowed = setting is True or (setting is None and sys.stderr.isatty())
        self._title, self._plan = title, dict(plan)
        self._total = sum(self._plan.values()) or 1.0
        self._start = time.monotonic()
        self._before = self._done = 0.0  # expected seconds of the steps before this one, and of all that is done
        self._now: str | None = None
        self._estimate = self._total
        self._bar: Any = None
        self._task: Any = None
        self._token: Token[Steps | None] | None = None

    def begin(self, name: str) -> None:
        """A step of the plan begins; those before it are done."""
        require_name("step", name, self._plan, self._title)
        self._now, place = name, list(self._plan).index(name)
        self._before = self._done = sum(list(self._plan.values())[:place])
        self._show(f"{self._title}: {name} ({place + 1} of {len(self._plan)})")

    def within(self, fraction: float) -> None:
        """Fraction of the present step that is done."""
        if self._now is not None:
            self._done = self._before + min(max(fraction, 0.0), 1.0) * self._plan[self._now]
            self._show(None)

    def estimate_left(self) -> float:
        """Estimate of the seconds to go."""
        return max(0.0, self._estimate - (time.monotonic() - self._start))

    def _show(self, words: str | None) -> None:
        spent = time.monotonic() - self._start
        # a slow machine stays slow; a small fraction done gives no estimate
        pace = spent / self._done if self._done > _FIRST * self._total else 1.0
        self._estimate = spent + pace * (self._total - self._done)
        if self._call is not None:
            self._call(self._done / self._total)
        if not self._allowed:
            return
        if self._bar is None:
            self._bar, self._task = _bar(words or self._title, _time_left(self))
        text = {} if words is None else {"description": words}
        self._bar.update(self._task, completed=self._done / self._total, **text)

    def __enter__(self) -> Self:
        self._token = _steps.set(self)
        return self

    def __exit__(self, *failure: object) -> None:
        if self._token is not None:
            _steps.reset(self._token)
        if failure[0] is None and self._call is not None:
            self._call(1.0)
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


_steps: ContextVar[Steps | None] = ContextVar("dalembert_steps", default=None)


def step(name: str) -> None:
    """Begin a step of the surrounding :class:`Steps`, if there is one."""
    steps = _steps.get()
    if steps is not None:
        steps.begin(name)


def within() -> Setting:
    """A ``progress=`` for one long computation inside a step: its part of the bar, where steps are shown."""
    steps = _steps.get()
    return None if steps is None else steps.within


def _bar(title: str, left: Any) -> tuple[Any, Any]:
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), left, TextColumn("left"))
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    bar.start()
    return bar, bar.add_task(title, total=1.0)


def _time_left(steps: Steps) -> Any:
    from rich.progress import ProgressColumn
    from rich.text import Text

    class TimeLeft(ProgressColumn):
        def render(self, task: object) -> Text:
            seconds = round(steps.estimate_left())
            return Text(f"{seconds // 60}:{seconds % 60:02d}", style="progress.remaining")

    return TimeLeft()
