"""Damping from bells: decays, corrections, deviations."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.identify import efdd
from dalembert.identify.output_only.decomposition import SpectralPeak, decompose
from dalembert.identify.output_only.efdd import centre, correct_cut, measure_decay
from dalembert.identify.records.data import read_data
from tests.helpers.ambient_chain import DT, ambient
from tests.helpers.findings import raises

PLAN = decompose(read_data.quiet(ambient(20_000).select("m8")), 4096).plan


def bell(f: float, zeta: float, peak: SpectralPeak) -> np.ndarray:
    hertz = np.arange(peak.first, peak.last + 1) / (PLAN.length * DT)
    return np.asarray(1.0 / ((hertz - f * np.sqrt(1.0 - zeta**2)) ** 2 + (zeta * f) ** 2))


@pytest.mark.parametrize("zeta", [0.003, 0.01, 0.05])
def test_an_exact_bell_gives_its_frequency_and_damping(zeta: float) -> None:
    f = 8.0
    line = round(f * PLAN.length * DT)
    peak = SpectralPeak(line, 0, 2, 2 * line - 2)  # all but the ends: 100 half widths at least
    found = measure_decay(bell(f, zeta, peak), peak, PLAN, DT, leaked=False)
    # what is cut off is of the order of a half width over the width of the domain, below 5 % here
    assert found.hertz == pytest.approx(f, rel=2e-3)
    assert found.damping == pytest.approx(zeta, rel=0.05)
    assert found.left < 0.5


def test_a_heavily_damped_bell_gives_its_natural_frequency_and_not_the_damped_one() -> None:
    f, zeta = 8.0, 0.2
    peak = SpectralPeak(round(f * PLAN.length * DT), 0, 0, PLAN.length // 2)  # up to 32 Hz, 15 half widths
    found = measure_decay(bell(f, zeta, peak), peak, PLAN, DT, leaked=False)
    # the lines cut off leave 0.8 %; to first order in ζ both numbers would be 2 % off, 1 - √(1 - ζ²)
    assert found.hertz == pytest.approx(f, rel=0.01)
    assert found.damping == pytest.approx(zeta, rel=0.01)


@pytest.mark.parametrize("lines", [15, 26, 40])
def test_a_bell_cut_on_both_sides_is_corrected(lines: int) -> None:
    f, zeta = 8.0, 0.01
    line = round(f * PLAN.length * DT)
    peak = SpectralPeak(line, 0, line - lines, line + lines)  # 0.23 to 0.6 Hz to each side: three to eight half widths
    measured = measure_decay(bell(f, zeta, peak), peak, PLAN, DT, leaked=False)
    # every round leaves less than a third of the error, 20 % at most, and there are five
    exact, growth = correct_cut(measured, peak, PLAN, DT)
    assert exact == pytest.approx([f, zeta], rel=0.002)
    assert 0.5 < growth < 5.0


def test_a_domain_is_centred_on_the_mode() -> None:
    assert centre(SpectralPeak(50, 0, 40, 90), 52) == SpectralPeak(50, 0, 40, 64)
    assert centre(SpectralPeak(50, 0, 48, 90), 49) == SpectralPeak(50, 0, 48, 52)  # three lines at least


def test_too_few_blocks_give_no_deviations_and_lines_too_wide_a_finding() -> None:
    record = ambient(76_800, damping=0.001)
    found = efdd.quiet(record, frequencies_hz=[1.845], segment=512)  # lines 0.125 Hz apart, mode 0.004 Hz wide
    assert "coarse-lines" in [one.code for one in found.findings]
    short = efdd.quiet(ambient(8000), frequencies_hz=[5.47], segment=2000)  # 7 blocks
    assert short.frequency_deviations_hz is None and short.damping_deviations is None
    assert short.damping_ratios is not None


def test_outputs_that_were_read_with_inputs_are_refused() -> None:
    data = read_data.quiet(ambient(8000), "m1")
    with raises(DataError, "conflicting-arguments"):
        efdd(data)
