"""Errors and warnings by their codes: wording is tested in one table, tests/api/test_wording.py."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dalembert.core.findings import Finding


@contextmanager
def raises(kind: type[BaseException] | tuple[type[BaseException], ...], code: str | None, *shown: str) -> Iterator[Any]:
    """An error of the kind with the code, whose message names what is `shown`: names, numbers, units; not wording.

    Errors of Python's own kinds have no code: None.
    """
    with pytest.raises(kind) as caught:
        yield caught
    if code is not None:
        check(caught.value, code)
    for text in shown:
        assert text in str(caught.value), str(caught.value)


@contextmanager
def warns(kind: type[Warning], code: str, *shown: str) -> Iterator[Any]:
    """Warnings of the kind, one of them with the code and what is `shown`."""
    with pytest.warns(kind) as caught:
        yield caught
    found = [one.message for one in caught if getattr(one.message, "code", "") == code]
    assert found, f"no warning {code!r}: {[getattr(one.message, 'code', str(one.message)) for one in caught]}"
    assert any(all(text in str(one) for text in shown) for one in found), [str(one) for one in found]


def found_in(caught: Any, code: str) -> list[Finding]:
    """Findings with the code among warnings: their evidence, where numbers and names in a message are not enough."""
    return [one.message.finding for one in caught if getattr(one.message, "code", "") == code]


def check(error: Any, code: str, *shown: str) -> None:
    assert error.code == code, f"{error.code!r}, not {code!r}: {error}"
    for text in shown:
        assert text in str(error), str(error)


def assert_read_only(values: Any) -> None:
    """Nobody can write into the array."""
    with pytest.raises(ValueError):  # of NumPy
        values[...] = 0.0
    assert not values.flags.writeable
