"""The same work on CasADi's interpreter and in native code."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dalembert.expressions import kernels, work

ENGINES = {
    "interpreter": work.EngineCosts(begin=math.inf, compile_lanes=math.inf),
    "native": work.EngineCosts(begin=0.0, compile=0.0, compile_best=0.0),
}
LANES = work.EngineCosts(compile_lanes=0.0, pack=0.0)


@contextmanager
def engine(name: str) -> Iterator[None]:
    """Kernels used here for the first time become native at once, or never."""
    with pytest.MonkeyPatch.context() as patch:
        use_engine(patch, name)
        yield


def use_engine(patch: pytest.MonkeyPatch, name: str) -> None:
    """Costs with which kernels become native (or code in lanes) at their first use, or never."""
    patch.setattr(work, "COSTS", LANES if name == "lanes" else ENGINES[name])
    patch.setattr(kernels, "FIRST_LOOK", 0)
