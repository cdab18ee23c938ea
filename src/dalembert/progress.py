"""Progress of anything long: silent for two seconds, then a bar on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Self

Setting = bool | Callable[[float], None] | None
"""What every ``progress=`` takes."""


class Progress:
    """None: a bar on a terminal after two seconds; True: always a bar; False: none; or a function of the fraction."""

    def __init__(self, setting: Setting, title: str) -> None:
        self._call = setting if callable(setting) else None
        self._allowed = setting is True or (setting is None and sys.stderr.isatty())
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
            from rich.console import Console
            from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            title, share, left = TextColumn("{task.description}"), TaskProgressColumn(), TimeRemainingColumn()
            columns = (title, BarColumn(), share, left, TextColumn("left"))
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self._title, total=1.0)
        self._bar.update(self._task, completed=fraction)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
