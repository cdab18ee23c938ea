"""Flexible bodies of point masses, whose every integral is a sum that a test can form itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.model.flexible import FlexibleBodyData, FlexibleNode, Stiffening


@dataclass(frozen=True)
class PointMasses:
    """Masses (n,), places (n, 3), modes (n, 3, m), rotations of the modes (n, 3, m), stiffness (m, m)."""

    masses: Any
    places: Any
    modes: Any
    rotations: Any
    stiffness: Any

    @classmethod
    def random(cls, seed: int, *, modes: int, count: int = 12, planar: bool = False, size: float = 0.1) -> PointMasses:
        """Places about one metre, modes of size `size`; in the plane of x and y if planar."""
        rng = np.random.default_rng(seed)
        places, shapes = rng.uniform(-1, 1, (count, 3)), size * rng.uniform(-1, 1, (count, 3, modes))
        turns = size * rng.uniform(-1, 1, (count, 3, modes))
        if planar:
            places[:, 2] = 0.0
            shapes[:, 2] = 0.0
            turns[:, :2] = 0.0
        root = rng.normal(size=(modes, modes))
        stiffness = 20.0 * (root @ root.T + modes * np.eye(modes)) * size**2
        return cls(rng.uniform(0.5, 1.5, count) / count, places, shapes, turns, stiffness)

    def move_frame(self, shift: Any) -> PointMasses:
        """The same body seen from a frame whose origin is `shift` away."""
        return PointMasses(self.masses, self.places - shift, self.modes, self.rotations, self.stiffness)

    def data(
        self, *, damping: Any = None, stiffening: Stiffening | None = None, nodes: tuple[int, ...] = (0, 1, 2, 3)
    ) -> FlexibleBodyData:
        """Sums of the masses; the first points are nodes n0, n1, ..."""
        w, X, Phi = self.masses, self.places, self.modes
        moments = np.einsum("n,ni,njm->ijm", w, X, Phi)
        inertia = np.einsum("n,nij->ij", w, np.einsum("nk,nk,ij->nij", X, X, np.eye(3)) - np.einsum("ni,nj->nij", X, X))
        return FlexibleBodyData(
            name="points",
            mass=float(w.sum()),
            first_moment=w @ X,
            inertia=inertia,
            translation=np.einsum("n,nim->im", w, Phi),
            rotation=moments[[1, 2, 0], [2, 0, 1]] - moments[[2, 0, 1], [1, 2, 0]],
            modal_mass=np.einsum("n,nia,nib->ab", w, Phi, Phi),
            moments=moments,
            products=np.einsum("n,nim,njk->ijmk", w, Phi, Phi),
            stiffness=np.array(self.stiffness),
            damping=np.zeros_like(self.stiffness) if damping is None else damping,
            nodes=tuple(
                FlexibleNode(
                    name=f"n{k}", place=X[k].copy(), translation=Phi[k].copy(), rotation=self.rotations[k].copy()
                )
                for k in nodes
            ),
            stiffening=stiffening,
        )
