"""The registry of filters, and the page that lists it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dalembert.estimate import FILTERS

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "estimate.md"


def test_the_page_lists_every_filter_as_it_declares_itself() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (.*?) \| (yes|no) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    own = {
        name: kind
        for name, kind in FILTERS.items()
        if getattr(kind.make, "func", kind.make).__module__.startswith("dalembert.")
    }
    assert {name: (summary, machines == "yes") for name, summary, machines in rows} == {
        name: (kind.summary, kind.machines) for name, kind in own.items()
    }


@pytest.mark.parametrize("name", ["ekf", "iekf", "ukf", "ckf"])
def test_filters_of_machines_are_offered_to_commands(name: str) -> None:
    assert FILTERS[name].machines
