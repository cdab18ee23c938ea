"""Materials at the edge of what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import DataError, ModelError
from dalembert.structures import Material, OrthotropicMaterial
from dalembert.structures.solid.elastic_laws import _isotropic
from tests.helpers.findings import raises


def test_a_nearly_incompressible_material_is_refused() -> None:
    _isotropic(Material("rubber", E=1e6, density=1e3, poisson=0.49985))
    with raises(ModelError, "incompressible", "rubber"):
        _isotropic(Material("rubber", E=1e6, density=1e3, poisson=0.49995))


@pytest.mark.parametrize(("off", "refused"), [(0.5e-6, False), (2e-6, True)])
def test_a_shear_modulus_of_an_isotropic_material_follows_in_six_digits(off: float, refused: bool) -> None:
    material = Material("steel", E=2.6e11, density=7800.0, poisson=0.3, G=1e11 * (1.0 + off))
    if refused:
        with raises(ModelError, "not-isotropic", "steel"):
            _isotropic(material)
    else:
        _isotropic(material)


@pytest.mark.parametrize(("off", "refused"), [(0.25e-9, False), (1e-9, True)])
def test_axes_of_a_material_are_orthonormal_in_nine_digits(off: float, refused: bool) -> None:
    """A first axis of length 1 + off has (A Aᵀ)₁₁ = 1 + 2 off."""
    axes = np.diag([1.0 + off, 1.0, 1.0])
    make = lambda: OrthotropicMaterial("ply", 1e9, 1e9, 1e9, 0.3, 0.3, 0.3, 4e8, 4e8, 4e8, density=1.0, axes=axes)  # noqa: E731
    if refused:
        with raises(DataError, "bad-material", "axes"):
            make()
    else:
        make()


@pytest.mark.parametrize(("left", "refused"), [(1e-8, False), (1e-10, True)])
def test_a_strain_that_costs_no_energy_is_refused(left: float, refused: bool) -> None:
    """ν₁₂ = 1 - left beside ν₁₃ = ν₂₃ = 0: the scaled compliance has the smallest eigenvalue 1 - ν₁₂ = left."""
    make = lambda: OrthotropicMaterial("ply", 1.0, 1.0, 1.0, 1.0 - left, 0.0, 0.0, 1.0, 1.0, 1.0, density=1.0)  # noqa: E731
    if refused:
        with raises(DataError, "bad-material", "ply"):
            make()
    else:
        make()
