"""Materials at the edge of what is refused."""

from __future__ import annotations

import pytest

from dalembert.core.errors import DataError, ModelError
from dalembert.structures import Material, OrthotropicMaterial
from dalembert.structures.solid.elastic_laws import _isotropic
from tests.helpers.findings import raises


def test_a_nearly_incompressible_material_is_refused() -> None:
    _isotropic(Material("rubber", E=1e6, density=1e3, poisson=0.49985))
    with raises(ModelError, "incompressible", "rubber"):
        _isotropic(Material("rubber", E=1e6, density=1e3, poisson=0.49995))


@pytest.mark.parametrize(("left", "refused"), [(1e-8, False), (1e-10, True)])
def test_a_strain_that_costs_no_energy_is_refused(left: float, refused: bool) -> None:
    """ν₁₂ = 1 - left beside ν₁₃ = ν₂₃ = 0: the scaled compliance has the smallest eigenvalue 1 - ν₁₂ = left."""
    make = lambda: OrthotropicMaterial("ply", 1.0, 1.0, 1.0, 1.0 - left, 0.0, 0.0, 1.0, 1.0, 1.0, density=1.0)  # noqa: E731
    if refused:
        with raises(DataError, "bad-material", "ply"):
            make()
    else:
        make()
