"""Updating by Rayleigh quotients: exact recovery, signs, bounds, regularisation, deviations, wrong input."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError
from dalembert.identify import Affine, RayleighQuotients, Updated, update
from dalembert.linear import Modes, SecondOrder
from tests.helpers.findings import raises

N = 8
NAMES = ["density", "m3", "spare", "k1", "k2", "ground"]
FIRST = {"density": 1.0, "m3": 0.5, "spare": 0.0, "k1": 900.0, "k2": 600.0, "ground": 50.0}
TRUE = {"density": 1.12, "m3": 0.44, "spare": 0.4, "k1": 990.0, "k2": 520.0, "ground": 57.0}


def family() -> Affine:
    """Eight masses in a row: density, one mass more, one that is none at first; two kinds of springs, and to ground."""
    unit = np.eye(N)

    def springs(pairs: list[tuple[int, int]]) -> np.ndarray:
        K = np.zeros((N, N))
        for i, j in pairs:
            K += np.outer(unit[i] - unit[j], unit[i] - unit[j])
        return K

    base = SecondOrder(0.1 * np.eye(N), np.diag([200.0] + [0.0] * (N - 1)), coordinates=[f"x{k}" for k in range(N)])
    mass = {"density": np.diag(np.linspace(1, 2, N)), "m3": np.diag(unit[3]), "spare": np.diag(unit[6])}
    stiffness = {
        "k1": springs([(0, 1), (1, 2), (2, 3)]), "k2": springs([(3, 4), (4, 5), (5, 6), (6, 7)]),
        "ground": np.diag(unit[7] + unit[4]),
    }  # fmt: skip
    return Affine(base, mass=mass, stiffness=stiffness)


def measure(modes: Modes, rows: list[int] | None = None, k: int = N) -> Modes:
    """The first k modes as a careful test measures them: frequencies to 1e-5, shapes at some coordinates or all."""
    rows = list(range(N)) if rows is None else rows
    return Modes(
        modes.eigenvalues[:k], modes.shapes[rows][:, :k], [modes.coordinates[r] for r in rows],
        frequency_deviations_hz=1e-5 * modes.frequencies_hz[:k],
    )  # fmt: skip


def errors(result: Updated) -> np.ndarray:
    return np.array([result[name] - TRUE[name] for name in NAMES])


BOUNDS = {"spare": (-1.0, 1.0)}


@pytest.mark.spec("004-C45")
@pytest.mark.spec("004-C46")
@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("preconditioned", [False, True])
def test_exact_pairs_give_the_parameters_in_one_pass(vector: bool, preconditioned: bool) -> None:
    measured = measure(family()(**TRUE).modes())
    # any length and phase of the shapes
    turned = Modes(measured.eigenvalues, measured.shapes * np.exp(1j * np.arange(N)) * np.arange(1, N + 1),
                   measured.coordinates, frequency_deviations_hz=measured.frequency_deviations_hz)  # fmt: skip
    method = RayleighQuotients(vector=vector, preconditioned=preconditioned, passes=1)
    result = update(family(), turned, FIRST, method=method, bounds=BOUNDS)
    # the condition of the rows is below 1e4
    assert np.abs(errors(result)).max() <= 1e-10 * max(TRUE.values())
    assert result["spare"] == pytest.approx(0.4, abs=1e-10)
    assert result.frequencies_after_hz == pytest.approx(measured.frequencies_hz, rel=1e-9)


@pytest.mark.spec("004-C46")
def test_rows_with_the_printed_sign_give_the_negative() -> None:
    system, measured = family()(**FIRST), family()(**TRUE).modes()
    parts = family().parts()
    square, phi = np.abs(measured.eigenvalues) ** 2, measured.shapes
    columns = [FIRST[n] * (parts["M"].get(n, 0 * system.M), parts["K"].get(n, 0 * system.M))[k] if FIRST[n] else
               parts["M"][n] for n, k in zip(NAMES, (0, 0, 0, 1, 1, 1))]  # fmt: skip
    sign = [1, 1, 1, -1, -1, -1]
    A = np.array([[(w2 if s > 0 else -1) * (phi[:, i] @ D @ phi[:, i]) for D, s in zip(columns, sign)]
                  for i, w2 in enumerate(square)])  # fmt: skip
    b = -np.array([phi[:, i] @ (w2 * system.M - system.K) @ phi[:, i] for i, w2 in enumerate(square)])
    chi = np.linalg.lstsq(A / square[:, None], b / square, rcond=None)[0]
    result = update(family(), measured, FIRST, method=RayleighQuotients(passes=1), bounds=BOUNDS)
    changes = np.array([(result[n] - FIRST[n]) / (FIRST[n] or 1.0) for n in NAMES])
    assert chi == pytest.approx(changes, abs=1e-9)
    printed = np.linalg.lstsq(A / square[:, None], -b / square, rcond=None)[0]
    assert printed == pytest.approx(-changes, abs=1e-9)


@pytest.mark.spec("004-C46")
def test_shapes_of_the_model_replace_those_that_were_not_measured() -> None:
    measured = measure(family()(**TRUE).modes())
    few = measure(measured, [0, 3, 7])
    once = update(family(), few, FIRST, method=RayleighQuotients(passes=1), bounds=BOUNDS)
    often = update(family(), few, FIRST, method=RayleighQuotients(passes=20), bounds=BOUNDS)
    assert np.abs(once.errors_after).max() > 10 * np.abs(often.errors_after).max()
    assert often.frequencies_after_hz == pytest.approx(measured.frequencies_hz, rel=1e-6)
    assert often.status == "converged"


def test_noise_of_measured_shapes_does_not_matter_where_they_only_pair_modes() -> None:
    measured, random = measure(family()(**TRUE).modes()), np.random.default_rng(1)
    noisy = Modes(measured.eigenvalues, measured.shapes * (1 + 0.1 * random.normal(size=(N, N))), measured.coordinates,
                  frequency_deviations_hz=measured.frequency_deviations_hz)  # fmt: skip
    results = [update(family(), noisy, FIRST, method=RayleighQuotients(passes=20, measured_shapes=word), bounds=BOUNDS)
               for word in (True, False)]  # fmt: skip
    sizes = [float(np.abs(errors(result) / list(TRUE.values())).max()) for result in results]
    assert sizes[1] < 1e-6 < 1e-2 < sizes[0]


@pytest.mark.spec("004-C46")
def test_bounds_hold_and_the_preconditioned_problem_is_another_where_they_do() -> None:
    measured = measure(family()(**TRUE).modes())
    tight = {name: (value * 0.95, value * 1.05) for name, value in FIRST.items() if value} | {"spare": (-0.01, 0.01)}
    plain = update(family(), measured, FIRST, method=RayleighQuotients(passes=1), bounds=tight)
    other = update(family(), measured, FIRST, method=RayleighQuotients(passes=1, preconditioned=True), bounds=tight)
    for result in (plain, other):
        for name, (low, high) in tight.items():
            assert low - 1e-12 <= result[name] <= high + 1e-12
    assert np.abs(plain.values - other.values).max() > 1e-3
    assert "at-bound" in [finding.code for finding in plain.findings]
    assert np.abs(plain.errors_after).mean() <= np.abs(other.errors_after).mean()


@pytest.mark.spec("004-C45")
def test_regularisation_keeps_parameters_near_their_first_values() -> None:
    measured = measure(family()(**TRUE).modes())

    def changes(**options: object) -> np.ndarray:
        result = update(family(), measured, FIRST, method=RayleighQuotients(**options), bounds=BOUNDS)  # type: ignore[arg-type]
        return np.array([(result[n] - FIRST[n]) / (FIRST[n] or 1.0) for n in NAMES])

    sizes = [float(np.linalg.norm(changes(regularisation=cost))) for cost in (0.0, 1e-3, 1e-1, 1e5)]
    assert sizes == sorted(sizes, reverse=True) and sizes[-1] < 1e-3
    held = changes(regularisation={"k1": 1e6})
    assert abs(held[3]) < 1e-4 < abs(held[4])


@pytest.mark.spec("004-C46")
def test_results_do_not_depend_on_units() -> None:
    # millimetres for two coordinates, tonnes for all: nothing of the problem changes
    measured, T = measure(family()(**TRUE).modes()), np.diag([1.0, 1e-3, 1.0, 1.0, 1e-3, 1.0, 1.0, 1.0])
    unit = family()
    few = measure(measured, k=7)
    turned = Modes(few.eigenvalues, np.linalg.solve(T, few.shapes), few.coordinates,
                   frequency_deviations_hz=few.frequency_deviations_hz)  # fmt: skip
    scaled = Affine(
        SecondOrder(1e-3 * T @ unit.base.M @ T, 1e-3 * T @ unit.base.K @ T, coordinates=unit.base.coordinates),
        mass={n: 1e-3 * T @ D @ T for n, D in (unit.mass or {}).items()},
        stiffness={n: 1e-3 * T @ D @ T for n, D in (unit.stiffness or {}).items()},
    )
    for vector in (False, True):
        method = RayleighQuotients(regularisation=1e-4, vector=vector, passes=1)
        a = update(unit, few, FIRST, method=method, bounds=BOUNDS)
        b = update(scaled, turned, FIRST, method=method, bounds=BOUNDS)
        assert a.values == pytest.approx(b.values, rel=1e-8, abs=1e-9)


@pytest.mark.spec("004-C46")
def test_deviations_are_those_of_the_frequencies() -> None:
    # 150 tests of frequencies with 1e-4: the normalised squares of each parameter have mean 1 within √(2 / 150) = 0.12
    true, random = family()(**TRUE).modes(), np.random.default_rng(3)
    squares = []
    for _ in range(150):
        noisy = true.eigenvalues * (1 + 1e-4 * random.normal(size=N))
        modes = Modes(noisy, true.shapes, true.coordinates, frequency_deviations_hz=1e-4 * true.frequencies_hz)
        result = update(family(), modes, FIRST, method=RayleighQuotients(passes=1), bounds=BOUNDS)
        assert result.deviations is not None
        squares.append((errors(result) / result.deviations) ** 2)
    assert np.mean(squares, axis=0) == pytest.approx(1.0, abs=4 * np.sqrt(2 / 150))


def test_a_machine_and_a_function_are_updated_too() -> None:
    measured = measure(family()(**TRUE).modes())
    result = update(lambda **p: family()(**p), measured, FIRST, method=RayleighQuotients(), bounds=BOUNDS)
    assert np.abs(errors(result)).max() <= 1e-7 * max(TRUE.values())


def test_mistakes_have_their_codes() -> None:
    measured = measure(family()(**TRUE).modes())
    few = measure(measured, [0, 3, 7])
    for code, options, modes, more in (
        ("too-few-samples", {"vector": True}, few, {}),
        ("wrong-shape", {"weights": [1.0, 2.0]}, measured, {}),
        ("negative", {"regularisation": -1.0}, measured, {}),
        ("unknown-name", {"regularisation": {"k9": 1.0}}, measured, {}),
        ("conflicting-arguments", {}, measured, {"damping": True}),
        ("out-of-range", {}, measured, {"bounds": {"k1": (1000.0, 2000.0)}}),
    ):
        with raises(DataError, code):
            update(family(), modes, FIRST, method=RayleighQuotients(**options), **more)  # type: ignore[arg-type]
    with raises(DataError, "not-a-count"):
        RayleighQuotients(passes=0)
    with raises(DataError, "wrong-type"):
        update(family(), measured, FIRST, method="rayleigh")  # type: ignore[arg-type]
    assert da.identify.RayleighQuotients is RayleighQuotients
