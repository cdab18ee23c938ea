"""Elastic law of solids in six strains.

    σ = D ε,   ε = (xx, yy, zz, xy, yz, zx), shear strains γ = 2 ε_ij ("engineering")

Isotropic: D = E/((1+ν)(1−2ν)) [[1−ν, ν, ν], ...] and (1−2ν)/2 of it on the shears. Orthotropic: D = S⁻¹ in the axes of
the material,

    S = [[1/E1, −ν12/E1, −ν13/E1], [., 1/E2, −ν23/E2], [., ., 1/E3]] ⊕ diag(1/G12, 1/G23, 1/G13)

and in a plane sheet, σ_zz = σ_yz = σ_zx = 0 (rows c), free strains follow those of the plane (rows p),

    ε_c = −D_cc⁻¹ D_cp ε_p,    D → D_pp − D_pc D_cc⁻¹ D_cp

Orthotropic laws are turned into the axes of the body by D = Tᵀ D' T with ε' = T ε: the strains are taken in the axes of
the material before the law is applied (Pappalardo 2011 mixes the two frames).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from dalembert.core.arguments import real_number
from dalembert.core.arrays import FloatArray
from dalembert.core.declare import matrix
from dalembert.core.errors import DataError, ModelError
from dalembert.core.findings import Advice, Argument, Call
from dalembert.structures.assembly.materials import Material

# Pairs of directions of the six strains, in order.
VOIGT = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))
STRAINS = ("xx", "yy", "zz", "xy", "yz", "zx")


@dataclass(frozen=True)
class OrthotropicMaterial:
    """An elastic material with three planes of symmetry.

    Parameters
    ----------
    name : str
    E1, E2, E3 : Young's moduli along the axes of the material [Pa].
    nu12, nu13, nu23 : Poisson's ratios: ``nu12`` is the contraction along 2 under a pull along 1 (ν21 = ν12 E2/E1).
    G12, G13, G23 : shear moduli [Pa].
    density : [kg/m³]
    axes : three rows, the directions 1, 2, 3 of the material in the axes of the body; orthonormal and right-handed.
    loss_factor : imaginary over real part of the stiffness.

    Examples
    --------
    >>> ply = OrthotropicMaterial("ply", 140e9, 10e9, 10e9, 0.3, 0.3, 0.4, 5e9, 5e9, 3.5e9, density=1600.0)
    >>> bool(ply.turn_about("z", 90.0).elasticity()[1, 1] == ply.elasticity()[0, 0])
    True
    """

    name: str
    E1: float
    E2: float
    E3: float
    nu12: float
    nu13: float
    nu23: float
    G12: float
    G13: float
    G23: float
    density: float
    axes: tuple[tuple[float, float, float], ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    loss_factor: float = 0.0

    def __post_init__(self) -> None:
        problems = []
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in ("name", "axes"):
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
                problems.append(f"{field.name} must be a finite number, got {value!r}")
            elif field.name[0] in "EG" and value <= 0.0:
                problems.append(f"{field.name} must be positive [Pa], got {value}")
            elif field.name in ("density", "loss_factor") and value < 0.0:
                problems.append(f"{field.name} must not be negative, got {value}")
        axes = matrix("*", "*")("axes", self.axes)
        if axes.shape != (3, 3) or not _is_orthonormal(axes) or np.linalg.det(axes) < 0:
            problems.append("axes must be three orthonormal, right-handed rows")
        else:
            object.__setattr__(self, "axes", tuple(tuple(float(v) for v in row) for row in axes))
        if not problems:
            smallest = float(np.linalg.eigvalsh(_scaled_compliance(self)).min())
            if not _stores_energy(smallest):
                problems.append(
                    "the Poisson's ratios are too large for the moduli: some strain would release energy "
                    f"(smallest eigenvalue of the scaled compliance {smallest:.3g}, must be positive; "
                    "each ν_ij² must be below E_i/E_j)"
                )
        if problems:
            raise DataError("bad-material", f"orthotropic material {self.name!r}: {'; '.join(problems)}.")

    def elasticity(self) -> FloatArray:
        """(6, 6) law σ = D ε in the axes of the body [Pa]."""
        turn = strain_turn(np.array(self.axes))
        law = turn.T @ np.linalg.inv(_compliance(self)) @ turn
        return np.asarray(0.5 * (law + law.T))

    def turn_about(self, axis: str, degrees: float) -> OrthotropicMaterial:
        """The same material, its axes turned about ``"x"``, ``"y"`` or ``"z"`` of the body."""
        if axis not in ("x", "y", "z"):
            raise DataError("unknown-choice", f'axis must be "x", "y" or "z", got {axis!r}.')
        degrees = real_number("degrees", degrees)
        quarter = degrees / 90.0
        c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        if quarter == round(quarter):  # exact for quarter turns
            c, s = float((1, 0, -1, 0)[round(quarter) % 4]), float((0, 1, 0, -1)[round(quarter) % 4])
        i = "xyz".index(axis)
        j, k = (i + 1) % 3, (i + 2) % 3
        turn = np.eye(3)
        turn[j, j], turn[k, k], turn[k, j], turn[j, k] = c, c, s, -s
        rows = np.array(self.axes) @ turn.T
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return OrthotropicMaterial(**{**values, "axes": rows})


SolidMaterial = Material | OrthotropicMaterial


def volume_poisson(material: SolidMaterial) -> float:
    """Poisson's ratio, or that of an isotropic material whose volume resists as much: 1 − 2ν = ΣS/tr S over 1, 2, 3."""
    if isinstance(material, Material):
        return material.poisson
    S = _compliance(material)[:3, :3]
    return float(0.5 * (1.0 - S.sum() / np.trace(S)))


