"""A plugin of pytest: `da.equations` of a mechanism takes joint coordinates where nothing else is said."""

from __future__ import annotations

from typing import Any


def pytest_configure(config: Any) -> None:
    from dalembert.mechanics.equations_of_mechanism import equations_of_mechanism

    assert equations_of_mechanism.__kwdefaults__["coordinates"] == "absolute"
    equations_of_mechanism.__kwdefaults__["coordinates"] = "joint"
