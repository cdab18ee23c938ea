"""Model updating: exact derivatives of modes, families, pairing, borders, what the modes cannot tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import dalembert as da
from dalembert.core.errors import DataError, ModelError
from dalembert.identify import Affine, IdentificationWarning, Identified, update
from dalembert.identify.physical.update import ShapeSlopes, eigenvalue_slope
from dalembert.identify.structured.parametric_system import ParametricSystem
from dalembert.linear import Modes, SecondOrder
from dalembert.structures.reduction.mode_pairs import WEIGHTS
from tests.helpers.findings import found_in, raises, warns


def chain(k1: float, k2: float, k3: float, m: float = 1.0, c: float = 0.0) -> SecondOrder:
    K = [[k1 + k2, -k2, 0], [-k2, k2 + k3, -k3], [0, -k3, k3]]
    C = c * np.diag([1.0, 0.5, 0.2])
    return SecondOrder(m * np.diag([1.0, 2.0, 1.5]), K, C=C, coordinates=["a", "b", "c"])


def portal(E: float, k: float, elements: int = 6) -> da.structures.Structure:
    """Pinned with a rotational spring on the left, clamped on the right."""
    frame = da.structures.Frame("portal", planar=True)
    for name, x, y in (("A", 0, 0), ("B", 0, 3), ("C", 4, 3), ("D", 4, 0)):
        frame.add_point(name, x, y)
    steel, section = da.structures.Material("steel", E=E, density=7850.0), da.structures.Section.rectangle(0.1, 0.1)
    for name, a, b in (("left", "A", "B"), ("top", "B", "C"), ("right", "D", "C")):
        frame.add_beam(name, a, b, section=section, material=steel, elements=elements)
    frame.add_support("A", "xy")
    frame.add_support("D", "fixed")
    frame.add_spring("base", "A", None, {"rz": k})
    return da.structures.assemble_structure(frame)


SENSORS = ["B.x", "C.x", "top[3].y", "left[3].x", "right[3].x"]


# ---- derivatives


@pytest.mark.parametrize("sparse", [False, True])
def test_derivatives_of_modes_equal_differences_of_modes(sparse: bool) -> None:
    def at(x: float) -> SecondOrder:
        system = chain(100 + 10 * x, 80 + x**2, 90.0, m=1 + 0.3 * x)
        return system.sparse() if sparse else system

    x, h = 0.7, 1e-4
    system = at(x)
    M = np.diag([1.0, 2.0, 1.5])
    dM, dK = 0.3 * M, np.array([[10 + 2 * x, -2 * x, 0], [-2 * x, 2 * x, 0], [0, 0, 0]])
    if sparse:
        dM, dK = scipy.sparse.csc_array(dM), scipy.sparse.csc_array(dK)
    modes = at(x).dense().modes()
    for k in range(3):
        phi, value = np.asarray(modes.shapes[:, k]).real, float(modes.frequencies[k]) ** 2
        slope, shape = ShapeSlopes(system.M, system.K, phi, value)(dM, dK)
        assert slope == pytest.approx(eigenvalue_slope(phi, value, dM, dK), rel=1e-12)
        plus, minus = (at(x + s * h).dense().modes() for s in (1, -1))
        numeric = (plus.frequencies[k] ** 2 - minus.frequencies[k] ** 2) / (2 * h)
        assert slope == pytest.approx(numeric, rel=1e-6)  # h² of the difference
        np.testing.assert_allclose(shape, (plus.shapes[:, k] - minus.shapes[:, k]).real / (2 * h), atol=1e-6)


def test_parts_and_differences_give_the_same_derivatives() -> None:
    base = SecondOrder(np.diag([1.0, 2.0]), np.zeros((2, 2)), coordinates=["a", "b"])
    family = Affine(base, stiffness={"k": [[2.0, -1.0], [-1.0, 1.0]]}, mass={"m": np.eye(2)}, damping={"c": np.eye(2)})
    first = np.array([50.0, 1.0, 0.2])
    exact = ParametricSystem(family, ["k", "m", "c"], first, {"a": "a"}).derivatives(first)
    by_steps = ParametricSystem(lambda **v: family(**v), ["k", "m", "c"], first, {"a": "a"}).derivatives(first)
    for a, b in zip(exact, by_steps, strict=True):
        for symbol in "MKCP":
            np.testing.assert_allclose(getattr(a, symbol), getattr(b, symbol), atol=1e-11)


# ---- updates


def test_stiffnesses_of_a_chain_come_back_from_its_modes() -> None:
    result = update(chain, chain(120.0, 80.0, 95.0).modes(), {"k1": 100.0, "k2": 100.0, "k3": 100.0})
    np.testing.assert_allclose(result.values, [120.0, 80.0, 95.0], rtol=1e-8)
    assert result.status == "converged" and result.deviations is None
    assert np.abs(result.errors_after).max() < 1e-6 and result.mac_after.min() > 1 - 1e-10
    assert np.abs(result.errors_before).max() > 1.0
    assert result["k1"] == pytest.approx(120.0)
    np.testing.assert_allclose(result.system.K, chain(*result.values).K)
    assert "error before" in result.table() and "k2" in repr(result)


def test_frequencies_alone_serve_where_they_suffice() -> None:
    def known(k1: float, k2: float) -> SecondOrder:
        return chain(k1, k2, 95.0)

    truth = chain(120.0, 80.0, 95.0).modes()
    result = update(known, truth, {"k1": 110.0, "k2": 85.0}, shapes=False, coordinates=["a"])
    np.testing.assert_allclose(result.values, [120.0, 80.0], rtol=1e-7)


def test_an_affine_family_is_updated_like_a_function() -> None:
    unit = [chain(*(float(i == k) for i in range(3))).K for k in range(3)]
    base = SecondOrder(np.diag([1.0, 2.0, 1.5]), np.zeros((3, 3)), coordinates=["a", "b", "c"])
    family = Affine(base, stiffness={"k1": unit[0], "k2": unit[1], "k3": unit[2]})
    result = update(family, chain(120.0, 80.0, 95.0).modes(), {"k1": 100.0, "k2": 100.0, "k3": 100.0})
    np.testing.assert_allclose(result.values, [120.0, 80.0, 95.0], rtol=1e-8)


def test_damping_ratios_give_damping_constants() -> None:
    def known(c: float) -> SecondOrder:
        return chain(120.0, 80.0, 95.0, c=c)

    truth = known(0.4).modes()
    result = update(known, truth, {"c": 1.0}, damping=True)
    # the model's ratios are those of light damping, φᵀCφ/2ω: right to the square of the ratios (2 %)² = 4e-4
    assert result["c"] == pytest.approx(0.4, rel=4e-3)
    assert "damping" in result.table()


def test_modes_that_change_places_are_paired_by_shape() -> None:
    def two(k: float) -> SecondOrder:
        return SecondOrder(np.eye(2), [[k + 1.0, -1.0], [-1.0, 101.0]], coordinates=["a", "b"])

    measured = two(120.0).modes()  # a is the higher mode; at the start it is the lower one
    result = update(two, measured, {"k": 80.0})
    assert result["k"] == pytest.approx(120.0, rel=1e-6)
    assert result.mac_after.min() > 0.999


@pytest.mark.slow
def test_deviations_of_modes_become_those_of_parameters() -> None:
    truth = np.array([120.0, 80.0, 95.0])
    modes = chain(*truth).modes()
    random = np.random.default_rng(0)
    found = []
    for _ in range(60):
        values = modes.eigenvalues * (1 + 1e-3 * random.normal(size=3))
        shapes = modes.shapes / np.linalg.norm(modes.shapes, axis=0)
        shapes = shapes + 1e-2 * random.normal(size=(3, 3))
        measured = Modes(values, shapes, modes.coordinates)
        deviations = {"frequencies_hz": 1e-3 * modes.frequencies_hz, "shapes": 1e-2}
        result = update(chain, measured, {"k1": 110.0, "k2": 90.0, "k3": 100.0}, deviations=deviations)
        assert result.deviations is not None
        found.append((result.values, result.deviations))
    spread = np.std([v for v, _ in found], axis=0)
    said = np.mean([d for _, d in found], axis=0)
    # a standard deviation from 60 draws is known to 1/√118 = 9 %: three of them
    np.testing.assert_allclose(said, spread, rtol=0.28)


def test_masses_and_stiffnesses_are_known_only_by_their_ratios() -> None:
    first = {"k1": 100.0, "k2": 100.0, "k3": 100.0, "m": 1.2}
    with warns(IdentificationWarning, "undetermined-parameters") as caught:
        result = update(chain, chain(120.0, 80.0, 95.0).modes(), first)
    (one,) = found_in(caught, "undetermined-parameters")
    assert one.where["parameters"] == ("k1", "k2", "k3", "m")
    # equal relative changes leave the ratios: the largest difference that the judgement takes for equal
    assert np.ptp(one.evidence["direction"]) < 0.08
    np.testing.assert_allclose(result.values[:3] / result["m"], [120.0, 80.0, 95.0], rtol=1e-6)


def test_a_prior_decides_what_the_modes_leave_open() -> None:
    first = {"k1": 100.0, "k2": 100.0, "k3": 100.0, "m": 1.0}
    result = update(chain, chain(120.0, 80.0, 95.0).modes(), first, prior={"m": 1e-4})
    np.testing.assert_allclose(result.values, [120.0, 80.0, 95.0, 1.0], rtol=1e-3)
    assert "undetermined-parameters" not in [one.code for one in result.findings]


def test_a_portal_frame_gives_modulus_and_joint_spring_on_sparse_matrices() -> None:
    truth = portal(205e9, 2e6).system().modes(5)
    result = update(portal, truth, {"E": 190e9, "k": 1e6}, coordinates=SENSORS)
    assert result.system.is_sparse
    assert result["E"] == pytest.approx(205e9, rel=1e-7)
    assert result["k"] == pytest.approx(2e6, rel=1e-6)


@pytest.mark.slow
def test_a_machine_is_updated_through_its_linearization() -> None:
    def build(k: float, mass: float) -> da.EquationsOfMotion:
        m = da.Mechanism("double pendulum", planar=True)
        upper = m.add_body("upper", mass=1.0, inertia=da.rod(1.0))
        lower = m.add_body("lower", mass=m.parameter("lower.mass", mass), inertia=0.05)
        m.add_revolute("A", m.ground.at(0, 0), upper.at(-0.5, 0))
        m.add_revolute("B", upper.at(0.5, 0), lower.at(0, 0.4))
        m.add_spring("spring", joint="B", stiffness=m.parameter("k", k))
        return da.equations(m)

    truth = da.linearize(build(3.0, 0.8))
    result = update(build(4.0, 1.0), truth.modes(), ["k", "lower.mass"])
    assert result["k"] == pytest.approx(3.0, rel=1e-6)
    assert result["lower.mass"] == pytest.approx(0.8, rel=1e-6)
    assert result.equations is not None
    np.testing.assert_allclose(da.linearize(result.equations).modes().frequencies, truth.modes().frequencies, rtol=1e-8)


def test_an_identified_model_brings_its_modes_and_deviations() -> None:
    system = chain(120.0, 80.0, 95.0, c=0.3)
    sampled = system.state_space().to_discrete(0.05)
    outputs = np.hstack((np.eye(3), np.zeros((3, 3))))
    sampled = da.StateSpace(sampled.A, C=outputs, dt=0.05, outputs=["a", "b", "c"])
    hertz = system.modes().frequencies_hz
    found = Identified(
        sampled, method="given", frequency_deviations_hz=1e-3 * hertz, damping_deviations=1e-3 * np.ones(3)
    )
    result = update(chain, found, {"k1": 100.0, "k2": 100.0, "k3": 100.0}, deviations={"shapes": 0.01})
    assert result.deviations is not None
    # damping of 2 % turns the undamped frequencies by 2e-4
    np.testing.assert_allclose(result.values, [120.0, 80.0, 95.0], rtol=2e-3)


def test_bounds_hold_an_update() -> None:
    result = update(chain, chain(120.0, 80.0, 95.0).modes(), {"k1": 100.0, "k2": 80.0, "k3": 95.0},
                    bounds={"k1": (50.0, 110.0)})  # fmt: skip
    assert result["k1"] == pytest.approx(110.0)
    assert [(one.code, one.where) for one in result.findings] == [("at-bound", {"parameter": "k1"})]


@pytest.mark.parametrize(
    ("change", "error", "code", "shown"),
    [
        ({"parameters": ["k1"]}, DataError, "missing-argument", "parameters="),
        ({"parameters": {}}, DataError, "empty", "parameters"),
        ({"modes": 3}, DataError, "wrong-type", "Identified"),
        ({"modes": Modes([-1.0], [[1.0]], ["a"])}, DataError, "overdamped", ""),
        ({"modes": Modes([1j], [[1.0]], ["z"])}, DataError, "unknown-name", "'z'"),
        ({"coordinates": ["q"]}, DataError, "unknown-name", "'q'"),
        ({"bounds": {"k1": (0.0, 1.0)}}, DataError, "out-of-range", "'k1'"),
        ({"prior": {"kk": 0.1}}, DataError, "unknown-name", "'kk'"),
        ({"prior": -1.0}, DataError, "not-positive", "prior"),
        ({"deviations": {"frequency": 1.0}}, DataError, "unknown-argument", "'frequencies_hz'"),
        ({"deviations": {"frequencies": 0.1}}, DataError, "unknown-argument", "'frequencies_hz'"),  # the former name
        ({"deviations": {"frequencies_hz": [1.0, 2.0]}}, DataError, "wrong-shape", "frequencies"),
        ({"model": 4.0}, ModelError, "wrong-type", "float"),
        ({"model": lambda **k: 3.0}, ModelError, "wrong-type", "float"),
    ],
)
def test_wrong_arguments_of_an_update_are_named(
    change: dict[str, Any], error: type[Exception], code: str, shown: str
) -> None:
    given: dict[str, Any] = {
        "model": chain, "modes": chain(120.0, 80.0, 95.0).modes(), "parameters": {"k1": 100.0, "k2": 90.0, "k3": 90.0},
        **change,
    }  # fmt: skip
    with raises(error, code, shown):
        update(given.pop("model"), given.pop("modes"), given.pop("parameters"), **given)


def test_gyroscopic_systems_are_refused() -> None:
    def spinning(k: float) -> SecondOrder:
        return SecondOrder(np.eye(2), k * np.eye(2), G=[[0, 1.0], [-1.0, 0]], coordinates=["a", "b"])

    with raises(ModelError, "not-symmetric", "gyroscopic"):
        update(spinning, chain(120.0, 80.0, 95.0).modes(), {"k": 1.0}, coordinates=["a", "b"])


def test_more_measured_modes_than_the_model_has_are_refused() -> None:
    def one(k: float) -> SecondOrder:
        return SecondOrder([[1.0]], [[k]], coordinates=["a"])

    with raises(DataError, "too-few-modes") as caught:
        update(one, chain(120.0, 80.0, 95.0).modes(), {"k": 1.0}, coordinates=["a"])
    assert caught.value.finding.evidence == {"modes": 1, "measured": 3}


@pytest.mark.parametrize(("factor", "found"), [(0.99, True), (1.01, False)])
def test_a_measured_mode_without_a_good_counterpart_is_found(factor: float, found: bool) -> None:
    def scaled(k: float) -> SecondOrder:
        return SecondOrder(np.eye(2), k * np.diag([1.0, 4.0]), coordinates=["a", "b"])

    mac = factor * WEIGHTS.good_mac  # of the first mode, which moves a alone
    measured = Modes([10j], [[np.sqrt(mac)], [np.sqrt(1.0 - mac)]], ["a", "b"])
    result = update(scaled, measured, {"k": 90.0}, shapes=False)
    assert [one.code for one in result.findings] == (["poor-pair"] if found else [])


# ---- modes of a file


def measured_portal(path: Path, noise: float, seed: int = 4) -> None:
    """A file of the first four modes of a portal frame at five sensors, one turned round, with noise and deviations."""
    true = portal(E=200e9, k=2e5).system().modes(4)
    rng = np.random.default_rng(seed)
    f = true.frequencies_hz * (1 + noise * rng.standard_normal(4))
    head = "mode,frequency [Hz],std frequency [Hz],s1,s2,s3,s4,s5"
    rows = [true.coordinates.index(name) for name in SENSORS]
    shapes = true.shapes[rows] * [[-1], [1], [1], [1], [1]]
    shapes = shapes / np.linalg.norm(shapes, axis=0) + noise * rng.standard_normal(shapes.shape)
    table = np.column_stack([np.arange(1, 5), f, max(noise, 1e-9) * f, shapes.T])
    np.savetxt(path, table, delimiter=",", header=head, comments="")


PLACES = {"s1": "-B.x"} | {f"s{k + 1}": SENSORS[k] for k in range(1, 5)}


def test_parameters_come_back_from_the_modes_of_a_file(tmp_path: Path) -> None:
    """Without noise to the twelve digits of Newton's method, less the condition of the frequencies (below 1e4)."""
    measured_portal(tmp_path / "portal.csv", 0.0)
    modes = da.read_modes(tmp_path / "portal.csv")
    result = update(portal, modes, {"E": 210e9, "k": 1e5}, coordinates=PLACES, deviations={"shapes": 1e-3})
    np.testing.assert_allclose(result.values, [200e9, 2e5], rtol=1e-6)
    np.testing.assert_allclose(result.mac_after, 1.0, atol=1e-6)


