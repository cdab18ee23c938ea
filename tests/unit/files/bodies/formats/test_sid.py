"""Standard input data: the same body both ways, layouts that occur in files, and bad files refused by line."""

from __future__ import annotations

import contextlib
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import FileFormatError, ModelWarning
from dalembert.files.bodies.formats.sid import make_modal
from dalembert.files.bodies.sid_text import SidModal, read_modal, write_modal
from dalembert.structures import Beam, flexible_body
from tests.helpers.body_files import assert_same, bent_link
from tests.helpers.findings import raises, warns

EXACT = ("mass", "first_moment", "translation", "rotation", "modal_mass", "stiffness", "damping", "nodes",
         "name", "reference")  # fmt: skip
ROUNDING = 8 * np.finfo(float).eps  # moments and products are sums of up to four numbers of the file


@pytest.fixture(scope="module")
def link():
    return bent_link()


@pytest.fixture
def file(tmp_path: Path, link) -> Path:
    da.write_flexible_body(link, tmp_path / "link.SID_FEM")
    return tmp_path / "link.SID_FEM"


def close(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.abs(a - b).max() <= ROUNDING * np.abs(a).max())


def change(file: Path, pattern: str, text: str, count: int = 1) -> int:
    """Replace a pattern; the line of the first place."""
    old = file.read_text()
    found = re.search(pattern, old)
    assert found is not None, pattern
    file.write_text(re.sub(pattern, text, old, count=count))
    return old[: found.start()].count("\n") + 1


def test_what_standard_input_data_holds_survives(file: Path, link):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = da.read_flexible_body(file)
    for name in EXACT:
        assert_same(getattr(link, name), getattr(again, name), name)
    assert close(link.moments, again.moments) and close(link.products, again.products)
    assert close(link.inertia, again.inertia)  # six numbers for nine, of which pairs differ by rounding
    assert again.finite_elements is not None and again.finite_elements.source == "standard input data"
    assert again.check().sound


def test_a_second_trip_changes_nothing(file: Path, tmp_path: Path):
    once = da.read_flexible_body(file)
    da.write_flexible_body(once, tmp_path / "again.sid")
    twice = da.read_flexible_body(tmp_path / "again.sid")
    assert close(once.products, twice.products) and close(once.moments, twice.moments)
    assert [node.name for node in twice.nodes] == ["root", "bend", "tip"]


def test_a_mean_axis_is_found_again(tmp_path: Path):
    beam = Beam(length=1.0, EI=80.0, rhoA=2.0, left="free", right="free")
    data = flexible_body(beam, modes=3)
    da.write_flexible_body(data, tmp_path / "free.sid")
    assert data.reference == da.read_flexible_body(tmp_path / "free.sid").reference == "mean axis"


def test_numbers_of_nodes_are_their_names(tmp_path: Path, link):
    modal = make_modal(link)
    for node, number in zip(modal.nodes, ("6022", "17", "3"), strict=True):
        node.number, node.name = number, ""
    write_modal(modal, tmp_path / "numbers.sid")
    again = da.read_flexible_body(tmp_path / "numbers.sid")
    assert [node.name for node in again.nodes] == ["6022", "17", "3"]
    da.write_flexible_body(again, tmp_path / "again.sid")
    assert [node.number for node in read_modal(tmp_path / "again.sid", 2**20).nodes] == ["6022", "17", "3"]


