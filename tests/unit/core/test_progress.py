"""Progress: bars of long work, and work in named steps."""

from __future__ import annotations

import io
import sys
import time

import pytest

import dalembert as da
from dalembert.core.progress import Progress, Steps, step, within
from tests.helpers.findings import raises

PLAN = {"model": 1.0, "runs": 3.0}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Standard error becomes a terminal, wide enough for a line. (Not a fixture: the capture of tests comes after.)"""
    made = Terminal()
    monkeypatch.setattr(sys, "stderr", made)
    for name, value in (("COLUMNS", "120"), ("TERM", "xterm")):
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    return made


def test_a_step_is_named_with_its_number_and_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    with Steps(None, "study", PLAN):
        step("model")
        step("runs")
        time.sleep(0.15)  # the bar draws itself ten times a second
    shown = terminal.getvalue()
    assert "study: runs (2 of 2)" in shown
    assert "25%" in shown
    assert "left" in shown


def test_steps_are_silent_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with Steps(None, "study", PLAN):
        step("model")
        step("runs")
    assert capsys.readouterr() == ("", "")


def test_bars_inside_a_step_stay_away(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    with Steps(False, "study", PLAN):
        step("model")
        inner = Progress(None, "simulating")
        monkeypatch.setattr(inner, "_delay", 0.0)
        inner.update(0.5)
        inner.close()
    assert terminal.getvalue() == ""
    alone = Progress(None, "simulating")
    monkeypatch.setattr(alone, "_delay", 0.0)
    alone.update(0.5)
    alone.close()
    assert "simulating" in terminal.getvalue()


def test_the_one_long_thing_inside_a_step_moves_its_part_of_the_bar() -> None:
    seen: list[float] = []
    with Steps(seen.append, "study", PLAN):
        step("runs")
        with Progress(within(), "simulating") as bar:
            bar.update(0.5)
    assert seen == [0.25, 0.625, 1.0]


def test_a_machine_half_as_fast_takes_twice_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    with Steps(False, "study", PLAN) as steps:
        step("model")
        assert steps.estimate_left() == pytest.approx(4.0)
        now = 2.0  # expected: 1 s
        step("runs")
        assert steps.estimate_left() == pytest.approx(6.0)
        now = 5.0
        assert steps.estimate_left() == pytest.approx(3.0)


def test_steps_that_nobody_watches_cost_nothing() -> None:
    step("anything")
    assert within() is None


def test_a_step_that_is_not_planned_is_refused_with_the_known_ones() -> None:
    with Steps(False, "study small", PLAN), raises(da.errors.DataError, "unknown-name", "'run'"):
        step("run")


def test_after_a_failure_bars_are_free_again() -> None:
    with pytest.raises(ZeroDivisionError), Steps(False, "study", PLAN):
        _ = 1 / 0
    assert within() is None


# ---- edges of thresholds


@pytest.mark.parametrize(("done", "left"), [(0.05, 95.0), (0.06, 1567.0)])
def test_the_pace_counts_once_a_twentieth_is_done(done: float, left: float, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    with Steps(False, "study", {"runs": 100.0}) as steps:
        step("runs")
        now = 100.0
        steps.within(done)
        assert steps.estimate_left() == pytest.approx(left, abs=1.0)  # of 94 s, at 100/6 of the expected time