def test_deviations_of_a_file_are_used(tmp_path: Path) -> None:
    """With noise of 0.1 % the values are within four of their own deviations: missed by chance once in 16 000."""
    measured_portal(tmp_path / "portal.csv", 1e-3)
    modes = da.read_modes(tmp_path / "portal.csv")
    result = update(portal, modes, {"E": 210e9, "k": 1e5}, coordinates=PLACES, deviations={"shapes": 1e-3})
    assert result.deviations is not None  # frequencies from the file, shapes as given
    assert (np.abs(result.values - [200e9, 2e5]) < 4 * result.deviations).all()
    assert result.deviations[0] < 2e-3 * 200e9
    report = da.structures.correlate(modes, result.system.modes(12), coordinates=PLACES)
    assert report.partners.tolist() == [1, 2, 3, 4] and (report.mac > 0.9999).all()
    # deviations ten times as large in the file give ten times as large ones of the parameters
    wide = modes.replace(frequency_deviations_hz=10 * modes.frequency_deviations_hz)
    again = update(portal, wide, {"E": 210e9, "k": 1e5}, coordinates=PLACES, deviations={"shapes": 1e-2})
    assert again.deviations is not None
    np.testing.assert_allclose(again.deviations / result.deviations, 10.0, rtol=0.05)


