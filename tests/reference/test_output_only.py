"""Output-only modes of a chain of eight masses, whose modes are known in closed form, under white forces.

f_j = 20 sin((2j - 1)π/34) Hz and φ_j(k) = sin((2j - 1)kπ/17) of a fixed-free chain; damping ratios 1 %.

A pole of an autoregressive process has the standard deviations √(ζ f/(2πT)) of f and √(ζ/(2πfT)) of ζ at best, over a
time T. The scatter of 12 simulated records is 1.2 to 2.4 times that for EFDD.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.linear import Modes
from tests.helpers.ambient_chain import DT, MASSES, ambient, truth

J = np.arange(1, 9)
HERTZ = 20.0 * np.sin((2 * J - 1) * np.pi / 34.0)
SHAPES = np.sin(np.outer(J, 2 * J - 1) * np.pi / 17.0)
ZETA = 0.01
SINES = {3.1: 3.0, 6.2: 3.0, 9.3: 3.0}
SETUPS = (("m3", "m8", "m1", "m2"), ("m3", "m8", "m4", "m5"), ("m3", "m8", "m6", "m7"))


@cache
def record(machine: bool = False) -> da.Record:
    """1200 s, with or without a machine on mass 3."""
    return ambient(76_800, seed=1 if machine else 3, sines=SINES if machine else None)


def bounds(duration: float) -> tuple[Any, Any]:
    """Least standard deviations of frequencies and damping ratios."""
    return np.sqrt(ZETA * HERTZ / (2.0 * np.pi * duration)), np.sqrt(ZETA / (2.0 * np.pi * HERTZ * duration))


def exact(outputs: tuple[str, ...]) -> Modes:
    return Modes(2j * np.pi * HERTZ, SHAPES[[MASSES.index(name) for name in outputs]], outputs)


def test_the_chain_has_the_modes_of_the_closed_form() -> None:
    assert truth().frequencies_hz == pytest.approx(HERTZ, rel=1e-9)
    assert np.diagonal(truth().mac(exact(MASSES))) == pytest.approx(1.0, abs=1e-9)


def test_fdd_finds_all_modes_to_a_line_of_its_spectrum_and_their_shapes() -> None:
    found = da.identify.fdd(record())
    assert len(found.modes) == 8
    line = float(found.frequencies[1]) / (2.0 * np.pi)
    # the highest of the lines across a peak, whose density scatters by 20 %: those within 20 % of the top reach to half
    # of the half width ζ f
    assert (np.abs(found.frequencies_hz - HERTZ) < line + 0.6 * ZETA * HERTZ).all()
    # noise of the sensors and of 23 averages is 1e-4 of the power at a peak, neighbouring modes up to 1e-2
    assert np.diagonal(found.modes.mac(exact(MASSES))) == pytest.approx(1.0, abs=0.01)


def test_efdd_finds_frequencies_and_damping_within_its_deviations() -> None:
    found = da.identify.efdd(record())
    assert len(found.modes) == 8
    best_f, best_z = bounds(76_800 * DT)
    # four times the scatter of EFDD, 2.5 times the bound
    assert (np.abs(found.frequencies_hz - HERTZ) < 4.0 * 2.5 * best_f).all()
    assert (np.abs(found.damping_ratios - ZETA) < 4.0 * 2.5 * best_z).all()
    # deviations from ten parts are known to 1/√18 = 24 %: between half and four times the bound
    assert (found.frequency_deviations_hz > 0.5 * best_f).all() and (found.frequency_deviations_hz < 4.5 * best_f).all()
    assert (found.damping_deviations > 0.5 * best_z).all() and (found.damping_deviations < 4.5 * best_z).all()
    assert np.diagonal(found.modes.mac(exact(MASSES))) == pytest.approx(1.0, abs=1e-3)


def test_efdd_names_three_harmonics_and_keep_the_modes() -> None:
    found = da.identify.efdd.quiet(record(True))
    assert [one.multiple for one in found.machines.values()] == [1, 2, 3]
    named = [one.frequency_hz for one in found.machines.values()]
    # the sine is within half a line, 0.005 Hz
    assert named == pytest.approx(list(SINES), abs=0.006)
    assert [one.code for one in found.findings] == ["machine-harmonic"] * 3
    best_f, _ = bounds(76_800 * DT)
    kept = found.structural_modes
    assert (np.abs(kept.frequencies_hz - HERTZ) < 4.0 * 2.5 * best_f).all()
    # the third harmonic stands 0.4 Hz beside the third mode, whose bell ends before it
    assert np.diagonal(kept.mac(exact(MASSES))) == pytest.approx(1.0, abs=2e-3)


def test_ssi_names_three_harmonics() -> None:
    found = da.identify.ssi_data.quiet(record(True), order=30)
    named = [one.evidence["hertz"] for one in found.findings if one.code == "machine-harmonic"]
    assert named == pytest.approx(list(SINES), rel=1e-3)


@pytest.mark.slow
def test_auto_takes_three_harmonics_out_and_finds_eight_sound_modes() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", da.identify.IdentificationWarning)
        found = da.identify.auto(record(True))
    assert sum(one.code == "machine-harmonic" for one in found.findings) == 3
    best_f, best_z = bounds(800.0)  # two thirds of the record
    sound = found.sound_modes
    # maximum likelihood reaches the bound, and the truth is within four of it
    assert (np.abs(sound.frequencies_hz - HERTZ) < 4.0 * best_f).all()
    assert (np.abs(sound.damping_ratios - ZETA) < 4.0 * best_z).all()
    assert any("steady sines" in step for step in found.decisions)


def setups(levels: tuple[float, ...] = (1.0, 5.0, 0.3), samples: int = 38_400, **options: Any) -> list[da.Record]:
    """Three set-ups with two references, under forces of other levels."""
    return [
        ambient(samples, seed=10 + j, level=level, **options).select(*names)
        for j, (names, level) in enumerate(zip(SETUPS, levels))
    ]


@pytest.mark.parametrize("method", ["poser", "preger"])
def test_three_set_ups_of_other_levels_give_the_shapes_at_all_sensors(method: str) -> None:
    merged = da.identify.merge_setups.quiet(setups(), method=method)
    assert merged.outputs == ("m3", "m8", "m1", "m2", "m4", "m5", "m6", "m7")
    # the eighth mode hardly moves the sensors of the third set-up
    assert len(merged.modes) >= 7
    mac = merged.modes.mac(exact(merged.outputs))
    partner = np.argmax(mac, axis=1)
    assert partner.tolist() == list(range(len(partner)))
    # shapes by subspace methods from 600 s are within 1 % of their largest component, squared; PreGER divides by the
    # covariances of two references, which are known less: 3 %
    assert mac.max(axis=1) == pytest.approx(1.0, abs=3e-3)
    best_f, best_z = (one[partner] for one in bounds(600.0))
    # one set-up of 600 s has the bound; subspace methods reach it to a factor of 1.5, covariances with few references
    # to a factor of 3; four times that
    factor = 4.0 * (1.5 if method == "poser" else 3.0)
    assert (np.abs(merged.frequencies_hz - HERTZ[partner]) < factor * best_f).all()
    assert (np.abs(merged.damping_ratios - ZETA) < factor * best_z).all()


def test_a_harmonic_in_one_set_up_is_named_in_the_merged_modes() -> None:
    records = [ambient(38_400, seed=10 + j, sines={6.9: 5.0}).select(*names) for j, names in enumerate(SETUPS)]
    merged = da.identify.merge_setups.quiet(records, method="preger")
    for number, one in merged.machines.items():
        assert one.frequency_hz == pytest.approx(6.9, rel=1e-3)
        assert merged.frequencies_hz[number] == pytest.approx(6.9, rel=1e-3)
    kept = merged.structural_modes
    assert len(kept) >= 7
    mac = kept.mac(exact(merged.outputs)).max(axis=1)
    assert (mac > 0.98).all()


def test_references_at_a_node_are_a_finding() -> None:
    # mass 6 of the third mode: sin(5 · 6 π/17) = -0.67, mass 7: 0.18; of the second mode, sin(3 · 6 π/17) = -0.18
    names = (("m6", "m1", "m2", "m3"), ("m6", "m4", "m5", "m7"))
    records = [ambient(38_400, seed=20 + j).select(*own) for j, own in enumerate(names)]
    merged = da.identify.merge_setups.quiet(records)
    at = {round(one.evidence["hertz"], 1) for one in merged.findings if one.code == "node"}
    expected = {
        round(f, 1) for f, shape in zip(HERTZ, SHAPES.T)
        if any(abs(shape[5]) < 0.09 * np.sqrt(np.mean(shape[[MASSES.index(n) for n in own]] ** 2)) for own in names)
    }  # fmt: skip
    assert expected <= at
