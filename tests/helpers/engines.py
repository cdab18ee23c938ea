"""The same work on CasADi's interpreter and in native code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dalembert.expressions import kernels

ENGINES = {"interpreter": 10**9, "native": 1}


@contextmanager
def engine(name: str) -> Iterator[None]:
    """Kernels used here for the first time become native at once, or never."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "NATIVE_AFTER", ENGINES[name])
        yield
