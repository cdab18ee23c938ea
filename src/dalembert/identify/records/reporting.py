"""Findings of identification as warnings: reported once, by the function that a user called."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar

from dalembert.core.errors import DalembertWarning

P = ParamSpec("P")
R = TypeVar("R")


class IdentificationWarning(DalembertWarning):
    """The data allow a model, but something about them makes it doubtful."""


class Reporting(Protocol[P, R]):
    """A function that warns of the findings of its result; ``quiet`` leaves them to its caller."""

    __name__: str
    quiet: Callable[P, R]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...


def report_findings(function: Callable[P, R]) -> Reporting[P, R]:
    """Let a function warn of the ``findings`` of its result, without those of its arguments."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Any:
        result: Any = function(*args, **kwargs)
        earlier = [finding for value in (*args, *kwargs.values()) for finding in getattr(value, "findings", ())]
        IdentificationWarning.report(finding for finding in result.findings if finding not in earlier)
        return result

    reporting: Any = call
    reporting.quiet = function
    return reporting  # type: ignore[no-any-return]
