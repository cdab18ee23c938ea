"""Poly-reference modes of simulated responses: exact data, close and repeated modes, noise, wrong input."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DataError
from dalembert.files import write_frequency_response
from dalembert.linear.responses.frequency_response import FrequencyResponse
from tests.helpers.commands import document
from tests.helpers.findings import raises
from tests.helpers.storey_frame import FLOORS, played, sampled_frame, storey_frame, white

W = 2 * np.pi * np.linspace(0.2, 20.0, 400)
MOTION = {"receptance": 0, "mobility": 1, "accelerance": 2}


def responses(
    hertz: tuple[float, ...], damping: tuple[float, ...], *, outputs: int = 4, inputs: int = 2, w: np.ndarray = W,
    kind: str = "receptance", noise: float = 0.0, seed: int = 0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, FrequencyResponse]:  # fmt: skip
    """Poles, shapes (ny, k), participation (k, nu) and responses of modes; noise of the rms of all responses."""
    random = np.random.default_rng(5)
    wn, zeta = 2 * np.pi * np.array(hertz), np.array(damping)
    phi, part = random.normal(size=(outputs, len(wn))), random.normal(size=(len(wn), inputs))
    s = wn * (-zeta + 1j * np.sqrt(1 - zeta**2))
    gain = 1.0 / (wn**2 - w[:, None] ** 2 + 2j * zeta * wn * w[:, None])
    H = (1j * w[:, None, None]) ** MOTION[kind] * np.einsum("ok,fk,kj->foj", phi, gain, part)
    random = np.random.default_rng(100 + seed)
    H = H + noise * np.sqrt(np.mean(np.abs(H) ** 2) / 2) * (random.normal(size=(2, *H.shape)).T @ [1, 1j]).T
    return s, phi, part, FrequencyResponse(w, H, kind=kind)


def mac(a: np.ndarray, b: np.ndarray) -> float:
    return float(abs(np.vdot(a, b)) ** 2 / (np.vdot(a, a) * np.vdot(b, b)).real)


@pytest.mark.parametrize("kind", ["receptance", "mobility", "accelerance"])
@pytest.mark.parametrize(("outputs", "inputs"), [(1, 1), (4, 1), (4, 2), (2, 4)])
def test_exact_responses_give_their_poles_shapes_and_participations(kind: str, outputs: int, inputs: int) -> None:
    s, phi, part, exact = responses((3.0, 7.0, 7.3, 14.0), (0.01, 0.02, 0.015, 0.01), outputs=outputs, inputs=inputs,
                                    kind=kind)  # fmt: skip
    fit = da.identify.plscf(exact)
    assert fit.modes.eigenvalues == pytest.approx(s, rel=1e-9)
    for k in range(4):
        # residue of 1/(w_n² - w² + ...) at s is 1/(2i w_d), times s for every derivative of the motion
        residue = np.outer(fit.shapes[:, k], fit.participation[k])
        expected = np.outer(phi[:, k], part[k]) * s[k] ** MOTION[kind] / (2j * s[k].imag)
        assert np.abs(residue - expected).max() <= 1e-8 * np.abs(expected).max()
    assert np.abs(fit.response(W).values - exact.values).max() <= 1e-10 * np.abs(exact.values).max()


def test_lines_may_be_uneven_and_cover_a_band_between_other_modes() -> None:
    uneven = np.sort(np.random.default_rng(1).uniform(W[0], W[-1], 500))
    s, _, _, exact = responses((3.0, 7.0, 7.3, 14.0), (0.01, 0.02, 0.015, 0.01), w=uneven)
    assert da.identify.plscf(exact).modes.eigenvalues == pytest.approx(s, rel=1e-9)
    inner = da.identify.plscf(exact, band_hz=(5.0, 10.0))
    # modes at 3 and 14 Hz are residual terms, to the fourth power of the ratio of frequencies
    assert inner.modes.eigenvalues == pytest.approx(s[1:3], rel=1e-5)
    hertz = inner.measured.frequencies_hz[inner.lines]
    assert hertz.min() >= 5.0 and hertz.max() <= 10.0


def test_repeated_modes_have_as_many_shapes_as_inputs_show() -> None:
    s, phi, _, exact = responses((3.0, 7.0, 7.0, 14.0), (0.01, 0.02, 0.02, 0.01))
    fit = da.identify.plscf(exact)
    assert fit.modes.eigenvalues == pytest.approx(s, rel=1e-9)
    pair = fit.shapes[:, 1:3]
    assert np.linalg.svd(pair / np.linalg.norm(pair, axis=0), compute_uv=False)[1] > 0.1
    share = np.linalg.lstsq(pair, phi[:, 1:3].astype(complex), rcond=None)[0]
    assert np.abs(pair @ share - phi[:, 1:3]).max() < 1e-8
    # one input drives one combination of them
    single = da.identify.plscf(responses((3.0, 7.0, 7.0, 14.0), (0.01, 0.02, 0.02, 0.01), inputs=1)[3])
    assert single.modes.eigenvalues == pytest.approx(s[[0, 1, 3]], rel=1e-9)


def test_the_diagram_has_the_labels_of_the_subspace_methods() -> None:
    exact = responses((3.0, 7.0), (0.01, 0.02), noise=0.01)[3]
    drawn = da.identify.plscf(exact).stabilization
    assert drawn.label_names[3] == "stable" and drawn.method == "plscf"
    assert set(drawn.orders % 2) == {0}
    for mode, hertz in ((1, 3.0), (2, 7.0)):
        column = drawn.frequencies_hz[drawn.clusters == mode]
        assert len(column) > 8
        assert column == pytest.approx(hertz, rel=2e-3)


def test_deviations_are_those_of_the_noise() -> None:
    # 30 tests of 2 modes: the normalised squares of 2 x 2 x 30 errors have mean 1 and deviation √(2/120) = 0.13;
    # errors of frequency and damping of one mode are nearly independent
    squares = []
    for seed in range(30):
        s, _, _, noisy = responses((3.0, 7.0), (0.01, 0.02), noise=0.02, seed=seed, outputs=2)
        size = np.sqrt(np.mean(np.abs(responses((3.0, 7.0), (0.01, 0.02), outputs=2)[3].values) ** 2) / 2)
        fit = da.identify.plscf(measured(noisy, 0.02 * size), order=12)
        for k in range(2):
            at = int(np.argmin(np.abs(fit.modes.eigenvalues - s[k])))
            errors = fit.frequencies_hz[at] - abs(s[k]) / 2 / np.pi, fit.damping_ratios[at] + s[k].real / abs(s[k])
            squares += [
                (errors[0] / fit.frequency_deviations_hz[at]) ** 2, (errors[1] / fit.damping_deviations[at]) ** 2
            ]  # fmt: skip
    assert np.mean(squares) == pytest.approx(1.0, abs=4 * 0.13)


def measured(response: FrequencyResponse, deviation: float) -> da.identify.FrfEstimate:
    nf, ny, nu = response.values.shape
    coherence = da.identify.Coherence(
        frequencies=response.frequencies, ordinary=np.ones((nf, ny, nu)), multiple=np.ones((nf, ny)),
        inputs=response.inputs, outputs=response.outputs,
    )  # fmt: skip
    return da.identify.FrfEstimate(
        response=response, coherence=coherence, deviations=np.full((nf, ny, nu), deviation), method="H1", blocks=9,
        averages=9.0, findings=(), provenance={},
    )  # fmt: skip


def test_it_agrees_with_the_other_methods_on_a_measured_frame() -> None:
    record = played(sampled_frame(), white(16_384, seed=3), noise=0.01, seed=3)
    true = storey_frame().modes()
    fit = da.identify.plscf(da.identify.frf(record, "force", segment=1024), band_hz=(0.5, 12.0))
    subspace = da.identify.n4sid(record, "force", order=6)
    era = da.identify.okid_era(record, "force", order=6)
    assert fit.frequencies_hz == pytest.approx(true.frequencies_hz, rel=5e-3)
    for other in (subspace, era):
        assert fit.frequencies_hz == pytest.approx(other.frequencies_hz, rel=5e-3)
        for k in range(3):
            assert mac(fit.shapes[:, k], other.underdamped_modes().shapes[:, k]) > 0.995
    assert fit.outputs == tuple(FLOORS) and fit.frequency_deviations_hz is not None


def test_the_command_reads_universal_files_and_records(tmp_path: Path) -> None:
    s, _, _, noisy = responses((3.0, 7.0), (0.01, 0.02), noise=1e-3)
    units = dict.fromkeys(noisy.outputs, "m"), dict.fromkeys(noisy.inputs, "N")
    named = FrequencyResponse(W, noisy.values, noisy.inputs, noisy.outputs, output_units=units[0], input_units=units[1])
    write_frequency_response(named, tmp_path / "test.uff")
    page, out = tmp_path / "page.html", tmp_path / "modes.json"
    told = document("identify", tmp_path / "test.uff", "--method", "plscf", "--report", page, "--out", out)
    assert [mode["frequency_hz"] for mode in told["modes"]] == pytest.approx(np.abs(s) / 2 / np.pi, rel=1e-3)
    assert len(told["inputs"]) == 2 and len(told["outputs"]) == 4
    assert json.loads(out.read_text("utf-8"))["modes"] == told["modes"]
    text = page.read_text("utf-8")
    assert "poly-reference" in text and "stable in frequency" in text  # the diagram of the workbench
    record = played(sampled_frame(), white(4096, seed=3), noise=0.01, seed=3)
    da.write_record(record, tmp_path / "frame.csv")
    told = document("identify", tmp_path / "frame.csv", "--inputs", "force", "--method", "plscf")
    assert told["modes"][0]["frequency_hz"] == pytest.approx(2.001, rel=0.02)


def test_mistakes_have_their_codes() -> None:
    exact = responses((3.0, 7.0), (0.01, 0.02))[3]
    with raises(DataError, "too-few-samples"):
        da.identify.plscf(exact, orders=[600])
    with raises(DataError, "out-of-range"):
        da.identify.plscf(exact, band_hz=(5.0, 3.0))
    with raises(DataError, "wrong-type"):
        da.identify.plscf(exact.values)
    silent = FrequencyResponse(W, np.concatenate([exact.values, 0 * exact.values[:, :1]], axis=1))
    with raises(DataError, "zero"):
        da.identify.plscf(silent)
    with pytest.warns(da.identify.IdentificationWarning) as caught:
        random = np.random.default_rng(0)
        noise = FrequencyResponse(W, random.normal(size=(400, 2, 1)) + 1j * random.normal(size=(400, 2, 1)))
        nothing = da.identify.plscf(noise)
    assert [warning.message.code for warning in caught] == ["no-peak"]  # type: ignore[union-attr]
    assert len(nothing.modes) == 0 and "no modes" in repr(nothing)