# -- what other programs write ---------------------------------------------------------------------------------------
FEMBS = """    2   1    :No. nodes, No. modes:File by another program
 part
      new modal                                 =
           refmod
                mass                            = 2.00000000000D+00
                nelastq                         =     1
                ielastq (   1)                  = Eigen Mode    1 :        1.592 Hz
           end refmod
           frame
                new node                        =    1
                     rframe                     =    body ref
                     origin
{head:origin}
                     end origin
                     phi
{head:phi}
                     end phi
                     psi
{head:psi}
                     end psi
                end node
                new node                        =    2
                     rframe                     =    body ref
                     origin
{head:origin}
                          m0( 1, 1)             = 1.00000000000D+00
                     end origin
                     phi
{head:phi}
                          m0( 2, 1)             = 1.00000000000D+00
                     end phi
                     psi
{head:psi}
                     end psi
                end node
           end frame
           mdCM
{head:mdCM}
                          m0( 1, 1)             = 1.00000000000D+00
                          m1( 2, 1, 1)          = 1.00000000000D+00
           end mdCM
           J
{head:J}
                          m0( 2, 1)             = 1.00000000000D+00
                          m0( 3, 1)             = 1.00000000000D+00
                          m1( 4, 1, 1)          =-1.00000000000D+00
           end J
           Ct
{head:Ct}
                          m0( 1, 2)             = 1.00000000000D+00
           end Ct
           Cr
{head:Cr}
                          m0( 1, 3)             = 1.00000000000D+00
           end Cr
           Me
{head:Me}
           end Me
           Gr
{head:Gr}
                          m0( 2, 1)             =-2.00000000000D+00
           end Gr
           Oe
{head:Oe}
                          m0( 1, 4)             = 1.00000000000D+00
                          m1( 1, 1, 1)          =-1.00000000000D+00
                          m1( 1, 1, 3)          =-1.00000000000D+00
           end Oe
           Ke
{head:Ke}
                          m0( 1, 1)             = 1.00000000000D+02
           end Ke
      end modal
 end part
"""
HEADS = {"origin": (0, 3, 1, 3), "phi": (0, 3, 1, 3), "psi": (0, 3, 1, 0), "mdCM": (1, 3, 1, 3), "J": (1, 6, 1, 3),
         "Ct": (0, 1, 3, 3), "Cr": (0, 1, 3, 3), "Me": (0, 1, 1, 4), "Gr": (0, 3, 3, 3), "Oe": (1, 1, 6, 3),
         "Ke": (0, 1, 1, 1)}  # fmt: skip


def dumbbell() -> str:
    """Masses of 1 kg at x = 0 and x = 1 m; the mode moves the second one along y. All numbers by hand."""
    text = FEMBS
    for name, (order, rows, columns, structure) in HEADS.items():
        counts = {"order": order, "nrow": rows, "ncol": columns, "nq": 1, "nqn": 0, "structure": structure}
        lines = "\n".join(f"{' ' * 26}{key:<22}=    {count}" for key, count in counts.items())
        text = text.replace(f"{{head:{name}}}", lines)
    return text


def test_a_file_written_by_hand_has_the_invariants_of_its_masses(tmp_path: Path):
    (tmp_path / "dumbbell.SID_FEM").write_text(dumbbell())
    data = da.read_flexible_body(tmp_path / "dumbbell.SID_FEM")
    assert data.name == "dumbbell" and data.mass == 2.0 and data.reference == "attached"
    assert np.array_equal(data.first_moment, [1, 0, 0]) and np.array_equal(data.inertia, np.diag([0, 1, 1]))
    assert np.array_equal(data.translation, [[0], [1], [0]]) and np.array_equal(data.rotation, [[0], [0], [1]])
    moments, products = np.zeros((3, 3, 1)), np.zeros((3, 3, 1, 1))
    moments[0, 1], products[1, 1] = 1.0, 1.0
    assert np.array_equal(data.moments, moments) and np.array_equal(data.products, products)
    assert np.array_equal(data.stiffness, [[100]]) and np.array_equal(data.damping, [[0]])
    assert [node.name for node in data.nodes] == ["1", "2"]
    assert data.finite_elements is not None and np.allclose(data.finite_elements.frequencies_hz, 1.592)


def test_moments_follow_from_the_inertia_where_gr_is_left_out(file: Path, link):
    text = file.read_text()
    file.write_text(re.sub(r" *Gr\n(.*\n)*? *end Gr\n", "", text))
    again = da.read_flexible_body(file)
    # rotary inertia is part of Cr and not of the moments: the beam is thin, 4 mm of 600 mm
    assert np.abs(again.moments - link.moments).max() < 1e-3 * np.abs(link.moments).max()
    assert np.array_equal(again.rotation, link.rotation)


def test_columns_of_gr_by_mode_are_understood_too(tmp_path: Path, link):
    modal = make_modal(link)
    m = link.modes
    modal.matrices["Gr"].M0 = modal.matrices["Gr"].M0.reshape(3, 3, m).transpose(0, 2, 1).reshape(3, 3 * m)
    write_modal(modal, tmp_path / "columns.sid")
    assert close(link.moments, da.read_flexible_body(tmp_path / "columns.sid").moments)


