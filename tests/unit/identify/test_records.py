"""Every method that eats records refuses or warns of bad data by name: never a silent nonsense model."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from dalembert import identify
from dalembert.identify import IdentificationWarning
from dalembert.record import Record
from tests.helpers.findings import warns

N = 800
DT = 0.02
OUTPUTS = ["a1", "a2"]

WITH_INPUTS = {
    "auto": lambda r: identify.auto(r, "force", OUTPUTS),
    "coherence": lambda r: identify.coherence(r, "force", OUTPUTS),
    "cva": lambda r: identify.cva(r, "force", OUTPUTS, order=4),
    "frf": lambda r: identify.frf(r, "force", OUTPUTS),
    "markov": lambda r: identify.markov(r, 20, "force", OUTPUTS, memory=120),
    "moesp": lambda r: identify.moesp(r, "force", OUTPUTS, order=4),
    "n4sid": lambda r: identify.n4sid(r, "force", OUTPUTS, order=4),
    "okid_era": lambda r: identify.okid_era(r, "force", OUTPUTS, order=4),
    "stabilization": lambda r: identify.stabilization(r, "force", OUTPUTS, orders=range(2, 9, 2)),
}
OUTPUT_ONLY = {
    "next_era": lambda r: identify.next_era(r, OUTPUTS, order=4),
    "spectra": lambda r: identify.spectra(r, OUTPUTS),
    "ssi_cov": lambda r: identify.ssi_cov(r, OUTPUTS, order=4),
    "ssi_data": lambda r: identify.ssi_data(r, OUTPUTS, order=4),
}
METHODS = WITH_INPUTS | OUTPUT_ONLY
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


def good():
    rng = np.random.default_rng(0)
    force = rng.normal(size=N)
    k = np.arange(150)
    h1 = 0.93**k * np.sin(0.5 * k)
    h2 = 0.95**k * np.sin(1.3 * k)
    y = [np.convolve(force, h)[:N] + 0.02 * rng.normal(size=N) for h in (h1 + 0.4 * h2, 0.7 * h1 - h2)]
    channels = {"force": force, "a1": y[0], "a2": y[1]}
    return Record.from_channels(DT * np.arange(N), channels, {"force": "N", "a1": "m/s^2", "a2": "m/s^2"})


def changed(**columns):
    record = good()
    channels = {name: columns.get(name, record[name]) for name in record.names}
    return Record.from_channels(record.time, channels, record.units)


@every_method
def test_a_saturated_output_is_warned_of_by_name(method):
    with warns(IdentificationWarning, "saturated-channel", "'a1'"):
        method(changed(a1=np.clip(good()["a1"], -0.7, 0.7)))


@every_method
def test_wrong_units_are_suspected_by_name(method):
    with warns(IdentificationWarning, "suspect-units", "'a1'"):
        method(changed(a1=1e8 * good()["a1"]))


@every_method
def test_good_data_pass_without_a_warning_about_them(method):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        method(good())
    assert [str(w.message) for w in caught] == []


@pytest.mark.parametrize("name", ["n4sid", "moesp", "cva"])
def test_more_outputs_than_the_order_allows_are_warned_of(name):
    rng = np.random.default_rng(1)
    record = Record(DT * np.arange(N), rng.normal(size=(N, 6)), ["u", *"abcde"])
    with pytest.warns(IdentificationWarning) as caught:
        getattr(identify, name)(record, "u", order=2)
    found = {one.message.code: str(one.message) for one in caught}
    assert "5 outputs" in found["more-outputs-than-order"] and "100 %" in found["poor-simulation"]


def test_markov_parameters_go_into_era():
    found = identify.markov(good(), 100, "force", OUTPUTS, memory=150)
    made = identify.era(found, order=4)
    truth = np.repeat([0.93, 0.95], 2)
    values = np.sort(np.abs(np.linalg.eigvals(made.system.A)))
    np.testing.assert_allclose(values, truth, atol=2e-3)
