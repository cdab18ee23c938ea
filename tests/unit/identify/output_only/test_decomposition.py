"""Peaks of singular values and the lines that belong to them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from dalembert.core.errors import DataError
from dalembert.identify.output_only.decomposition import (
    decompose,
    find_peaks,
    mark_domains,
    scale_units,
    split_matrices,
)
from dalembert.identify.records.data import read_data
from dalembert.record import Record
from tests.helpers.ambient_chain import ambient, truth


def test_singular_vectors_are_shapes_and_not_their_conjugates() -> None:
    shape = np.array([1.0, 0.5j, -0.3 + 0.2j])
    density = 3.0 * np.outer(shape.conj(), shape)[None]  # S_ab = conj(φ_a) φ_b |q|²
    values, vectors = split_matrices(density)
    size = float(np.vdot(shape, shape).real)
    assert values[0] == pytest.approx([3.0 * size, 0.0, 0.0], abs=1e-12)
    assert abs(np.vdot(vectors[0, :, 0], shape)) ** 2 / size == pytest.approx(1.0)


def test_white_noise_has_no_peaks() -> None:
    # 20 records of 1000 lines each: a peak by chance must be rarer than 1 in 20 000 lines
    rng = np.random.default_rng(5)
    for _ in range(20):
        noise = Record(0.01 * np.arange(25_000), rng.normal(size=(25_000, 3)), ["a", "b", "c"])
        assert find_peaks(decompose(read_data.quiet(noise), None)) == []


def test_a_modal_domain_ends_in_the_valley_before_the_next_peak() -> None:
    found = decompose(read_data.quiet(ambient(38_400)), None)
    lines = [round(f / found.resolution) for f in truth().frequencies_hz]
    peaks = mark_domains(found, [(line, 0) for line in lines])
    for left, right in pairwise(peaks):
        assert left.line < left.last <= right.first < right.line
    assert all(peak.first <= peak.line <= peak.last for peak in peaks)


def test_channels_of_several_units_are_scaled_by_unit() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=(1000, 3)) * [1.0, 3.0, 1e-6]
    data = read_data.quiet(Record(0.01 * np.arange(1000), y, ["a", "b", "e"], {"a": "m/s²", "b": "m/s²", "e": "1"}))
    scales = scale_units(data)
    assert scales[0] == scales[1] == pytest.approx(np.sqrt(np.mean(y[:, :2].var(axis=0))))
    assert scales[2] == pytest.approx(y[:, 2].std())


def test_blocks_of_63_samples_are_refused_and_of_64_are_not() -> None:
    record = Record(0.01 * np.arange(2000), np.random.default_rng(0).normal(size=(2000, 1)), ["a"])
    assert decompose(read_data.quiet(record), 64).plan.length == 64
    with pytest.raises(DataError) as error:
        decompose(read_data.quiet(record), 63)
    assert error.value.finding.code == "too-few-samples"
    assert 64 == 64