# ---- edges of thresholds


# ---- repeated modes


@pytest.mark.parametrize("turn", [0.1, 0.3, np.pi / 4])
def test_repeated_modes_are_compared_with_measured_shapes_in_their_space(turn: float) -> None:
    """Two floors that sway in two directions: any pair of directions is a pair of modes where both are as stiff."""

    def tower(kx: float, ky: float, angle: float) -> SecondOrder:
        K = np.kron(np.diag([kx, ky]), np.array([[2.0, -1.0], [-1.0, 1.0]]))
        R = np.kron([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]], np.eye(2))
        return SecondOrder(np.eye(4), R @ K @ R.T, coordinates=["x1", "x2", "y1", "y2"])

    measured = tower(1.02, 0.98, turn).modes()
    equal = update(lambda k: tower(k, k, 0.7), measured, {"k": 1.1})
    assert equal.mac_after == pytest.approx(1.0) and {one.code for one in equal.findings} == {"repeated-poles"}
    seen = update(lambda k: tower(k, k, 0.7), measured, {"k": 1.1}, coordinates=["x1", "x2"])
    assert seen.values == pytest.approx(equal.values, rel=1e-3)
    two = update(lambda kx, ky: tower(kx, ky, turn), measured, {"kx": 1.0, "ky": 1.0})
    assert two.values == pytest.approx([1.02, 0.98], rel=1e-6) and two.mac_before == pytest.approx(1.0)


def test_fewer_data_than_parameters_are_a_finding_and_no_error() -> None:
    names = {"k1": 100.0, "k2": 100.0, "k3": 100.0, "m": 1.0}
    with pytest.warns(IdentificationWarning):
        result = update(chain, chain(120.0, 80.0, 95.0).modes(), names, shapes=False)
    assert "undetermined-parameters" in {one.code for one in result.findings}
