"""Spectra of measured and simulated strains of a two-link arm, compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.structures import BeamGauge, Frame, Material, Section, flexible_body
from tests.helpers.findings import raises

# Arm of spring steel (Scaglioni 2016, section 3.2): free lengths [m] that have the published frequencies, motor of the
# second joint at the tip of the first link, payload of 400 g; with its joints held stretched it vibrates at 1.99 Hz.
LENGTHS, MOTOR, PAYLOAD, RESONANCE = (0.440, 0.378), 0.5885, 0.4, 1.99
STEEL = Material("spring steel", E=200e9, density=7800.0)
SECTION = Section.rectangle(0.004, 0.015)


def link(length: float, modes: int, damping: float) -> Any:
    frame = Frame("link", planar=True)
    frame.add_points(["root", "tip"], [[0.0, 0.0], [length, 0.0]])
    frame.add_beam("rod", "root", "tip", section=SECTION, material=STEEL, elements=10)
    gauges = {"gauge": BeamGauge(beam="rod", x=0.046, y=0.002)}
    return flexible_body(frame, basis="clamped", fixed="root", modes=modes, damping=damping, static=["tip.y", "tip.rz"],
                         gauges=gauges)  # fmt: skip


# The shoulder stops at once from 0.3 rad/s: the impulsive work of its driver, 1e-3 of the energy whatever the step, is
# in no balance.
STOPS_AT_ONCE = "ignore:the energy of the run of 'two-link arm':dalembert.core.errors.SimulationWarning"


def strain_run(modes: int, damping: float, until: float = 20.5, step: float = 1e-3, load: float = PAYLOAD) -> da.Record:
    """The arm is lifted by 0.05 rad in half a second, its joints follow exactly; then it vibrates."""
    m = da.Mechanism("two-link arm", planar=True)
    first = m.add_flexible_body("first", link(LENGTHS[0], modes, damping))
    motor = m.add_body("motor", mass=MOTOR, inertia=1e-5, position=(LENGTHS[0], 0.0))
    second = m.add_flexible_body("second", link(LENGTHS[1], modes, damping), position=(LENGTHS[0], 0.0))
    payload = m.add_body("load", mass=load, inertia=1e-5, position=(sum(LENGTHS), 0.0))
    m.add_revolute("shoulder", m.ground.at(0.0, 0.0), first.at("root"))
    m.add_fixed("seat", first.at("tip"), motor.at(0.0, 0.0))
    m.add_revolute("elbow", motor.at(0.0, 0.0), second.at("root"))
    m.add_fixed("grip", second.at("tip"), payload.at(0.0, 0.0))
    m.add_driver("shoulder motor", "shoulder.angle", lambda t: 0.05 * da.math.minimum(t / 0.5, 1.0) ** 3)
    m.add_driver("elbow motor", "elbow.angle", 0.0)
    m.add_sensor("strain", da.strain(first, "gauge"))
    eqs = da.equations(m)
    start = da.assemble(eqs, elastic="static")
    method = da.GeneralizedAlpha(step=step, rho=0.8)
    return da.simulate(eqs, until, start=start, method=method, every=0.01, progress=False)


@pytest.mark.spec("001-C33")
@pytest.mark.filterwarnings(STOPS_AT_ONCE)
def test_normalised_magnitudes_compare_strains_of_any_size_and_show_the_resonance_of_the_payload() -> None:
    """A gauge of unknown gain and offset with noise: bins of 0.1 Hz place the parabola's maximum to 0.02 Hz. Noise of
    1e-6 has 1e-6 √(6/N) in a bin of N = 1000 samples, beside 1e-4: 1e-3 of the peak, the largest of 200 thrice that.
    """
    simulated, light = (strain_run(2, 0.005, until=10.5, step=5e-3, load=load) for load in (PAYLOAD, PAYLOAD / 4))
    noise = 1e-6 * np.random.default_rng(1).normal(size=len(simulated))
    both = da.Record.from_channels(
        simulated.time,
        {"measured": -370.0 * (simulated["strain"] + noise) + 0.8, "simulated": simulated["strain"],
         "light": light["strain"]},
    ).between(0.5)  # fmt: skip
    found = da.identify.spectra(both, segment="record")
    hertz = found.frequencies_hz
    band = (hertz > 0.5) & (hertz < 20.0)
    magnitude = {name: found.magnitude(name, 0.5, 20.0) for name in found.names}
    with raises(da.errors.DataError, "empty"):
        found.magnitude("light", 60.0)
    peaks = {}
    for name, value in magnitude.items():
        assert value[band].max() == 1.0
        k = int(np.argmax(np.where(band, value, 0.0)))
        left, top, right = np.log(value[k - 1 : k + 2])
        peaks[name] = hertz[k] + (hertz[1] - hertz[0]) * 0.5 * (left - right) / (left - 2 * top + right)
    assert peaks["measured"] == pytest.approx(RESONANCE, abs=0.02)
    assert peaks["simulated"] == pytest.approx(peaks["measured"], abs=1e-4)
    assert peaks["light"] > 1.1 * RESONANCE
    assert np.abs(magnitude["measured"] - magnitude["simulated"])[band].max() < 4e-3


@pytest.mark.spec("001-C33")
@pytest.mark.filterwarnings(STOPS_AT_ONCE)
@pytest.mark.slow
def test_measured_and_simulated_strain_have_the_same_spectrum_with_the_known_resonance() -> None:
    """The measurement has more modes, noise of 5 µm/m and an offset; normalised amplitudes of both agree.

    One block of 20 s and a Hann window: bins of 0.05 Hz, so that the maximum of the parabola through the three highest
    logarithms is within 0.01 Hz of the frequency. Noise of σ = 5e-6 has σ √(6/N) = 2.7e-7 in a bin of N = 2000 samples,
    beside a decaying wave of 2e-4 to 1e-4: 2e-3 of the peak, and its largest of 400 bins three times that.
    """
    simulated, finer = strain_run(2, 0.005), strain_run(5, 0.005)
    noise = 5e-6 * np.random.default_rng(1).normal(size=len(finer))
    both = da.Record.from_channels(
        simulated.time, {"measured": finer["strain"] + noise + 2e-5, "simulated": simulated["strain"]}
    ).between(0.5)
    found = da.identify.spectra(both, segment="record")
    hertz = found.frequencies_hz
    band = (hertz > 0.5) & (hertz < 20.0)
    amplitude = {name: found.magnitude(name, 0.5, 20.0) for name in found.names}
    for name in found.names:
        k = int(np.argmax(np.where(band, found.psd(name), 0.0)))
        left, top, right = np.log(found.psd(name)[k - 1 : k + 2])
        peak = hertz[k] + (hertz[1] - hertz[0]) * 0.5 * (left - right) / (left - 2 * top + right)
        assert peak == pytest.approx(RESONANCE, rel=0.01), name
    assert np.abs(amplitude["measured"] - amplitude["simulated"])[band].max() < 0.01
    second = band & (hertz > 8.0)
    one, other = (hertz[second][np.argmax(amplitude[name][second])] for name in found.names)
    assert one == other and 11.0 < one < 12.2  # published 12.1 Hz, with clamped modes alone
    figure = da.plot(both, view="spectrum", highest=20.0)
    assert len(figure.axes[0].lines) == 2
