"""From a solid to its structure: assembly, supports, interface points, loads.

Interface points (translation and rotation θ of a point at p; in the plane θ is about z):

    rigid      u_i = u + θ × (x_i − p)                                  the points follow
    averaging  θ = J⁻¹ Σ r_i × u_i,   u = mean u_i + θ × (p − c)        the interface follows
               c = mean x_i,  r_i = x_i − c,  J = Σ (r_i² 1 − r_i r_iᵀ)

The second is a condition A u_s = (u, θ) on the points, A = S (RᵀR)⁻¹ Rᵀ with their rigid motions R about c, which S
carries to p. To keep the interface independent (it is to be a master), as many coordinates of the points, chosen by a
QR factorisation with column pivoting of A, are eliminated instead.

Stiffness against bending that linear hexahedra and quadrilaterals have by their shape alone.

No linear cell that passes the patch test bends freely when it is a trapezoid (MacNeal 1987): its incompatible
modes no longer cancel the shear. Each cell, of a material with E = 1 and ν = 0, is given the exact displacements of
bending, σ_aa = x_b, that is, with x from the centre of the cell,

    u = e_a x_a x_b − ½ e_b x_a² ,     U₀ = ½ ∫ x_b² dV

and its energy U is compared with the exact one. Where n cells lie through the thickness along b, 1/n² of the energy of
bending is bending of single cells: the body deflects by

    1 / (1 + (U/U₀ − 1)/n²)

of what it should. Axes a and b are the middle lines of the cell, the second made square to the first.
"""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from dalembert.core.arrays import BoolArray, FloatArray, IntArray
from dalembert.core.errors import ModelError, ModelWarning
from dalembert.core.findings import Advice
from dalembert.structures.assembly import element_assembly as assembly
from dalembert.structures.assembly.places import on_a_line
from dalembert.structures.assembly.structure import (
    DIRECTIONS,
    Structure,
    assemble_structure,
    rigid_motions,
)
from dalembert.structures.solid import element_matrices as solid_elements
from dalembert.structures.solid import shapes as solid_shapes
from dalembert.structures.solid.elastic_laws import elasticity, plane_stress, volume_poisson
from dalembert.structures.solid.element import SOLID_ELEMENTS
from dalembert.structures.solid.solid import Interface, Solid
from dalembert.structures.solid.stresses import SolidGroup, assemble_cells, widen

MOST_LAYERS = 8  # beyond this the bending of single cells is below 2 % of the energy


def bending_shares(points: FloatArray, cells: IntArray, kind: str, degree: int) -> tuple[FloatArray, FloatArray]:
    """Share of the deflection of linear cells with incompatible modes that bend in their worst direction; volumes.

    degree : of integration of the stiffness.  Both results (e,).
    """
    shares, volumes, layers = np.ones(len(cells)), np.empty(len(cells)), count_layers(cells, kind)
    d = SOLID_ELEMENTS[kind].dimension
    weights, values, slopes = solid_shapes.at_quadrature(kind, 3)
    law = np.diag([1.0, 1.0, 1.0, 0.5, 0.5, 0.5])[None]
    middle = solid_shapes.shapes(kind, np.full((1, d), 0.5))[1][0]
    for part in solid_elements.batches(len(cells), kind, 8):
        x = points[cells[part], :d]
        K = solid_elements.stiffness(x, law, kind, degree, True)[0]
        volume = solid_elements.gradients(x, slopes)[1] * weights
        volumes[part] = volume.sum(axis=1)
        x = x - (np.einsum("eq,qi,eia->ea", volume, values, x, optimize=True) / volumes[part, None])[:, None]
        lines = np.matmul(x.transpose(0, 2, 1), middle)
        lines = lines / np.linalg.norm(lines, axis=1, keepdims=True)
        for a, b in itertools.permutations(range(d), 2):
            along, across = lines[..., a], lines[..., b]
            across = across - along * np.sum(along * across, axis=1, keepdims=True)
            across = across / np.linalg.norm(across, axis=1, keepdims=True)
            x_a, x_b = np.matmul(x, along[..., None]), np.matmul(x, across[..., None])
            u = (along[:, None] * x_a * x_b - 0.5 * across[:, None] * x_a**2).reshape(len(x), -1, 1)
            energy = np.matmul(u.transpose(0, 2, 1), np.matmul(K, u))[:, 0, 0]
            exact = np.sum(volume * np.matmul(values, x_b)[..., 0] ** 2, axis=1)
            excess = np.maximum(energy / exact - 1.0, 0.0)
            shares[part] = np.minimum(shares[part], 1.0 / (1.0 + excess / layers[part, b] ** 2))
    return shares, volumes


