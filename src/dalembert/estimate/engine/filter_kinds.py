"""The filters there are, by name. Each declares itself in its own file:

    FILTERS.register("ekf", FilterKind(ExtendedKalman, "extended Kalman filter", machines=True))

Commands (``dalembert estimate --filter ekf``) and reference pages are made from this registry. A module of another
package adds a filter when the package names it as an entry point of the group ``dalembert.filters``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dalembert.core.errors import DataError
from dalembert.core.registry import Registry

if TYPE_CHECKING:
    from dalembert.estimate.engine.filter import Filter


@dataclass(frozen=True)
class FilterKind:
    """One filter.

    make : (model, **keywords of `Filter`) -> filter: its class, or a function that makes it with other defaults.
    summary : what it is, in a few words.  machines : whether it takes equations of motion; commands offer those.
    """

    make: Callable[..., Filter | Any]
    summary: str
    machines: bool = False


FILTERS: Registry[FilterKind] = Registry(
    "filter", package="dalembert.estimate.filters", group="dalembert.filters", error=DataError
)
