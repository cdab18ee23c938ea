"""The realizations printed for the three-storey rig, and the M, C, K that follow (spec 000, AT-3, AT-4, AT-5).

The measured data are not published; the matrices of the realizations are, to four decimals. Where the source prints a
number that its own printed matrices do not give to the last digit, the tolerance is what rounding the matrices does:
the extremes over 300 realizations whose entries differ from the printed ones by up to half a unit of the last digit.
"""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.identify import IdentificationWarning, Identified, physical, proportional_damping
from dalembert.linear import SecondOrder, StateSpace
from tests.helpers.findings import raises, warns
from tests.helpers.storey_frame import relative

DT = 1.0 / 32.0
FLOORS = ["a1", "a2", "a3"]


def numbers(text: str) -> np.ndarray:
    return np.array([[float(x) for x in row.split()] for row in text.strip().splitlines()])


# eq 5.168-5.169; B(3) is printed with both signs, and only -0.1133 reproduces eq 5.177-5.179 (trap T-26)
A_ERA = numbers("""
     0.4374  0.8852 -0.0220 -0.0415 -0.0017 -0.0002
    -0.9029  0.4310 -0.0875  0.0191 -0.0040  0.0010
     0.0500 -0.0111 -0.1490  0.9742 -0.0041 -0.0021
     0.0621 -0.0617 -0.9841 -0.1538 -0.0067  0.0009
    -0.0146 -0.0241 -0.0015 -0.0312  0.9230  0.3530
    -0.0148 -0.0340  0.0100 -0.0425 -0.3777  0.9070""")
B_ERA = np.array([[-0.0946], [-0.0203], [-0.1133], [0.0030], [-0.0885], [-0.1079]])
C_ERA = numbers("""
    -26.355  7.736 -5.170 -1.132 -0.677 0.162
     -4.217  2.626 14.217  1.220 -1.340 0.307
     11.219 -4.228 -5.732 -0.055 -1.549 0.470""")
D_ERA = np.array([[-2.574], [-0.208], [0.003]])
# eq 5.181-5.184
A_N4SID = numbers("""
     0.4184  0.8019  0.3995  0.1444  0.0153 -0.0073
    -0.6853  0.2661  0.3680 -0.5466 -0.0164  0.0120
    -0.5789  0.1414  0.0405  0.7964  0.0423 -0.0117
    -0.1367  0.5145 -0.8260 -0.1599  0.0415  0.0040
     0.0117 -0.0324  0.0257 -0.0387  0.9263 -0.3689
    -0.0001 -0.0059  0.0485 -0.0300  0.3585  0.8969""")
B_N4SID = np.array([[0.0176], [0.0521], [-0.0265], [-0.0352], [0.0867], [-0.0552]])
C_N4SID = numbers("""
     56.6682  39.7860   6.4378 -6.8943 0.7703 -0.1882
     12.0417  -4.2486  17.2738 20.3517 1.5212 -0.4419
    -26.3375 -11.1040 -11.0976 -8.1824 3.1637 -0.1651""")

# eq 5.177-5.180 and their counterparts for N4SID
M_ERA = numbers("0.3871 -0.0156 0.0011\n-0.0156 0.2621 -0.0323\n0.0011 -0.0323 0.3790")
K_ERA = numbers("534.061 -221.931 25.696\n-221.931 614.564 -432.792\n25.696 -432.792 422.005")
R_ERA = numbers("9.960 -4.823 1.018\n-4.823 12.480 -8.366\n1.018 -8.366 7.017")
M_N4SID = numbers(".4089 -.0132 .0191\n-.0132 .3110 -.0004\n.0191 -.0004 .4664")
K_N4SID = numbers("569.1692 -266.3515 33.1538\n-266.3515 693.3727 -458.0419\n33.1538 -458.0419 442.9695")


def realization(A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray | None = None) -> Identified:
    system = StateSpace(A, B, C, D, dt=DT, inputs="force", outputs=FLOORS)
    return Identified(system, method="printed in the source")


def era() -> Identified:
    return realization(A_ERA, B_ERA, C_ERA, D_ERA)


def n4sid() -> Identified:
    return realization(A_N4SID, B_N4SID, C_N4SID)


def modal_values(fit: Identified) -> np.ndarray:
    """Rows f [Hz], ξ, moduli of a2/a1 and a3/a1, their phases [rad]; one column per mode."""
    shapes = fit.modes().normalise("a1").shapes
    return np.vstack([fit.frequencies_hz, fit.damping_ratios, np.abs(shapes[1:]), np.angle(shapes[1:])])


