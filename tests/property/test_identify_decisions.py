"""Decisions hold: equal orders, modes and classes whatever the ninth digit of the samples, the kernels, the threads.

Every sample is moved by 1e-9 of its channel's size: far below the resolution of any instrument, far above rounding. The
kernels of OpenBLAS for other processors, and two threads, round in other ways. Frequencies may move by a hundredth of
their standard deviations.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

from tests.helpers.decision_records import MEASURED, SIMULATED
from tests.helpers.decisions import DECISIONS, QUICK_DRAWS, Decision, decide
from tests.other_kernels import find_kernels

ROOT = Path(__file__).parents[2]
RECORDS = [*MEASURED, *SIMULATED]
# quick ones of every kind: an arm whose search is ill-conditioned at high orders, sensor noise, unmeasured forces
QUICK = [
    "robot arm", "ball and beam", "two modes", "close modes", "short", "impacts", "free decay, offsets", "no noise",
    "hysteresis, multisine",
]  # fmt: skip
COSTLY = ("auto", "hysteresis, multisine")  # a fifth of the time of all; the slow test has it
DRAWS = 8
ELSEWHERE = (find_kernels() or [""])[0]

original = cache(decide)


def check(function: str, record: str, draws: Iterable[int]) -> None:
    here = original(function, record)
    assert [text for draw in draws for text in here.differences(decide(function, record, draw))] == []


@pytest.mark.parametrize(
    ("function", "record"),
    [(function, record) for function in DECISIONS for record in QUICK if (function, record) != COSTLY],
)
def test_the_ninth_digit_of_the_samples_decides_nothing(function: str, record: str) -> None:
    check(function, record, QUICK_DRAWS)


@pytest.mark.slow
@pytest.mark.parametrize("record", RECORDS)
@pytest.mark.parametrize("function", DECISIONS)
def test_the_ninth_digit_decides_nothing_on_any_record(function: str, record: str) -> None:
    check(function, record, range(1, DRAWS + 1))


@cache
def decide_elsewhere(kernel: str, threads: int, records: str) -> dict[str, dict[str, Decision]]:
    """Decisions of all functions in a process with other kernels or threads."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}
    if kernel:
        environment["OPENBLAS_CORETYPE"] = kernel
    command = [sys.executable, "-m", "tests.helpers.decisions", "|".join(DECISIONS), records]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    table = json.loads(done.stdout)
    return {name: {record: Decision(**row) for record, row in rows.items()} for name, rows in table.items()}


@pytest.mark.skipif(os.environ.get("OPENBLAS_CORETYPE") == ELSEWHERE, reason="runs under these kernels")
@pytest.mark.parametrize("function", DECISIONS)
def test_other_kernels_decide_the_same_on_the_arm(function: str) -> None:
    elsewhere = decide_elsewhere(ELSEWHERE, 1, "robot arm|two modes")[function]
    assert [text for name, row in elsewhere.items() for text in original(function, name).differences(row)] == []


@pytest.mark.slow
@pytest.mark.parametrize("record", RECORDS)
@pytest.mark.parametrize(("kernel", "threads"), [*((name, 1) for name in find_kernels()), ("", 2)])
def test_all_kernels_and_two_threads_decide_the_same(kernel: str, threads: int, record: str) -> None:
    elsewhere = decide_elsewhere(kernel, threads, "|".join(RECORDS))
    texts = [text for name in DECISIONS for text in original(name, record).differences(elsewhere[name][record])]
    assert texts == []