def test_inertia_as_a_symmetric_matrix_is_understood_too(tmp_path: Path, link):
    from dalembert.files.bodies.formats.sid import _inertia
    from dalembert.files.bodies.sid_text import Taylor

    modal = make_modal(link)
    zero, first = _inertia(modal.matrices["J"])
    assert first is not None
    modal.matrices["J"] = Taylor(np.tril(zero), np.tril(first).transpose(1, 0, 2), structure=2)
    write_modal(modal, tmp_path / "matrix.sid")
    again = da.read_flexible_body(tmp_path / "matrix.sid")
    assert close(again.inertia, link.inertia) and close(link.moments, again.moments)


def test_first_order_of_ge_serves_where_cr_has_none(tmp_path: Path, link):
    modal = make_modal(link)
    modal.matrices["Cr"].M1 = None
    write_modal(modal, tmp_path / "ge.sid")
    assert close(link.products, da.read_flexible_body(tmp_path / "ge.sid").products)


def test_unsymmetric_products_of_angular_velocities_count_by_their_symmetric_part(tmp_path: Path, link):
    modal = make_modal(link)
    modal.matrices["Oe"].M1[:, :, 3] = 2 * link.products[0, 1]
    write_modal(modal, tmp_path / "twice.sid")
    assert close(link.products, da.read_flexible_body(tmp_path / "twice.sid").products)


# -- what is not in the file -----------------------------------------------------------------------------------------
def antisymmetric(Q: np.ndarray) -> np.ndarray:
    return np.array([[0.5 * (Q[a, b] - Q[b, a]) for b in range(3)] for a in range(3)])


def test_geometric_stiffness_is_read_as_the_file_has_it(tmp_path: Path):
    link = bent_link(stiffening=True)
    da.write_flexible_body(link, tmp_path / "stiff.sid")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = da.read_flexible_body(tmp_path / "stiff.sid")
    assert link.stiffening is not None and again.stiffening is not None
    assert list(again.stiffening.forces) == list(link.stiffening.forces)
    for name, matrix in link.stiffening.forces.items():
        assert np.abs(matrix - again.stiffening.forces[name]).max() <= 1e-12 * max(np.abs(matrix).max(), 1.0)
    assert np.allclose(link.stiffening.acceleration, again.stiffening.acceleration, rtol=0, atol=1e-12)
    Q = link.products
    softening = np.stack([
        -(Q[1, 1] + Q[2, 2]), -(Q[0, 0] + Q[2, 2]), -(Q[0, 0] + Q[1, 1]), Q[0, 1] + Q[1, 0], Q[0, 2] + Q[2, 0],
        Q[1, 2] + Q[2, 1],
    ])  # fmt: skip
    assert np.allclose(again.stiffening.centrifugal, link.stiffening.centrifugal + softening, rtol=0, atol=1e-12)
    assert np.allclose(again.products, antisymmetric(Q), rtol=0, atol=1e-15)
    assert "products" in again.finite_elements.source


def test_a_body_read_with_geometric_stiffness_moves_as_the_one_written(tmp_path: Path):
    """What the reader cannot take apart acts as a sum: mass matrix and forces agree to first order of the deformation.

    Geometric stiffness and the products of the modes are one matrix in the file. The products also belong to the
    inertia, at second order: a tenth of the deformation leaves a hundredth of the difference.
    """
    link = bent_link(stiffening=True)
    da.write_flexible_body(link, tmp_path / "stiff.sid")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = da.read_flexible_body(tmp_path / "stiff.sid")
    rng = np.random.default_rng(0)
    found = []
    for data in (link, again):
        m = da.Mechanism("free", gravity=(0.3, -9.81, 1.0))
        body = m.add_flexible_body("link", data)
        m.add_force("push", body.at("tip"), (1.0, 2.0, 3.0))
        found.append(da.equations(m))
    for _ in range(5):
        q, v = rng.normal(size=found[0].nq), 2 * rng.normal(size=found[0].nv)
        q[3:7] /= np.linalg.norm(q[3:7])
        gaps = []
        for share in (1e-2, 1e-3):
            bent, moving = q.copy(), v.copy()
            bent[7:], moving[6:] = share * q[7:], share * v[6:]
            masses = [np.array(eqs.functions["inertia"](bent, eqs.p, 0.0)) for eqs in found]
            forces = [np.array(eqs.functions["forces"](bent, moving, [], [], eqs.p, 0.0, [])) for eqs in found]
            gaps.append([np.abs(x[0] - x[1]).max() for x in (masses, forces)])
        assert gaps[1][0] < 0.011 * gaps[0][0] and gaps[1][1] < 0.011 * gaps[0][1]


