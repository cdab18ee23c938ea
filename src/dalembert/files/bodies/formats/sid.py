"""Standard input data (SID) of flexible bodies, to and from the invariants of `FlexibleBodyData` (Wallrapp 1994).

With the place u = u₀ + S η of a mass point, s_j the mode j, and products of angular velocities in the order
Ω = (ω_x², ω_y², ω_z², ω_xω_y, ω_yω_z, ω_xω_z):

    mdCM = ∫u dm        M0 first_moment, M1 translation          Ct = ∫Sᵀ dm           M0 translationᵀ
    J = ∫ũᵀũ dm         M0 inertia, M1_j = −(I8_j + I8_jᵀ)       Cr = ∫Sᵀũᵀ dm         M0 rotationᵀ, M1 = ∫ s_j × s_k dm
    Gr_j = −2 I8_j      Ge_j = 2 (∫ s̃_j S dm)ᵀ                   I8_j = ∫ũ₀ s̃_j dm, the same numbers as `moments`
    Oe Ω = −½ ∂(ωᵀJω)/∂η :  M0 from J's M1;  M1 −(Q_yy + Q_zz), ... for squares, Q_xy + Q_yx, ... for products of ω
    Me modal_mass, Ke stiffness, De damping; a node has origin, phi = translation, psi = rotation

J is expanded to first order, so that `products` Q_ab = ∫S_aᵀS_b dm appear in M1 of Oe (their symmetric part) and in M1
of Cr (the antisymmetric one) only. Geometric stiffness has its place in the same expansions: per angular velocities in
M1 of Oe, per acceleration in M1 of Ct, per force and moment at a node in M1 of its phi and psi, with a minus
(``Geo_Stiff= yes`` in the first line). Then M1 of Oe is the sum of both. A reader cannot separate it: it keeps the sum
as `stiffening`, and the symmetric part of `products` is zero. The motion is the same, since both act in the same two
places: the centrifugal force of the modes, and the second order of J. The same is done, with a warning, where M1 of Oe
gives masses that no body has. ``finite_elements.source`` names such data.

The columns of Gr are ordered by axis and mode in some files, by mode and axis in others: that one is taken which
agrees with J. Axes of nodes (AP) and stresses (sigma) are not read; axes of nodes are those of the frame.

Blocks of a file may contradict each other: with a translation Ct that moves more mass than there is, the mass matrix of
frame and modes is indefinite. The error names a block without which the others agree, and `read_flexible_body` can
leave it out.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.errors import FileFormatError, ModelError, ModelWarning
from dalembert.core.findings import Advice, Argument
from dalembert.files.bodies.format import BODY_FORMATS, BodyFormat, BodyReading
from dalembert.files.bodies.sid_text import NEEDED, SidModal, SidNode, Taylor, read_modal, write_modal
from dalembert.model.flexible import FiniteElementValues, FlexibleBodyData, FlexibleNode, Stiffening
from dalembert.model.flexible_check import is_moving, still_nodes
from dalembert.model.flexible_invariants import make_invariants, moments_from_eighth

SIX = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))  # entries of J
TURNS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))  # of Ω in Oe
HERE = (0, 1, 2, 3, 5, 4)  # places of the entries of Ω in `Stiffening.centrifugal`, which has xz before yz
GEOMETRIC = ": its stiffening holds the symmetric part of its products"
_GEOMETRIC = re.compile(r"geo_stiff\s*=\s*yes", re.IGNORECASE)


_HERTZ = re.compile(r".*?((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*Hz\s*")


# -- writing -----------------------------------------------------------------------------------------------------------
def write(data: FlexibleBodyData, path: Path) -> None:
    """All parts of standard input data: without gauges and picture."""
    write_modal(make_modal(data), path)


def make_modal(data: FlexibleBodyData) -> SidModal:
    """The data as standard input data."""
    m = data.modes
    names = [node.name for node in data.nodes]
    for name in (data.name, *names):
        if name != " ".join(name.split()) or not name.isprintable() or not _encodes(name):
            raise FileFormatError("bad-name", f"the name {name!r:.60} is not possible in standard input data.")
    invariants = make_invariants(data)
    I8 = invariants["I8"]  # (m, 3, 3)
    first = -(I8 + I8.transpose(0, 2, 1))
    geometric = data.stiffening
    Oe1 = np.stack([_select_turning(data.products, a, b) for a, b in TURNS], axis=2)
    if geometric is not None and geometric.centrifugal is not None:
        Oe1 = Oe1 + geometric.centrifugal[list(HERE)].transpose(1, 2, 0)
    Cr1 = invariants["I5"].transpose(2, 0, 1)  # (∫ s_j × s_k)_a at [k, j, a]
    Ct1 = None
    if geometric is not None and geometric.acceleration is not None:
        Ct1 = geometric.acceleration.transpose(1, 2, 0)
    six = np.array([[data.inertia[at]] for at in SIX]), np.stack([first[:, a, b] for a, b in SIX])[:, :, None]
    matrices = {
        "mdCM": Taylor(data.first_moment[:, None], data.translation[:, :, None]),
        "J": Taylor(*six),
        "Ct": Taylor(data.translation.T, Ct1),
        "Cr": Taylor(data.rotation.T, Cr1),
        "Me": _square(data.modal_mass),
        "Gr": Taylor((-2 * I8).transpose(1, 2, 0).reshape(3, 3 * m)),
        "Ge": Taylor((2 * Cr1).transpose(0, 2, 1).reshape(m, 3 * m)),
        "Oe": Taylor(np.stack([-(0.5 if a == b else 1.0) * first[:, a, b] for a, b in TURNS], axis=1), Oe1),
        "ksigma": Taylor(np.zeros((m, 1)), structure=0),
        "Ke": _square(data.stiffness),
        "De": _square(data.damping),
    }  # fmt: skip
    frequencies = data.frequencies_hz
    return SidModal(
        remark=f"Geo_Stiff= {'no' if geometric is None else 'yes'}", name=data.name, mass=data.mass,
        modes=[f"Eigen Mode {k + 1:4d} : {value:.9g} Hz" for k, value in enumerate(frequencies)],
        nodes=[_node(data, node, number) for node, number in zip(data.nodes, _numbers(names), strict=True)],
        matrices=matrices,
    )  # fmt: skip


def _encodes(name: str) -> bool:
    try:
        name.encode("latin-1")
    except UnicodeEncodeError:
        return False
    return True


def _numbers(names: list[str]) -> list[str]:
    """Numbers of nodes: those that are their names, others from one."""
    free = (str(k) for k in range(1, 2 * len(names) + 1) if str(k) not in names)
    return [name if name.isascii() and name.isdigit() else next(free) for name in names]


def _node(data: FlexibleBodyData, node: FlexibleNode, number: str) -> SidNode:
    forces, moments = (
        None if data.stiffening is None else getattr(data.stiffening, kind).get(node.name)
        for kind in ("forces", "moments")
    )
    turned = _cross(node.rotation)  # (m, 3, 3)
    return SidNode(number, "" if node.name == number else node.name, {
        "origin": Taylor(node.place[:, None], node.translation[:, :, None]),
        "phi": Taylor(node.translation, None if forces is None else -forces),
        "psi": Taylor(node.rotation, None if moments is None else -moments),
        "AP": Taylor(np.eye(3), turned.transpose(1, 0, 2), structure=4),
    })  # fmt: skip


def _square(matrix: FloatArray) -> Taylor:
    if np.array_equal(matrix, np.eye(len(matrix))):
        return Taylor(matrix, structure=4)
    off = matrix - np.diag(np.diagonal(matrix))
    return Taylor(matrix, structure=3 if off.any() else 1 if matrix.any() else 0)


def _cross(values: FloatArray) -> FloatArray:
    """(m, 3, 3) cross-product matrices of the columns of values (3, m)."""
    x, y, z = values
    o = np.zeros_like(x)
    return np.array([[o, -z, y], [z, o, -x], [-y, x, o]]).transpose(2, 0, 1)


def _select_turning(Q: FloatArray, a: int, b: int) -> FloatArray:
    """(m, m) of the product ω_a ω_b in M1 of Oe."""
    if a != b:
        return np.asarray(Q[a, b] + Q[b, a])
    i, j = (k for k in range(3) if k != a)
    return np.asarray(-(Q[i, i] + Q[j, j]))


# -- reading -----------------------------------------------------------------------------------------------------------
def read(path: Path, how: BodyReading) -> FlexibleBodyData:
    """The data of the body in a file."""
    modal = read_modal(path, how.max_bytes)
    _leave_out(modal, how.without)
    return make_data(modal, modal.name or path.stem, how.without)


def _leave_out(modal: SidModal, blocks: tuple[str, ...]) -> None:
    """Ct and Cr become zero, others absent: what they describe then counts as zero, or follows from other blocks."""
    for block in blocks:
        if block in NEEDED and block in modal.matrices:
            modal.matrices[block] = Taylor(np.zeros_like(modal.matrices[block].M0), structure=0)
        else:
            modal.matrices.pop(block, None)


def _name_contradicting(error: ModelError, fields: dict[str, Any]) -> ModelError:
    """The error of an indefinite mass matrix, with the blocks without which the others agree."""
    names = {"Ct": "translation", "Cr": "rotation"}
    for blocks in (("Ct",), ("Cr",), ("Ct", "Cr")):
        try:
            FlexibleBodyData(**{**fields, **{names[block]: np.zeros_like(fields[names[block]]) for block in blocks}})
        except ModelError:
            continue
        evidence = {**error.finding.evidence, "blocks": list(blocks)}
        return ModelError(error.code, error.finding.problem, _advise(*blocks), where=error.where, evidence=evidence)
    return error


def _advise(*blocks: str) -> Advice:
    sentence = (
        f"The other blocks agree without {' and '.join(blocks)}: read the file with {{}}; these terms are then zero."
    )
    return Advice(sentence, Argument("without", list(blocks)))


def make_data(modal: SidModal, name: str, without: tuple[str, ...] = ()) -> FlexibleBodyData:
    """Standard input data as invariants."""
    X, m = modal.matrices, len(modal.modes)
    translation = X["Ct"].M0.T
    if X["mdCM"].M1 is not None and "Ct" not in without:
        _agree("mdCM (m1)", X["mdCM"].M1[:, :, 0], "Ct (m0)", translation, abs(modal.mass) ** 0.5 * _mode_size(X["Me"]))
    problem = "the body is under stress in its reference state (ksigma)."
    _refuse("ksigma" in X and X["ksigma"].M0.any(), "not-supported", problem, "ksigma")
    products, centrifugal, remark = _products(modal, m)
    left_out = f" without {', '.join(without)}" if without else ""
    names = [node.name or node.number for node in modal.nodes]
    declared = _GEOMETRIC.search(modal.remark) is not None
    forces: dict[str, FloatArray] = {}
    moments: dict[str, FloatArray] = {}
    for node, label in zip(modal.nodes, names, strict=True):
        for block, by_node in (("phi", forces), ("psi", moments)):
            first = node.matrices[block].M1
            if first is not None and (first.any() or (declared and block == "phi")):
                by_node[label] = -_symmetric(first)
    Ct1 = X["Ct"].M1
    acceleration = None if Ct1 is None or not (declared or Ct1.any()) else _symmetric(Ct1.transpose(2, 0, 1))
    geometric = None
    if forces or moments or centrifugal is not None or acceleration is not None:
        geometric = Stiffening(centrifugal=centrifugal, acceleration=acceleration, forces=forces, moments=moments)
    inertia, first_moment = _inertia(X["J"])[0], X["mdCM"].M0[:, 0]
    fields: dict[str, Any] = {
        "name": name, "mass": modal.mass, "first_moment": first_moment, "inertia": inertia, "translation": translation,
        "rotation": X["Cr"].M0.T, "modal_mass": X["Me"].M0, "moments": _moments(modal, m), "products": products,
        "stiffness": X["Ke"].M0, "damping": X["De"].M0 if "De" in X else np.zeros((m, m)),
        "nodes": tuple(_flexible_node(node, label) for node, label in zip(modal.nodes, names, strict=True)),
        "stiffening": geometric,
        "finite_elements": FiniteElementValues(
            mass=modal.mass, center=first_moment / modal.mass if modal.mass else first_moment, inertia=inertia,
            frequencies_hz=_frequencies(modal), source=f"standard input data{left_out}{remark}",
        ),
    }  # fmt: skip
    try:
        data = FlexibleBodyData(**fields)
    except ModelError as error:
        raise _name_contradicting(error, fields) from None
    if left_out:
        problem = f"flexible body {name!r} was read{left_out}: these terms are zero."
        warnings.warn(ModelWarning("left-out-part", problem, where={"body": name}), stacklevel=5)
    if remark and remark != GEOMETRIC:
        warnings.warn(ModelWarning("first-order-data", f"flexible body {name!r}{remark}."), stacklevel=5)
    if not is_moving(data):
        return FlexibleBodyData(**fields, reference="mean axis")
    return FlexibleBodyData(**fields, reference="attached") if still_nodes(data) else data


def _refuse(wrong: object, code: str, problem: str, name: str, *advice: Advice, **evidence: Any) -> None:
    FileFormatError.when(wrong, code, problem, *advice, where={"object": name}, evidence=evidence)


def _flexible_node(node: SidNode, name: str, most: float = 1e-6) -> FlexibleNode:
    """A node, whose axes are orthogonal but for ``most``: files carry six digits or more."""
    if "AP" in node.matrices:
        axes = node.matrices["AP"].M0
        error = float(np.abs(axes @ axes.T - np.eye(3)).max())
        problem, where = f"AP of node {node.number} is not a rotation, by {error:.1e}.", f"node {node.number}"
        _refuse(error > most, "not-orthonormal", problem, where, error=error)
    return FlexibleNode(
        name=name, place=node.matrices["origin"].M0[:, 0], translation=node.matrices["phi"].M0,
        rotation=node.matrices["psi"].M0,
    )  # fmt: skip


def _frequencies(modal: SidModal) -> FloatArray | None:
    """Those in the names of the modes, where all have one."""
    matches = [_HERTZ.fullmatch(name) for name in modal.modes]
    values = [float(match[1]) for match in matches if match is not None]
    return np.sort(values) if len(values) == len(matches) else None


def _inertia(J: Taylor) -> tuple[FloatArray, FloatArray | None]:
    """(3, 3), and its derivatives by the modes (m, 3, 3)."""
    if J.M0.shape == (3, 3):
        return J.M0, None if J.M1 is None else J.M1.transpose(1, 0, 2)
    zero = np.zeros((3, 3))
    first = None if J.M1 is None else np.zeros((J.M1.shape[1], 3, 3))
    for k, (a, b) in enumerate(SIX):
        zero[a, b] = zero[b, a] = J.M0[k, 0]
        if first is not None and J.M1 is not None:
            first[:, a, b] = first[:, b, a] = J.M1[k, :, 0]
    return zero, first


def _mode_size(Me: Taylor) -> float:
    """Largest displacement of the mass by a mode, as far as it matters for rounding: the root of its modal mass."""
    return float(np.sqrt(np.abs(np.diagonal(Me.M0)).max()))


def _agree(name: str, one: FloatArray, other_name: str, other: FloatArray, size: float, most: float = 1e-6) -> None:
    """Refuse two statements of one number that differ by more than ``most``: files carry six digits or more."""
    difference, block = float(np.abs(one - other).max()) / max(size, 1e-300), name.partition(" ")[0]
    problem = f"{name} and {other_name} contradict each other, by {difference:.1e} of their size."
    _refuse(difference > most, "damaged", problem, block, _advise("Gr" if block == "Gr" else "Ct"), part=difference)


def _moments(modal: SidModal, m: int) -> FloatArray:
    """From Gr; without it from J (symmetric part) and Cr (antisymmetric part)."""
    X = modal.matrices
    first = _inertia(X["J"])[1]
    if "Gr" in X:
        ways = [X["Gr"].M0.reshape(3, 3, m).transpose(2, 0, 1), X["Gr"].M0.reshape(3, m, 3).transpose(1, 0, 2)]
        if first is None:
            return moments_from_eighth(-0.5 * ways[0])
        misses = [float(np.abs(0.5 * (way + way.transpose(0, 2, 1)) - first).max()) for way in ways]
        best = ways[int(np.argmin(misses))]
        _agree("Gr (m0)", 0.5 * (best + best.transpose(0, 2, 1)), "J (m1)", first,
               float(np.sqrt(np.abs(np.trace(_inertia(X["J"])[0])))) * _mode_size(X["Me"]))  # fmt: skip
        return moments_from_eighth(-0.5 * best)
    if first is None:
        problem = "neither Gr nor the first order of J is given: the inertia of the deformed body is unknown."
        raise FileFormatError("missing-argument", problem, where={"object": "J"})
    # P_ab − P_ba = ε_abc Cr_c
    return np.asarray(moments_from_eighth(-0.5 * first) - 0.5 * _cross(X["Cr"].M0.T).transpose(1, 2, 0))


def _products(modal: SidModal, m: int, negative: float = 1e-6) -> tuple[FloatArray, FloatArray | None, str]:
    """Products; further terms of M1 of Oe (6, m, m), or None; and a remark on unknown parts.

    negative : least eigenvalue of the products, of the largest, that is rounding of files with six digits.
    """
    X = modal.matrices
    axial = _axial(modal, m)
    Q = np.zeros((3, 3, m, m))
    for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        Q[a, b] = 0.5 * axial[c]
        Q[b, a] = Q[a, b].T
    Oe1 = X["Oe"].M1 if "Oe" in X else None
    if Oe1 is None:
        return Q, None, ": the symmetric part of its products is not given and counts as zero"
    turning = _symmetric(Oe1.transpose(2, 0, 1))
    if _GEOMETRIC.search(modal.remark) is None:
        products = Q.copy()
        half = 0.5 * turning[:3].sum(axis=0)
        for k, (a, b) in enumerate(TURNS):
            if a == b:
                products[a, a] = turning[k] - half
            else:
                products[a, b] += 0.5 * turning[k]
                products[b, a] = products[a, b].T
        values = np.linalg.eigvalsh(products.transpose(0, 2, 1, 3).reshape(3 * m, 3 * m))
        if values[0] >= -negative * max(values[-1], 1e-300):
            return products, None, ""
        why = "the masses of its first order of Oe are negative; it is kept whole as stiffening"
    else:
        why = ""
    centrifugal = np.zeros((6, m, m))
    centrifugal[list(HERE)] = turning
    return Q, centrifugal, f": {why}, and the symmetric part of the products counts as zero" if why else GEOMETRIC


def _axial(modal: SidModal, m: int) -> FloatArray:
    """∫ s_j × s_k dm (3, m, m) from Cr, else from Ge; rotary inertia adds a symmetric part, which is left out."""
    X = modal.matrices
    if X["Cr"].M1 is not None:
        first = X["Cr"].M1
    elif "Ge" in X:
        ways = [X["Ge"].M0.reshape(m, 3, m).transpose(0, 2, 1), X["Ge"].M0.reshape(m, m, 3)]
        misses = [float(np.abs(way + way.transpose(1, 0, 2)).max()) for way in ways]
        first = 0.5 * ways[int(np.argmin(misses))]
    else:
        return np.zeros((3, m, m))
    both = first.transpose(2, 1, 0)
    return np.asarray(0.5 * (both - both.transpose(0, 2, 1)))


def _symmetric(matrices: FloatArray) -> FloatArray:
    """Some files write 2 Q_ab instead of Q_ab + Q_abᵀ; both have this symmetric part."""
    return np.asarray(0.5 * (matrices + matrices.transpose(0, 2, 1)))


BODY_FORMATS.register("sid", BodyFormat((".sid_fem", ".sid"), read, write, optional=("Ct", "Cr", "Gr", "Ge", "Oe")))