def rounding_range(A: np.ndarray, B: np.ndarray, C: np.ndarray, half_C: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    made = []
    for _ in range(300):
        dA, dC = rng.uniform(-5e-5, 5e-5, A.shape), rng.uniform(-half_C, half_C, C.shape)
        made.append(modal_values(realization(A + dA, B, C + dC)))
    values = np.array(made)
    phases = values[:, 4:]
    values[:, 4:] = np.where(phases > 3.0, phases - 2.0 * np.pi, phases)  # the source prints -π - ... for these
    return values.min(axis=0), values.max(axis=0)


# ---- AT-3


@pytest.mark.spec("000-T3")
@pytest.mark.spec("000-58")
def test_modal_values_of_the_era_realization_are_those_recomputed_in_the_spec() -> None:
    """Half a unit of the last digit of the table."""
    f, xi, rho2, rho3 = modal_values(era())[:4]
    np.testing.assert_allclose(f, [1.9344, 5.6903, 8.7927], rtol=0, atol=5e-5)
    assert np.all(np.abs(xi - [0.0394, 0.00303, 0.00418]) < [5e-5, 5e-6, 5e-6])
    assert np.all(np.abs(rho2 - [2.506, 0.1492, 3.444]) < [5e-4, 5e-5, 5e-4])
    assert np.all(np.abs(rho3 - [2.856, 0.4221, 1.4765]) < [5e-4, 5e-5, 5e-5])


@pytest.mark.spec("000-T3")
def test_frequencies_of_the_era_realization_are_the_printed_ones() -> None:
    np.testing.assert_allclose(era().frequencies_hz, [1.934, 5.690, 8.793], rtol=0, atol=5e-4)


@pytest.mark.spec("000-T3")
def test_all_printed_modal_values_lie_within_what_rounding_the_era_realization_does() -> None:
    low, high = rounding_range(A_ERA, B_ERA, C_ERA, 5e-4)
    printed = np.array(
        [
            [1.934, 5.690, 8.793], [0.0395, 0.0030, 0.0042], [2.503, 0.1492, 3.443], [2.851, 0.4221, 1.476],
            [-0.0186, -0.0365, -3.144], [-0.1053, -3.170, -0.0296],
        ]
    )  # fmt: skip
    half = np.array([[5e-4] * 3, [5e-5] * 3, [5e-4, 5e-5, 5e-4], [5e-4, 5e-5, 5e-4],
                     [5e-5, 5e-5, 5e-4], [5e-5, 5e-4, 5e-5]])  # fmt: skip
    assert np.all(printed > low - half)
    assert np.all(printed < high + half)


@pytest.mark.spec("000-T3")
@pytest.mark.spec("000-59")
def test_proportional_damping_of_the_era_realization_is_as_printed_and_poor() -> None:
    """alpha = 0.9746, beta = -2.8701e-4 from the printed modal values; the printed 0.9751, -2.8815e-4 from more digits.

    Fitted ratios 0.0384, 0.0085, 0.0009: modes 2 and 3 are missed by more than half, and modes above 9.27 Hz unstable.
    """
    omega = 2.0 * np.pi * np.array([1.934, 5.690, 8.793])
    with warns(IdentificationWarning, "negative-damping", "beta"):
        law = proportional_damping(omega, [0.0395, 0.0030, 0.0042])
    assert law.alpha == pytest.approx(0.9746, abs=5e-5)
    assert law.beta == pytest.approx(-2.8701e-4, abs=5e-9)
    np.testing.assert_allclose(law.fitted, [0.0384, 0.0085, 0.0009], rtol=0, atol=5e-5)
    np.testing.assert_allclose(law.residuals, law.ratios - law.fitted)
    assert law.unstable_above / (2.0 * np.pi) == pytest.approx(9.27, abs=0.01)


@pytest.mark.spec("000-T3")
@pytest.mark.spec("000-59")
@pytest.mark.filterwarnings("ignore:the fit of proportional damping")
def test_the_printed_coefficients_lie_within_what_rounding_the_modal_values_does() -> None:
    rng = np.random.default_rng(0)
    half = ([5e-4] * 3, [5e-5] * 3)
    f, xi = np.array([1.934, 5.690, 8.793]), np.array([0.0395, 0.0030, 0.0042])
    laws = [
        proportional_damping(2.0 * np.pi * (f + rng.uniform(-1, 1, 3) * half[0]), xi + rng.uniform(-1, 1, 3) * half[1])
        for _ in range(300)
    ]
    alpha, beta = np.array([(law.alpha, law.beta) for law in laws]).T
    assert alpha.min() < 0.9751 < alpha.max()
    assert beta.min() < -2.8815e-4 < beta.max()


# ---- AT-4


@pytest.fixture(scope="module")
def from_era() -> SecondOrder:
    with warns(IdentificationWarning, "inconsistent-damping"):
        return physical(era(), kind="acceleration", colocated=("a1", "force"), damping="identified")


@pytest.mark.spec("000-T4")
@pytest.mark.spec("000-60")
def test_mass_stiffness_and_damping_of_the_era_realization_are_the_printed_ones(from_era: SecondOrder) -> None:
    """Relative Frobenius errors 0.084 %, 0.058 %, 0.126 %; at most 0.2 % is what the rounded realization allows."""
    for found, printed in ((from_era.M, M_ERA), (from_era.K, K_ERA), (from_era.C, R_ERA)):
        assert relative(found, printed) < 0.002


@pytest.mark.spec("000-T4")
def test_mass_stiffness_and_damping_are_those_recomputed_in_the_spec(from_era: SecondOrder) -> None:
    M = numbers("0.3872 -0.0156 0.0011\n-0.0156 0.2622 -0.0325\n0.0011 -0.0325 0.3786")
    K = numbers("534.24 -221.99 25.88\n-221.99 615.02 -433.02\n25.88 -433.02 421.85")
    R = numbers("9.972 -4.828 1.021\n-4.828 12.500 -8.375\n1.021 -8.375 7.021")
    np.testing.assert_allclose(from_era.M, M, rtol=0, atol=5e-5)
    np.testing.assert_allclose(from_era.K, K, rtol=0, atol=5e-3)
    np.testing.assert_allclose(from_era.C, R, rtol=0, atol=5e-4)
    assert from_era.provenance["inconsistency"] == pytest.approx(0.069, abs=5e-4)


@pytest.mark.spec("000-T4")
def test_the_opposite_sign_of_sensor_and_force_is_found_and_noted(from_era: SecondOrder) -> None:
    """D(1) = -2.574, while 1/M11 must be positive."""
    assert from_era.provenance["sign"] == -1.0
    assert any("sign of every sensor was changed" in note for note in from_era.provenance["notes"])
    np.testing.assert_array_equal(from_era.Y_acceleration, -np.eye(3))
    turned = physical(
        era(), sensors={name: f"-x{i}.acceleration" for i, name in enumerate(FLOORS, 1)}, colocated=("a1", "force"),
        damping="modal",
    )  # fmt: skip
    assert turned.provenance["sign"] == 1.0
    np.testing.assert_allclose(turned.M, from_era.M)


@pytest.mark.spec("000-T4")
def test_the_colocated_pair_of_the_rig_is_found_by_itself(from_era: SecondOrder) -> None:
    """The hammer struck floor 1: with floors 2 or 3 the masses would not all be positive."""
    found = physical(era(), kind="acceleration", damping="modal")
    assert found.provenance["co-located"] == (("a1", "force"),)
    np.testing.assert_allclose(found.M, from_era.M)


@pytest.mark.spec("000-T4")
def test_the_printed_matrices_have_good_frequencies_and_absurd_damping() -> None:
    """1.930, 5.704, 8.860 Hz undamped; 0.067, 0.311, 0.556 with the printed damping matrix."""
    direct = SecondOrder(M_ERA, K_ERA, C=R_ERA).modes()
    np.testing.assert_allclose(
        SecondOrder(M_ERA, K_ERA).modes().frequencies_hz, [1.930, 5.704, 8.860], rtol=0, atol=5e-4
    )
    np.testing.assert_allclose(np.sort(direct.damping_ratios), [0.067, 0.311, 0.556], rtol=0, atol=5e-4)


@pytest.mark.spec("000-T4")
@pytest.mark.spec("000-59")
def test_proportional_damping_of_the_printed_matrices_is_the_printed_one() -> None:
    """eq 5.180, (1, 1) read as 0.2236 (trap T-26), and ratios 0.0385, 0.0084, 0.0007."""
    C = 0.9751 * M_ERA - 2.8815e-4 * K_ERA
    printed = numbers("0.2236 0.0487 -0.0063\n0.0487 0.0785 0.0932\n-0.0063 0.0932 0.2480")
    np.testing.assert_allclose(C, printed, rtol=0, atol=5e-5)
    ratios = SecondOrder(M_ERA, K_ERA, C=C).modes().damping_ratios
    np.testing.assert_allclose(ratios, [0.0385, 0.0084, 0.0007], rtol=0, atol=5e-5)


@pytest.mark.spec("000-T4")
def test_physical_replaces_the_damping_matrix_by_the_proportional_one() -> None:
    with warns(IdentificationWarning, "negative-damping", "beta"):
        model = physical(era(), kind="acceleration", damping="proportional")
    alpha, beta = model.provenance["alpha"], model.provenance["beta"]
    np.testing.assert_allclose(model.C, alpha * model.M + beta * model.K)
    np.testing.assert_allclose(model.modes().damping_ratios, [0.0385, 0.0084, 0.0007], rtol=0, atol=2e-4)


# ---- AT-5


@pytest.mark.spec("000-T5")
@pytest.mark.spec("000-58")
def test_modal_values_of_the_n4sid_realization_are_those_of_the_spec() -> None:
    """Printed to three decimals, and recomputed with one more."""
    f, xi, rho2, rho3 = modal_values(n4sid())[:4]
    np.testing.assert_allclose(f, [1.936, 5.697, 8.793], rtol=0, atol=5e-4)
    np.testing.assert_allclose(f, [1.9363, 5.6970, 8.7928], rtol=0, atol=5e-5)
    np.testing.assert_allclose(xi, [0.0464, 0.0028, 0.0042], rtol=0, atol=5e-5)
    assert np.all(np.abs(xi - [0.0464, 0.00282, 0.00417]) < [5e-5, 5e-6, 5e-6])
    np.testing.assert_allclose(rho2, [2.5215, 0.1461, 3.4332], rtol=0, atol=5e-5)
    np.testing.assert_allclose(rho3, [2.8236, 0.4241, 1.4712], rtol=0, atol=5e-5)


@pytest.mark.spec("000-T5")
def test_all_printed_modal_values_lie_within_what_rounding_the_n4sid_realization_does() -> None:
    low, high = rounding_range(A_N4SID, B_N4SID, C_N4SID, 5e-5)
    printed = np.array(
        [
            [1.936, 5.697, 8.793], [0.0464, 0.0028, 0.0042], [2.519, 0.1461, 3.436], [2.820, 0.4241, 1.472],
            [0.1167, -0.0392, 3.1396 - 2.0 * np.pi], [0.0777, -3.1710, -0.0291],
        ]
    )  # fmt: skip
    half = np.array([[5e-4] * 3, [5e-5] * 3, [5e-4, 5e-5, 5e-4], [5e-4, 5e-5, 5e-4], [5e-5] * 3, [5e-5] * 3])
    assert np.all(printed > low - half)
    assert np.all(printed < high + half)


@pytest.mark.spec("000-T5")
@pytest.mark.spec("000-60")
def test_mass_and_stiffness_of_the_n4sid_realization_are_the_printed_ones() -> None:
    """At most 0.3 %: 0.257 % of M, 0.145 % of K. The damping matrix, the most sensitive, within the spec's 1 %."""
    with warns(IdentificationWarning, "inconsistent-damping"):
        model = physical(n4sid(), kind="acceleration", colocated=("a1", "force"), damping="identified")
    assert relative(model.M, M_N4SID) < 0.003
    assert relative(model.K, K_N4SID) < 0.003
    R = numbers("13.3370 -6.0425 2.1404\n-6.0425 18.6675 -8.5170\n2.1404 -8.5170 13.2783")
    assert relative(model.C, R) < 0.01
    np.testing.assert_allclose(
        model.M, numbers(".4093 -.0133 .0190\n-.0133 .3110 -.0013\n.0190 -.0013 .4652"), rtol=0, atol=5e-5
    )
    K = numbers("569.62 -266.35 33.48\n-266.35 694.38 -458.99\n33.48 -458.99 443.20")
    np.testing.assert_allclose(model.K, K, rtol=0, atol=5e-3)
    np.testing.assert_allclose(model.replace(C=None).modes().frequencies_hz, [1.836, 5.696, 8.870], rtol=0, atol=1e-3)


@pytest.mark.spec("000-T5")
@pytest.mark.spec("000-59")
def test_proportional_damping_of_the_n4sid_realization_is_as_recomputed() -> None:
    """alpha = 1.1500, beta = -3.6967e-4 from the printed modal values, and C from the printed matrices."""
    omega = 2.0 * np.pi * np.array([1.936, 5.697, 8.793])
    with warns(IdentificationWarning, "negative-damping", "beta"):
        law = proportional_damping(omega, [0.0464, 0.0028, 0.0042])
    assert law.alpha == pytest.approx(1.1500, abs=5e-5)
    assert law.beta == pytest.approx(-3.6967e-4, abs=5e-9)
    C = 1.1494 * M_N4SID - 3.6937e-4 * K_N4SID
    recomputed = numbers(".2598 .0832 .0097\n.0832 .1014 .1687\n.0097 .1687 .3725")
    np.testing.assert_allclose(C, recomputed, rtol=0, atol=5e-5)


@pytest.mark.spec("000-T5")
def test_without_feedthrough_and_units_the_kind_of_sensor_must_be_given() -> None:
    """The printed D is 0, as accelerations never have: a flaw of that run."""
    with raises(DataError, "missing-argument", "kind='acceleration'"):
        physical(n4sid())