def count_layers(cells: IntArray, kind: str) -> IntArray:
    """(e, d): cells from surface to surface of the body through each cell, along its axes."""
    corners = np.array(SOLID_ELEMENTS[kind].faces)
    faces = np.sort(cells[:, corners].reshape(-1, corners.shape[1]), axis=1)
    order = np.lexsort(faces.T)
    shared = np.flatnonzero((faces[order[1:]] == faces[order[:-1]]).all(axis=1))
    beside = np.full(len(faces), -1)
    beside[order[shared]], beside[order[shared + 1]] = order[shared + 1], order[shared]
    beyond = beside ^ 1  # the opposite face of the neighbour: faces are numbered in opposite pairs
    steps = np.zeros(len(faces), dtype=np.intp)
    for _ in range(MOST_LAYERS):
        steps = np.where(beside < 0, 0, 1 + steps[beyond])
    return np.asarray(1 + steps.reshape(-1, len(corners) // 2, 2).sum(axis=2))


LEAST_BENDING = 0.9  # of the deflection: what is lost comes on top of the error of straight cells of this size


@assemble_structure.register
def solid_structure(solid: Solid) -> Structure:
    """Check a solid and assemble it."""
    mesh, count = solid.mesh, len(solid.mesh.points) + len(solid.interfaces)
    size = len(solid.directions)
    _check(solid)
    laws, sheet = np.stack([elasticity(material) for material in solid.materials]), None
    if solid.plane == "stress":
        laws, sheet = (np.stack(parts) for parts in zip(*(plane_stress(law) for law in laws)))
    group = SolidGroup(
        name=solid.name, mesh=mesh, laws=laws, sheet=sheet, thickness=solid.thickness,
        material=solid.material_of_cell, degree=solid.quadrature or SOLID_ELEMENTS[mesh.kind].stiffness_degree,
        incompatible=solid.incompatible, count=count, size=size,
    )  # fmt: skip
    _warn_of_locking(solid, group)
    if group.incompatible:
        _warn_of_distortion(solid, group.degree)
    K, K_loss, M = _matrices(solid, group)
    names = (*(f"p{i}" for i in range(len(mesh.points))), *solid.interfaces)
    masters = [interface.position for interface in solid.interfaces.values()]
    held, prescribed = _supports(solid, count, size)
    inactive = np.zeros((count, size), dtype=bool)
    inactive[: len(mesh.points), group.dimension :] = True
    links = _links(solid, count) if solid.interfaces else None
    return Structure(
        solid.name, names, np.concatenate([mesh.points, np.reshape(masters, (-1, 3))]), solid.directions, M, K,
        K_loss=K_loss, held=held, prescribed=prescribed, links=links, inactive=inactive.ravel(),
        loads=_loads(solid, M, count), groups=(group,), damping=solid.damping,
        provenance={"source": "solid", "name": solid.name, "elements": f"{len(mesh.cells)} {mesh.kind}",
                    "incompatible modes": solid.incompatible},
    )  # fmt: skip


def _warn_of_locking(solid: Solid, group: SolidGroup) -> None:
    kind = solid.mesh.kind
    locking = SOLID_ELEMENTS[kind].locking
    if locking is None or solid.plane == "stress" or group.incompatible or group.degree <= locking.free_degree:
        return
    used = [solid.materials[k] for k in np.unique(group.material)]
    stiff = [f"{m.name!r} ({volume_poisson(m):.4g})" for m in used if volume_poisson(m) >= locking.limit]
    if stiff:
        problem = (
            f"solid {solid.name!r}: {kind} cells lock where Poisson's ratio is {locking.limit:g} or more, as that of "
            f"{', '.join(stiff)}: displacements are too small and stresses may be far off."
        )
        warnings.warn(ModelWarning("locking", problem, locking.remedy, where={"solid": solid.name}), stacklevel=4)


def _warn_of_distortion(solid: Solid, degree: int) -> None:
    mesh = solid.mesh
    shares, volumes = bending_shares(mesh.points, mesh.cells, mesh.kind, degree)
    mean = float(shares @ volumes / volumes.sum())
    if mean < LEAST_BENDING:
        worst = int(np.argmin(shares))
        problem = (
            f"solid {solid.name!r}: its {mesh.kind} cells are so distorted for their length that it bends by about "
            f"{mean:.0%} of what it should (worst is cell {worst}, {shares[worst]:.0%}): cells that are trapezoids "
            "resist bending."
        )
        advice = (
            Advice(f"Use {'quad8' if solid.plane else 'hex20'} cells."),
            Advice("Use cells whose borders are square to each other, or shorter cells."),
        )
        where, evidence = {"solid": solid.name, "cell": worst}, {"bending": mean, "worst": float(shares[worst])}
        warnings.warn(ModelWarning("distorted-cells", problem, *advice, where=where, evidence=evidence), stacklevel=4)


def _check(solid: Solid) -> None:
    """All contradictions between interfaces and supports, in one error."""
    problems = []
    owner = np.full(len(solid.mesh.points), -1)
    held = np.zeros(len(solid.mesh.points), dtype=bool)
    for support in solid.supports:
        held[support.points] = True
    interfaces = list(solid.interfaces.values())
    for k, interface in enumerate(interfaces):
        shared = interface.points[owner[interface.points] >= 0]
        if len(shared):
            other = interfaces[owner[shared[0]]].name
            problems.append(f"point p{shared[0]} belongs to both interfaces {other!r} and {interface.name!r}")
        owner[interface.points] = k
        if held[interface.points].any():
            both = interface.points[held[interface.points]][0]
            problems.append(f"point p{both} is held by a support and follows interface {interface.name!r}")
        places = solid.mesh.points[interface.points]
        if not interface.rigid and (len(places) < 2 if solid.plane else on_a_line(places)):
            where = "are one" if solid.plane else "lie on a line"
            problems.append(
                f"the points of averaging interface {interface.name!r} {where}, so its rotation is not determined"
            )
    if problems:
        raise ModelError("conflicting-links", f"solid {solid.name!r}: " + "; ".join(problems) + ".")


def _matrices(solid: Solid, group: SolidGroup) -> tuple[sp.csc_array, sp.csc_array, sp.csc_array]:
    """K, its imaginary part, M; a batch of cells at a time."""
    mesh, kind = solid.mesh, SOLID_ELEMENTS[solid.mesh.kind]
    densities = np.array([material.density for material in solid.materials])[group.material]
    losses = np.array([material.loss_factor for material in solid.materials])[group.material]
    d = kind.dimension
    K_parts = np.empty((len(mesh.cells), d * kind.size, d * kind.size))
    M_parts = np.empty((len(mesh.cells), kind.size, kind.size))
    for part in solid_elements.batches(len(mesh.cells), kind.name, kind.size):
        corners = mesh.points[mesh.cells[part]]
        laws = group.laws[group.material[part]] * solid.thickness
        K_parts[part] = solid_elements.stiffness(corners, laws, kind.name, group.degree, group.incompatible)[0]
        M_parts[part] = solid_elements.mass(corners, densities[part] * solid.thickness, kind.name, kind.mass_degree)
    K = assemble_cells(mesh, K_parts, group.count, group.size)
    scalar = assembly.assemble(len(mesh.points), 1, [assembly.blocks(mesh.cells, M_parts)])
    M = widen(sp.kron(scalar, sp.eye_array(d), format="csc"), d, group.count, group.size)
    K_loss = sp.csc_array(K.shape)
    if losses.any():
        K_loss = assemble_cells(mesh, K_parts * losses[:, None, None], group.count, group.size)
    return K + _foundations(solid, group), K_loss, M


def _foundations(solid: Solid, group: SolidGroup) -> sp.csc_array:
    """∫ Nᵀ k N dA over the faces on springs."""
    mesh = solid.mesh
    total = sp.csc_array((group.count * group.size,) * 2)
    for foundation in solid.foundations:
        cells = mesh.cells[foundation.cells]
        values, areas = _surface(solid, foundation.cells, foundation.faces)
        scalar = np.einsum("fqi,fq,fqj->fij", values, np.linalg.norm(areas, axis=2), values, optimize=True)
        nv, d = cells.shape[1], group.dimension
        full = np.einsum("fij,ab->fiajb", scalar, np.diag(foundation.stiffness[:d])).reshape(-1, d * nv, d * nv)
        total = total + assemble_cells(mesh, full, group.count, group.size, cells)
    return total


def _surface(solid: Solid, cells: IntArray, faces: IntArray) -> tuple[FloatArray, FloatArray]:
    kind = solid.mesh.kind
    values, areas = solid_elements.on_surface(
        solid.mesh.points, solid.mesh.cells[cells], faces, kind, SOLID_ELEMENTS[kind].mass_degree
    )
    return values, areas * solid.thickness


def _supports(solid: Solid, count: int, size: int) -> tuple[BoolArray, FloatArray]:
    held = np.zeros((count, size), dtype=bool)
    prescribed = np.zeros((count, size))
    place = {name: len(solid.mesh.points) + k for k, name in enumerate(solid.interfaces)}
    for support in solid.supports:
        points = support.points if support.interface is None else [place[support.interface]]
        for way in support.ways:
            column = solid.directions.index(DIRECTIONS[way])
            held[points, column] = True
            prescribed[points, column] = support.values[way]
    return held.ravel(), prescribed.ravel()


def _loads(solid: Solid, M: sp.csc_array, count: int) -> dict[str, FloatArray]:
    cases = {case: np.zeros((count, 6)) for case in solid.cases}
    keep = [DIRECTIONS.index(way) for way in solid.directions]
    for load in solid.surface_loads:
        values, areas = _surface(solid, load.cells, load.faces)
        area = np.linalg.norm(areas, axis=2)
        force = load.traction * area[..., None] - load.pressure * areas
        shares = np.einsum("fqi,fqa->fia", values, force, optimize=True)
        np.add.at(cases[load.case][:, :3], solid.mesh.cells[load.cells], shares)
    interfaces = list(solid.interfaces)
    for push in solid.point_loads:
        if push.interface is None:
            cases[push.case][push.points, :3] += push.force / len(push.points)
        else:
            row = cases[push.case][len(solid.mesh.points) + interfaces.index(push.interface)]
            row[:3] += push.force
            row[3:] += push.moment
    if solid.gravity.any() and M.nnz:
        field = np.zeros((count, 6))
        field[: len(solid.mesh.points), :3] = solid.gravity
        cases["gravity"] = np.zeros((count, 6))
        cases["gravity"][:, keep] = (M @ field[:, keep].ravel()).reshape(count, -1)
    return {case: load[:, keep].ravel() for case, load in cases.items()}


def _links(solid: Solid, count: int) -> sp.csc_array:
    """(N, N) of u = links w: the interfaces' coordinates are independent, those of their points depend on them."""
    size, first = len(solid.directions), len(solid.mesh.points)
    N = size * count
    independent = np.ones(N)
    rows, columns, values = [], [], []
    for k, interface in enumerate(solid.interfaces.values()):
        own = size * (first + k) + np.arange(size)
        block, dependent, others = _rigid(solid, interface) if interface.rigid else _average(solid, interface)
        independent[dependent] = 0.0
        source = np.concatenate([own, others])
        rows.append(np.repeat(dependent, len(source)))
        columns.append(np.tile(source, len(dependent)))
        values.append(block.ravel())
    keep = np.flatnonzero(independent)
    every = (np.concatenate([*values, independent[keep]]),
             (np.concatenate([*rows, keep]), np.concatenate([*columns, keep])))  # fmt: skip
    links = sp.csc_array(every, shape=(N, N))
    links.eliminate_zeros()
    return links


def _coordinates(solid: Solid, interface: Interface) -> IntArray:
    """Numbers of the translations of the points of an interface, (d m,)."""
    d = SOLID_ELEMENTS[solid.mesh.kind].dimension
    return np.asarray((len(solid.directions) * interface.points[:, None] + np.arange(d)).ravel())


def _rigid(solid: Solid, interface: Interface) -> tuple[FloatArray, IntArray, IntArray]:
    """Block (d m, r), dependent coordinates (d m,), no others; r = 6, in the plane 3."""
    arms = solid.mesh.points[interface.points] - interface.position
    return rigid_motions(arms, _moving(solid)), _coordinates(solid, interface), np.zeros(0, dtype=np.intp)


def _average(solid: Solid, interface: Interface) -> tuple[FloatArray, IntArray, IntArray]:
    """Block (r, r + d m − r), the r dependent coordinates, the others (d m − r,)."""
    places, ways = solid.mesh.points[interface.points], _moving(solid)
    centre = places.mean(axis=0)
    arms = places - centre
    R = rigid_motions(arms, ways)
    r, d = R.shape[1], len(ways)
    carry = np.eye(r)
    carry[:d] = rigid_motions((interface.position - centre)[None], ways)
    A = carry @ np.linalg.solve(R.T @ R, R.T)
    # Rotations weigh as translations at the radius of the set: the choice does not depend on units.
    radius = np.sqrt(np.mean(arms**2))
    weights = np.where(np.arange(r) < d, 1.0, radius)[:, None]
    _, _, order = scipy.linalg.qr(weights * A, pivoting=True, mode="economic")
    chosen, others = np.sort(order[:r]), np.sort(order[r:])
    block = np.linalg.solve(A[:, chosen], np.concatenate([np.eye(r), -A[:, others]], axis=1))
    number = _coordinates(solid, interface)
    return block, number[chosen], number[others]


def _moving(solid: Solid) -> tuple[str, ...]:
    """Translations of the points."""
    return tuple(way for way in solid.directions if way[0] != "r")
