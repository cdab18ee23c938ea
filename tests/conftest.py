"""Shared by all tests: hypothesis profiles, and the check of requirement ids.

`@pytest.mark.spec("000-12", "002-G3")` says that a test shows these requirements; an id that is not in
`spec_index.csv` stops the collection, so a typing error cannot pass for coverage.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Generator

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings

from tests.coverage import known_ids, spec_ids

os.environ.setdefault("MPLBACKEND", "Agg")
# A helper may need a package that is absent; whoever imports it is skipped then.
collect_ignore_glob = ["helpers/*"]

# The machine may be loaded and a first example builds expressions: time says nothing about correctness here.
_patient = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("quick", max_examples=10, derandomize=True, database=None, **_patient)
settings.register_profile("few", max_examples=5, derandomize=True, database=None, **_patient)
settings.register_profile("wide", max_examples=200, print_blob=True, **_patient)
PROFILE = os.environ.get("DALEMBERT_TEST_PROFILE", "quick")
settings.load_profile(PROFILE)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Docstrings of tests have no examples: they are not searched."""
    collectors = yield
    return [collector for collector in collectors if not isinstance(collector, DoctestModule)]


def pytest_configure() -> None:
    """A million objects are made by collecting and stay: looking through them for cycles took a third of that time."""
    gc.disable()


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if PROFILE == "few":  # a test that writes files judges what is written, not what is decided
        items[:] = [item for item in items if "tmp_path" not in getattr(item, "fixturenames", ())]
    known = known_ids()
    wrong = []
    for item in items:
        wrong += [f"{item.nodeid}: spec mark without an id" for mark in item.iter_markers("spec") if not mark.args]
        wrong += [f"{item.nodeid}: {spec!r} is not in spec_index.csv" for spec in spec_ids(item) if spec not in known]
    if wrong:
        raise pytest.UsageError("wrong spec marks:\n  " + "\n  ".join(wrong))