def test_masses_that_no_body_has_are_not_taken_for_products(tmp_path: Path, link):
    modal = make_modal(link)
    modal.matrices["Oe"].M1[:, :, 0] *= -1
    write_modal(modal, tmp_path / "odd.sid")
    with warns(ModelWarning, "first-order-data", "link"):
        again = da.read_flexible_body(tmp_path / "odd.sid")
    assert np.allclose(again.stiffening.centrifugal[0], modal.matrices["Oe"].M1[:, :, 0])


def test_a_file_without_centrifugal_terms_is_read_with_a_warning(file: Path):
    file.write_text(re.sub(r" *Oe\n(.*\n)*? *end Oe\n", "", file.read_text()))
    with warns(ModelWarning, "first-order-data"):
        again = da.read_flexible_body(file)
    assert again.stiffening is None and not np.diagonal(again.products[0, 0]).any()


# -- bad files -------------------------------------------------------------------------------------------------------
def test_a_file_cut_short_is_refused_at_any_line(file: Path):
    lines = file.read_text().splitlines()
    for count in range(1, len(lines), 37):
        file.write_text("\n".join(lines[:count]))
        with raises(FileFormatError, "damaged", "link.SID_FEM", "end") as caught:
            da.read_flexible_body(file)
        assert caught.value.line == count


@pytest.mark.parametrize(
    ("pattern", "text", "code", "shown"),
    (
        (r"(?m)^( *)mdCM$", r"\1mdMC", "unknown-class", "mdCM"),
        (r"new modal", "new beam", "unknown-class", "beam"),
        (r"new node", "new nod", "unknown-class", "node"),
        (r"(?m)^ *part$", " parts", "unknown-class", "parts"),
        (r"(?m)^( *)psi$", r"\1psy", "unknown-class", "psi"),
        (r"(?m)^( *)psi$", r"\1new psi", "unknown-class", "psi"),
        (r"(?m)^( *)Ct$", r"\1new Ct", "unknown-class", "Ct"),
        (r"new modal", "modal", "unknown-class", "modal"),
        (r"(?m)^( *)(m0\( *1, *1\) *= .*)$", r"\1m0 = 5\n\1\2", "unknown-class", "m0"),
        (r"nelastq( *)= *4", r"nelastq\1= four", "not-a-count", "four"),
        (r"(m0\( +1, +1\) *=).*", r"\1 nan", "not-finite", "m0"),
        (r"(m0\( +1, +1\) *=).*", r"\1 1.0.0", "not-a-number", "1.0.0"),
        (r"m1\( *1, *1, *1\)", "m1(  1,  9,  1)", "out-of-range", "9"),
        (r"(?m)^( *)(m0\( *1, *1\) *= .*)$", r"\1\2\n\1\2", "duplicate", "m0"),
        (r"nrow( *)= *3", r"nrow\1= 4", "wrong-shape", "4 x 1"),
        (r"order( *)= *1", r"order\1= 2", "not-supported", "order 2"),
        (r"structure( *)= *3", r"structure\1= 7", "out-of-range", "7"),
        (r"(?m)^ *nq .*\n", "", "damaged", "nq"),
        (r"body ref", "node 3", "not-supported", "node 3"),
        (r"(?m)^ *mass .*\n", "", "damaged", "mass"),
    ),
)
def test_a_bad_line_is_named(file: Path, pattern: str, text: str, code: str, shown: str):
    line = change(file, pattern, text)
    with raises(FileFormatError, code, "link.SID_FEM", shown) as caught:
        da.read_flexible_body(file)
    assert caught.value.line is not None and caught.value.line >= line


def test_a_missing_matrix_is_named(file: Path):
    file.write_text(re.sub(r" *Ke\n(.*\n)*? *end Ke\n", "", file.read_text()))
    with raises(FileFormatError, "damaged", "Ke"):
        da.read_flexible_body(file)