def elasticity(material: SolidMaterial) -> FloatArray:
    """(6, 6) law σ = D ε of a material in the axes of the body [Pa].

    Examples
    --------
    >>> elasticity(Material("unit", E=1.0, density=1.0, poisson=0.25))[0].tolist()
    [1.2000000000000002, 0.4, 0.4, 0.0, 0.0, 0.0]
    """
    if isinstance(material, OrthotropicMaterial):
        return material.elasticity()
    return _isotropic(material)


def plane_stress(law: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(6, 6) law of a sheet without stress across it, and (6, 6) all strains from those in its plane."""
    free, plane = [2, 4, 5], [0, 1, 3]
    strains = np.zeros((6, 6))
    strains[plane, plane] = 1.0
    strains[np.ix_(free, plane)] = -np.linalg.solve(law[np.ix_(free, free)], law[np.ix_(free, plane)])
    sheet = np.zeros((6, 6))
    inside = (law @ strains)[np.ix_(plane, plane)]
    sheet[np.ix_(plane, plane)] = 0.5 * (inside + inside.T)
    return sheet, strains


def _is_orthonormal(axes: FloatArray, error: float = 1e-9) -> bool:
    """Whether A Aᵀ = I: ten digits in a file leave 1e-10."""
    return bool(np.allclose(axes @ axes.T, np.eye(3), rtol=0.0, atol=error))


def _stores_energy(smallest: float, least: float = 1e-9) -> bool:
    """Whether every strain costs energy, by the smallest eigenvalue of the compliance of unit diagonal."""
    return smallest > least


def _isotropic(
    material: Material,
    most: float = 0.4999,  # Poisson's ratio: bulk over shear modulus is 5000, four digits of volume change are lost
    digits: float = 1e-6,  # difference of G from E/2/(1 + ν): constants written with six digits
) -> FloatArray:
    E, nu = material.E, material.poisson
    if nu > most:
        raise ModelError(
            "incompressible",
            f"material {material.name!r} has poisson = {nu}: elements with displacements alone lock where "
            "nothing can change its volume.",
            Advice("Use at most {}.", Argument("poisson", most)),
        )
    if abs(material.G - E / 2.0 / (1.0 + nu)) > digits * material.G:
        raise ModelError(
            "not-isotropic",
            f"material {material.name!r} has G = {material.G:g} Pa, not E/2/(1 + poisson) = {E / 2 / (1 + nu):g} Pa, "
            "so it is not isotropic.",
            Advice("Describe it with {}.", Call("da.structures.OrthotropicMaterial")),
        )
    law = np.zeros((6, 6))
    factor = E / ((1.0 + nu) * (1.0 - 2.0 * nu))
    law[:3, :3] = factor * nu
    law[range(3), range(3)] = factor * (1.0 - nu)
    law[range(3, 6), range(3, 6)] = factor * (1.0 - 2.0 * nu) / 2.0
    return law


def strain_turn(axes: FloatArray) -> FloatArray:
    """(6, 6) T of ε' = T ε: strains along the rows of ``axes`` (3, 3) from strains along x, y, z."""
    turn = np.empty((6, 6))
    for i, (a, b) in enumerate(VOIGT):
        for j, (c, d) in enumerate(VOIGT):
            shear = 1.0 if a == b else 2.0  # γ' = 2 ε'
            pair = axes[a, c] * axes[b, d] + axes[a, d] * axes[b, c]
            turn[i, j] = shear * (axes[a, c] * axes[b, c] if c == d else 0.5 * pair)
    return turn


def von_mises(stresses: FloatArray) -> FloatArray:
    """Equivalent stress of (..., 6) stresses [Pa]."""
    xx, yy, zz, xy, yz, zx = np.moveaxis(stresses, -1, 0)
    normal = 0.5 * ((xx - yy) ** 2 + (yy - zz) ** 2 + (zz - xx) ** 2)
    return np.asarray(np.sqrt(normal + 3.0 * (xy**2 + yz**2 + zx**2)))


def tensor(stresses: FloatArray) -> FloatArray:
    """(..., 3, 3) tensors of (..., 6) stresses."""
    full = np.empty((*stresses.shape[:-1], 3, 3))
    for k, (i, j) in enumerate(VOIGT):
        full[..., i, j] = full[..., j, i] = stresses[..., k]
    return full


def _compliance(material: OrthotropicMaterial) -> FloatArray:
    m: Any = material
    S = np.zeros((6, 6))
    S[0, 0], S[1, 1], S[2, 2] = 1.0 / m.E1, 1.0 / m.E2, 1.0 / m.E3
    S[0, 1] = S[1, 0] = -m.nu12 / m.E1
    S[0, 2] = S[2, 0] = -m.nu13 / m.E1
    S[1, 2] = S[2, 1] = -m.nu23 / m.E2
    S[3, 3], S[4, 4], S[5, 5] = 1.0 / m.G12, 1.0 / m.G23, 1.0 / m.G13
    return S


def _scaled_compliance(material: OrthotropicMaterial) -> FloatArray:
    """Unit diagonal, so that its eigenvalues do not depend on units."""
    S = _compliance(material)
    root = np.sqrt(np.diag(S))
    return np.asarray(S / np.outer(root, root))
