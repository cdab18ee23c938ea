"""How many requirement ids have a test, per source: `python -m tests.coverage [-v]`.

Tests are collected, not run, so a parametrized mark counts and a comment does not.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import functools
import io
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

INDEX = Path(__file__).with_name("spec_index.csv")


@functools.cache
def known_ids() -> dict[str, str]:
    """All requirement ids with their titles, in the order of the index."""
    with INDEX.open(encoding="utf-8", newline="") as file:
        return {row["id"]: row["title"] for row in csv.DictReader(file)}


def spec_ids(item: pytest.Item) -> list[str]:
    """The ids one test is marked with."""
    return [str(spec) for mark in item.iter_markers("spec") for spec in mark.args]


class Collector:
    """Pytest plugin: which tests carry which id."""

    def __init__(self) -> None:
        self.tests: dict[str, list[str]] = defaultdict(list)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            for spec in spec_ids(item):
                self.tests[spec].append(item.nodeid)


def collect() -> dict[str, list[str]]:
    """Id -> the tests that carry it; stops with pytest's own words when the collection fails."""
    collector, words = Collector(), io.StringIO()
    options = ["--collect-only", "-q", "--import-mode=importlib", "-o", "addopts=", "-p", "no:cacheprovider"]
    with contextlib.redirect_stdout(words), contextlib.redirect_stderr(words):
        status = pytest.main([*options, str(INDEX.parent)], plugins=[collector])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        sys.exit(words.getvalue())
    return collector.tests


def report(covered: Iterable[str], *, verbose: bool = False) -> str:
    """A line per source and a total; the ids without a test too, if asked."""
    have, titles = set(covered), known_ids()
    sources = sorted({spec.split("-")[0] for spec in titles})
    lines = ["source   ids  with a test"]
    for source in sources:
        ids = [spec for spec in titles if spec.split("-")[0] == source]
        done = sum(spec in have for spec in ids)
        lines.append(f"{source:>6} {len(ids):5d} {done:6d} {done / len(ids):5.0%}")
    done = sum(spec in have for spec in titles)
    lines.append(f" total {len(titles):5d} {done:6d} {done / len(titles):5.0%}")
    if verbose:
        lines += ["", "without a test:"]
        lines += [f"  {spec:8} {title}" for spec, title in titles.items() if spec not in have]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.coverage", description=__doc__)
    parser.add_argument("-v", "--verbose", action="store_true", help="list the ids without a test")
    print(report(collect(), verbose=parser.parse_args().verbose))


if __name__ == "__main__":
    main()