def changed(tmp_path: Path, link, name: str, by: float, first: bool = False) -> Path:
    modal: SidModal = make_modal(link)
    taylor = modal.matrices[name]
    target = taylor.M1 if first else taylor.M0
    assert target is not None
    new = np.array(target)
    new[(0,) + (-1,) * (new.ndim - 1)] += by
    taylor.M1, taylor.M0 = (new, taylor.M0) if first else (taylor.M1, new)
    taylor.structure = 3
    write_modal(modal, tmp_path / f"{name}.sid")
    return tmp_path / f"{name}.sid"


def test_matrices_that_contradict_each_other_are_named(tmp_path: Path, link):
    with raises(FileFormatError, "damaged", "mdCM", "Ct"):
        da.read_flexible_body(changed(tmp_path, link, "mdCM", 0.1, first=True))
    with raises(FileFormatError, "damaged", "Gr", "J"):
        da.read_flexible_body(changed(tmp_path, link, "Gr", 0.1))


def test_matrices_that_no_body_has_are_named(tmp_path: Path, link):
    with raises(FileFormatError, "not-symmetric", "stiffness", "Ke.sid"):
        da.read_flexible_body(changed(tmp_path, link, "Ke", 1e5))
    with raises(FileFormatError, "not-supported", "ksigma"):
        da.read_flexible_body(changed(tmp_path, link, "ksigma", 1.0))


def test_a_declared_size_is_refused_before_it_is_allocated(file: Path):
    change(file, r"nelastq( *)= *4", r"nelastq\g<1>= 100000000")
    with raises(FileFormatError, "too-large", "100000000 modes"):
        da.read_flexible_body(file)


def test_a_long_line_is_refused(file: Path):
    file.write_text(file.read_text().replace(" part\n", " " * 20_000 + "part\n", 1))
    with raises(FileFormatError, "too-large", "characters"):
        da.read_flexible_body(file)


def test_a_name_that_standard_input_data_cannot_hold_is_not_written(tmp_path: Path):
    with raises(FileFormatError, "bad-name", "two  blanks"):
        da.write_flexible_body(bent_link(name="two  blanks"), tmp_path / "x.sid")


@pytest.mark.parametrize("seed", range(8))
def test_whatever_bytes_are_changed_the_error_is_one_of_files(file: Path, seed: int):
    rng = np.random.default_rng(seed)
    whole = file.read_bytes()
    for _ in range(10):
        content = bytearray(whole)
        at = int(rng.integers(len(content)))
        content[at : at + int(rng.integers(0, 30))] = rng.integers(
            0, 256, int(rng.integers(0, 4)), dtype=np.uint8
        ).tobytes()
        file.write_bytes(bytes(content))
        with contextlib.suppress(FileFormatError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            da.read_flexible_body(file)


# -- blocks that contradict each other ---------------------------------------------------------------------------------
@pytest.fixture
def contradicting(tmp_path: Path, link) -> Path:
    """Ct moves three times the mass that the modes have: no body has it."""
    modal = make_modal(link)
    first = modal.matrices["mdCM"].M1
    assert first is not None
    modal.matrices["Ct"].M0 = 3.0 * modal.matrices["Ct"].M0
    modal.matrices["mdCM"].M1 = 3.0 * first
    write_modal(modal, tmp_path / "wrong.SID_FEM")
    return tmp_path / "wrong.SID_FEM"


def test_a_file_whose_blocks_contradict_each_other_can_be_read_without_the_named_block(contradicting: Path, link):
    with raises(FileFormatError, "not-positive-definite") as caught:
        da.read_flexible_body(contradicting)
    blocks = caught.value.finding.evidence["blocks"]
    assert "Ct" in blocks and f"without={blocks}" in str(caught.value)
    with warns(ModelWarning, "left-out-part", "Ct"):
        read = da.read_flexible_body(contradicting, without=blocks)
    assert read.finite_elements is not None and "without Ct" in read.finite_elements.source
    assert not read.translation.any()
    for name in ("modal_mass", "stiffness", "inertia", "moments", "products"):  # these are those of the file
        assert close(getattr(link, name), getattr(read, name))


def test_a_block_that_no_format_can_leave_out_is_named(contradicting: Path, tmp_path: Path):
    with raises(da.errors.DataError, "unknown-name", "Known: Cr, Ct, Ge, Gr, Oe"):
        da.read_flexible_body(contradicting, without="Me")
    with raises(da.errors.DataError, "unknown-name"):
        da.read_flexible_body(tmp_path / "link.npz", without=["Ct"])
