"""Linkages of slender links: small elastic displacements about rigid links that move."""

from typing import TYPE_CHECKING

from dalembert.core.lazy import attach

if TYPE_CHECKING:
    from dalembert.linkages.equivalent_rigid_links import EquivalentRigidLinks as EquivalentRigidLinks

__all__ = attach(__name__)
