"""No record, however degenerate, ends identification in an exception of another library."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import dalembert as da
from dalembert.core.errors import DalembertError
from dalembert.linear.recursions import march

KINDS = (
    "copy",
    "minus",
    "sum",
    "integral",
    "double",
    "constant",
    "zero",
    "big",
    "small",
    "near",
    "input",
    "step",
    "far",
)
# 30, 37 and 55: a model without a mode that oscillates; 131: outputs that follow the inputs at once
QUICK = (30, 37, 55, 131)


def make(seed: int, samples: int = 500) -> tuple[da.Record, list[str]]:
    """Two outputs of two modes under a random input, and up to three channels that are made of them."""
    rng = np.random.default_rng(seed)
    u, modes = rng.normal(size=samples), []
    for f, zeta in ((0.05, 0.02), (0.13, 0.01)):
        z = np.exp(2 * np.pi * f * (-zeta + 1j * np.sqrt(1 - zeta**2)))
        A = np.array([[z.real, -z.imag], [z.imag, z.real]])
        modes.append(march(A, np.column_stack([u, 0 * u])[:-1], np.zeros(2))[:, 0])
    a, b = modes[0] + modes[1], modes[0] - 0.5 * modes[1]
    chosen = [str(kind) for kind in rng.choice(KINDS, size=rng.integers(1, 4), replace=False)]
    noise = rng.choice([0.0, 1e-6, 0.05])
    a, b = (y + noise * y.std() * rng.normal(size=samples) for y in (a, b))
    made = {
        "copy": a, "minus": -3 * a, "sum": a + b, "integral": np.cumsum(a), "double": np.cumsum(np.cumsum(b)),
        "constant": np.full(samples, 3.7), "zero": 0 * a, "big": 1e12 * a, "small": 1e-12 * b,
        "near": a + 1e-9 * rng.normal(size=samples), "input": 2 * u + 1e-7 * rng.normal(size=samples),
        "step": (np.arange(samples) > samples // 2) * 1.0, "far": b + 1e12,
    }  # fmt: skip
    channels = {"u": u, "a": a, "b": b, **{kind: made[kind] for kind in chosen}}
    if rng.random() < 0.3:
        channels = {name: values * 10.0 ** rng.choice([-12, 12]) for name, values in channels.items()}
    inputs = [["u"], [], ["u", chosen[0]]][rng.integers(0, 3)]
    return da.Record.from_channels(0.01 * np.arange(samples), channels), inputs


@pytest.mark.parametrize("seed", [*QUICK, *(pytest.param(k, marks=pytest.mark.slow) for k in range(132, 220))])
def test_a_degenerate_record_gives_a_model_or_an_error_of_ours(seed: int) -> None:
    record, inputs = make(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = da.identify.auto(record, inputs)
        except DalembertError as error:
            assert error.code
        else:
            assert np.isfinite(result.identified.system.A).all()


def test_a_drive_voltage_beside_the_force_is_left_out_in_one_line(tmp_path) -> None:
    from tests.helpers.commands import document, run

    rng = np.random.default_rng(4)
    record, _ = make(4, 2000)
    force = record["u"]
    data = np.column_stack([force, 0.01 * force + 1e-4 * rng.normal(size=2000), record["a"], record["b"]])
    names = ["Force", "Voltage", "Acceleration1", "Acceleration2"]
    da.write_record(da.Record(record.time, data, names), tmp_path / "level.csv")
    found = document("identify", tmp_path / "level.csv", "--order", 4)
    assert found["inputs"] == ["Force"] and found["outputs"] == ["Acceleration1", "Acceleration2"]
    assert "left out: Voltage (drives the force)" in run("look", tmp_path / "level.csv").output
    with_it = document("identify", tmp_path / "level.csv", "--order", 4, "--outputs", "Acceleration1,Voltage")
    assert with_it["outputs"][0] == "Acceleration1"
