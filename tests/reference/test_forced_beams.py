"""Forced beams (spec 003, C-48, C-49; spec 000, item 24) and assumed modes (spec 000, item 25)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import iv, jv

from dalembert.structures import Beam, Trial, assumed_modes

ENDS = ("free", "clamped", "supported", "guided")
PAIRS = [(a, b) for i, a in enumerate(ENDS) for b in ENDS[i:]]


def unit(left, right, **rest):
    return Beam(1.0, EI=1.0, rhoA=1.0, left=left, right=right, **rest)


CIRCLE = 8.8 / 7.8 * 2.6  # χ* of a circle, ν = 0.3


def round_beam(alpha, left="supported", right="supported", theory="timoshenko"):
    """Circular section, ν = 0.3, EI = ρA = l = 1, slenderness α."""
    r2 = 1.0 / alpha**2
    return unit(left, right, theory=theory, rhoI=r2, GA=1.0 / (CIRCLE * r2))


@pytest.mark.spec("003-C48", "000-24")
def test_a_step_force_in_the_middle_of_a_supported_beam():
    """η_i = q_i F (1 - cos ω_i t)/(M_i ω_i²), by Duhamel; M_i = ½, ω_i = (iπ)²."""
    beam = unit("supported", "supported")
    t = np.linspace(0.0, 0.7, 141)
    run = beam.response({"push": 2.0}, times=t, modes=12, forces_at={"push": 0.5}, outputs_at={"middle": 0.5})
    i = np.arange(1, 13)[:, None]
    expected = (2.0 * np.sin(i * np.pi / 2) ** 2 * 2.0 / (i * np.pi) ** 4 * (1 - np.cos((i * np.pi) ** 2 * t))).sum(
        axis=0
    )
    assert run["middle"] == pytest.approx(expected, abs=1e-12)
    assert run.units["middle"] == "m"


@pytest.mark.spec("003-C48", "000-24")
def test_a_ramp_with_modal_damping_follows_duhamels_integral():
    beam = unit("clamped", "free")
    t = np.linspace(0.0, 2.0, 41)
    run = beam.response({"pull": t}, times=t, modes=3, forces_at={"pull": 1.0}, outputs_at={"tip": 1.0}, damping=0.1)
    found = beam.modes(3, normalised="mass")
    fine, weight = np.polynomial.legendre.leggauss(400)
    total = 0.0
    for q, w in zip(found.shape(1.0), found.frequencies, strict=True):
        wd = w * math.sqrt(1 - 0.01)
        tau, dt = (fine + 1.0), weight  # 0 to 2 s
        total += q**2 * dt @ (tau * np.exp(-0.1 * w * (2.0 - tau)) * np.sin(wd * (2.0 - tau)) / wd)
    assert run["tip"][-1] == pytest.approx(total, rel=1e-10)


@pytest.mark.spec("003-C48", "000-24")
def test_a_distributed_load_deflects_statically_as_the_closed_form():
    # uniform load on a cantilever: l⁴/8EI; the modes left out after 40 carry about 1/β⁵
    beam = Beam(2.0, EI=3.0, rhoA=5.0)
    system = beam.system(40, distributed={"snow": lambda z: 7.0 + 0 * z}, outputs_at={"tip": 2.0})
    static = system.frequency_response([0.0], kind="output").values[0, 0, 0].real
    assert static == pytest.approx(7.0 * 2.0**4 / (8 * 3.0), rel=1e-8)


@pytest.mark.spec("003-C48")
@pytest.mark.parametrize(("left", "right"), PAIRS)
@pytest.mark.parametrize("theory", ["euler-bernoulli", "timoshenko"])
def test_modal_and_exact_harmonic_response_agree(left, right, theory):
    """40 modes with the static rest added exactly.

    What is left is Σ q_i² ω²/(M_i ω_i⁴) over the other modes. Worst for the rotation of a Timoshenko beam under a
    moment: φ²/M = 2α², ω_i = iπα/2, so 2α² ω²/(3 · 40³ (πα/2)⁴) = 2e-6, of 0.025: 1e-4.
    """
    beam = round_beam(30.0, left, right, theory)
    w = np.array([1.0, 7.0, 19.0, 31.0])
    about = {"forces_at": {"f": 0.3}, "moments_at": {"m": 0.6}, "outputs_at": {"u": 0.45, "turn": (0.8, "slope")}}
    floats = beam.modes(2).rigid
    modal = beam.system(40, static_correction=not floats, **about).frequency_response(w, kind="output").values
    exact = beam.frequency_response(w, **about).values
    size = np.abs(exact).max()
    if floats:  # no static rest: a moment's slope converges like 1/n only, the deflection like 1/n³
        assert np.abs(modal - exact)[:, 0, 0].max() < 1e-5 * size
    else:
        assert np.abs(modal - exact).max() < (1e-4 if theory == "timoshenko" else 1e-6) * size


@pytest.mark.spec("003-C48")
def test_the_exact_harmonic_response_is_symmetric_and_static_at_zero():
    beam = Beam(2.0, EI=3.0, rhoA=5.0, left="clamped", right="free")
    one = beam.frequency_response([0.0, 5.0, 80.0], forces_at=[0.7], outputs_at=[1.9]).values
    other = beam.frequency_response([0.0, 5.0, 80.0], forces_at=[1.9], outputs_at=[0.7]).values
    assert one == pytest.approx(other, rel=1e-10)
    assert one[0, 0, 0].real == pytest.approx(0.7**2 * (3 * 1.9 - 0.7) / (6 * 3.0), rel=1e-12)


def test_the_exact_harmonic_response_peaks_as_a_loss_factor_says():
    beam = unit("clamped", "free")
    first = beam.frequencies(1)[0]
    loss = 0.02
    peak = beam.frequency_response([first], forces_at=[1.0], outputs_at=[1.0], loss_factor=loss).values[0, 0, 0]
    # first mode alone at its resonance: q²/(i η K) = 4/(i η β⁴); the rest is of the order of the static rest
    assert abs(peak) == pytest.approx(4.0 / (loss * first**2), rel=2e-4)


@pytest.mark.spec("003-C41", "003-C48")
def test_the_exact_harmonic_field_satisfies_the_equation_and_jumps_at_the_force():
    """D[u] = f as a whole: EI u″″ - ω²ρA u = 0 beside the force, u, φ, M continuous and F₊ - F₋ = -f across it."""
    beam = Beam(2.0, EI=3.0, rhoA=5.0, left="clamped", right="supported")
    w, at, step = 11.0, 0.7, 1e-9
    kinds = ("displacement", "slope", "moment", "shear force")
    places = {"before": at - step, "after": at + step}
    outputs = {f"{side} {what}": (z, what) for side, z in places.items() for what in kinds}
    values = beam.frequency_response([w], forces_at=[at], outputs_at=outputs).values[0, :, 0].real
    jump = values[4:] - values[:4]
    assert jump == pytest.approx([0.0, 0.0, 0.0, -1.0], abs=1e-7)
    for low, high in ((0.0, 0.7 - 1e-9), (0.7 + 1e-9, 2.0)):
        z = 0.5 * (low + high) + 0.5 * (high - low) * np.polynomial.chebyshev.chebpts1(30)
        shear = beam.frequency_response([w], forces_at=[at], outputs_at={f"{x:.9f}": (x, "shear force") for x in z})
        fit = np.polynomial.Chebyshev.fit(z, shear.values[0, :, 0].real, 29, domain=[low, high])
        inside = np.linspace(low + 0.1, high - 0.1, 5)
        u = beam.frequency_response([w], forces_at=[at], outputs_at=list(inside)).values[0, :, 0].real
        assert fit.deriv()(inside) == pytest.approx(-(w**2) * 5.0 * u, abs=1e-9 * w**2)  # F′ = ρA ü


@pytest.mark.spec("003-C48", "000-24")
def test_a_plucked_beam_swings_freely():
    """Released from the deflection under its own mode sum: u = Σ η_i cos ω_i t q_i."""
    beam = unit("supported", "supported")
    start = beam.modes(7, normalised="mass").coordinates(lambda z: z * (1.0 - z) * (1.0 + z - z**2) / 24.0)
    system = beam.system(7, outputs_at={"middle": 0.5})
    t = np.linspace(0.0, 1.0, 51)
    run = system.free_response({f"mode{i + 1}": value for i, value in enumerate(start)}, t)
    # the deflection under a uniform load: 4/(iπ)⁵ sin iπz for odd i
    odd = np.array([1, 3, 5, 7])[:, None]
    expected = (4.0 / (odd * np.pi) ** 5 * np.sin(odd * np.pi / 2) * np.cos((odd * np.pi) ** 2 * t)).sum(axis=0)
    assert run["middle"] == pytest.approx(expected, abs=1e-12)


@pytest.mark.spec("003-C49")
def test_base_motion_loads_the_modes_by_their_participation():
    """A cantilever on a base that moves harmonically: the exact field has u_abs(0) = x, which -m ẍ reproduces."""
    beam = unit("clamped", "free")
    w = 2.0
    system = beam.system(60, base=True, outputs_at={"tip": 1.0, "felt": (1.0, "absolute acceleration")})
    values = system.frequency_response([w], kind="output", inputs=["base"]).values[0, :, 0]
    b = math.sqrt(w)
    # u_abs = A cos + B sin + C cosh + D sinh with u_abs(0) = 1, u_abs′(0) = 0, free at 1
    s, c, sh, ch = math.sin(b), math.cos(b), math.sinh(b), math.cosh(b)
    rows = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [-c, -s, ch, sh], [s, -c, sh, ch]])
    tip = np.linalg.solve(rows, [1, 0, 0, 0]) @ [c, s, ch, sh]
    assert values[0] == pytest.approx((tip - 1.0) / -(w**2), rel=1e-6)  # relative deflection per base acceleration
    assert values[1] == pytest.approx(tip, rel=1e-5)


@pytest.mark.spec("000-25")
@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_assumed_modes_come_from_above_and_converge(left, right):
    exact = unit(left, right).frequencies(5)
    few, many = (
        assumed_modes(1.0, 1.0, 1.0, n, left=left, right=right).system.modes().frequencies[:5] for n in (8, 16)
    )
    noise = 1e-7 * exact.max()  # K has entries of 1e5 and more; its rounding stays in the lowest frequencies
    assert (few >= exact - noise).all()
    assert (many >= exact - noise).all()
    assert many == pytest.approx(exact, abs=noise)
    assert (few - exact).max() > 1e-4


@pytest.mark.spec("000-25")
def test_true_modes_as_assumed_functions_give_diagonal_matrices():
    found = unit("clamped", "free").modes(3)

    def trial(i):
        return Trial(lambda z: found.shape(z)[i], lambda z: found.slope(z)[i], lambda z: found.curvature(z)[i])

    system = assumed_modes(1.0, 1.0, 1.0, [trial(i) for i in range(3)]).system
    assert pytest.approx(0.25 * np.eye(3), abs=1e-13) == system.M
    assert pytest.approx(np.diag(found.modal_stiffnesses), abs=1e-9) == system.K
    powers = [
        Trial(lambda z, n=n: z**n, lambda z, n=n: n * z ** (n - 1), lambda z, n=n: n * (n - 1) * z ** (n - 2))
        for n in (2, 3)
    ]
    full = assumed_modes(1.0, 1.0, 1.0, powers).system
    assert pytest.approx(np.array([[1 / 5, 1 / 6], [1 / 6, 1 / 7]]), abs=1e-14) == full.M
    assert pytest.approx(np.array([[4.0, 6.0], [6.0, 12.0]]), abs=1e-13) == full.K


@pytest.mark.spec("000-25")
@pytest.mark.parametrize(
    ("speed", "printed"),
    [(0, (3.5160, 22.0345)), (2, (4.1373, 22.6149)), (6, (7.3604, 26.8091)), (12, (13.1702, 37.6031))],
)
def test_rotating_cantilever_by_assumed_modes(speed, printed):
    # flapwise frequencies over γ = Ω √(ρA l⁴/EI), hub radius 0, as published (four decimals)
    blade = assumed_modes(1.0, 1.0, 1.0, 12, tension=lambda z: speed**2 * (1 - z**2) / 2)
    assert blade.system.modes().frequencies[:2] == pytest.approx(printed, abs=5.1e-5)


def test_a_wedge_by_assumed_modes():
    # Kirchhoff's wedge, EI ∝ z³, ρA ∝ z from the tip: ω = 5.315 √(EI₀/ρA₀)/l² (J₁I₂ + I₁J₂ = 0)
    first = brentq(lambda x: jv(1, x) * iv(2, x) + iv(1, x) * jv(2, x), 4.0, 5.5)
    wedge = assumed_modes(1.0, lambda z: (1 - z) ** 3, lambda z: 1 - z, 14)
    assert wedge.system.modes().frequencies[0] == pytest.approx((first / 2) ** 2, rel=1e-6)
