"""Linkages of slender links: small elastic displacements about rigid links that move."""

from typing import TYPE_CHECKING

from dalembert.core.lazy import attach

if TYPE_CHECKING:
    from dalembert.linkages.equivalent_rigid_links import EquivalentRigidLinks as EquivalentRigidLinks
    from dalembert.linkages.reduction.reduce_links import reduce_links as reduce_links
    from dalembert.linkages.reduction.reduced_links import ReducedLinks as ReducedLinks
    from dalembert.linkages.reduction.reduced_links import ReductionAtPose as ReductionAtPose

__all__ = attach(__name__)
