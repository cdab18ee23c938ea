"""Planar linkages described by the nodes of their bodies."""

from typing import TYPE_CHECKING

from dalembert.core.lazy import attach

if TYPE_CHECKING:
    from dalembert.symbolic.planar.derivation import PlanarDerivation as PlanarDerivation
    from dalembert.symbolic.planar.derivation import derive_linkage as derive_linkage
    from dalembert.symbolic.planar.producer import PlanarModel as PlanarModel

__all__ = attach(__name__)
