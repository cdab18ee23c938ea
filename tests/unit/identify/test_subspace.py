"""One good record damaged in many ways: refused, warned of, or modes still right; never a silent nonsense model.

The record is the three-storey frame under a random force, 2048 samples, sensor noise of 1 %. "Still right" means all
three modes within 1 % in frequency and 20 % in damping.

What no check can see, since nothing in the record tells it, and so is not here: a sensor of the other sign or two whose
names are exchanged (the modes are right, the shapes are not); a wrong sample time (all frequencies scale); a record
decimated without a filter (a mode folded below half the sample rate is a mode there); input and output exchanged where
the inverse is a machine too (a force and the acceleration beside it).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dalembert import identify
from dalembert.core.errors import DalembertError
from dalembert.identify import IdentificationWarning
from dalembert.identify.records.drift import measure_drift
from dalembert.linear import SecondOrder
from dalembert.record import Record
from tests.helpers.findings import warns
from tests.helpers.repetitions import few
from tests.helpers.storey_frame import DT, FLOORS, played, sampled_frame, storey_frame, white

N = 2048
GOOD = played(sampled_frame(), white(N, seed=3), noise=0.01, seed=3)
TRUE = storey_frame().modes()
TIME = GOOD.time
F, A1, A2, A3 = (GOOD[name] for name in ("force", *FLOORS))
HALF = np.arange(N) < N // 2

METHODS: dict[str, Callable[[Record], Any]] = {
    "okid_era": lambda r: identify.okid_era(r, "force", order=6),
    "n4sid": lambda r: identify.n4sid(r, "force", order=6),
    "moesp": lambda r: identify.moesp(r, "force", order=6),
    "cva": lambda r: identify.cva(r, "force", order=6),
    "auto": lambda r: identify.auto(r, "force"),
}


def noise(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=N)


def changed(**columns: Any) -> Record:
    channels = {name: columns.get(name, GOOD[name]) for name in GOOD.names}
    return Record.from_channels(TIME, channels, GOOD.units)


def part(name: str, rows: Any, value: float) -> Record:
    column = GOOD[name].copy()
    column[rows] = value
    return changed(**{name: column})


def moved(name: str, late: int) -> Record:
    """A channel late by some samples (early where negative), the ends cut."""
    rows = np.arange(abs(late), N - abs(late))
    data = GOOD.data[rows].copy()
    data[:, GOOD.names.index(name)] = GOOD[name][rows - late]
    return Record(TIME[rows], data, GOOD.names, GOOD.units)


def spiked(name: str, count: int, size: float) -> Record:
    rng, column = np.random.default_rng(7), GOOD[name].copy()
    column[rng.choice(N, count, replace=False)] += size * column.std() * rng.choice([-1.0, 1.0], count)
    return changed(**{name: column})


def beside(column: np.ndarray) -> Record:
    return Record(TIME, np.column_stack([GOOD.data, column]), [*GOOD.names, "a4"], [*GOOD.units.values(), "m/s²"])


def wrapped(column: np.ndarray, limit: float) -> np.ndarray:
    return (column + limit) % (2.0 * limit) - limit


def hum(column: np.ndarray, phase: float = 0.0) -> np.ndarray:
    return column + 2.0 * column.std() * np.sin(2.0 * np.pi * 12.5 * TIME + phase)


DAMAGES: dict[str, Callable[[], Record]] = {
    "clipped": lambda: changed(a2=np.clip(A2, -A2.std(), A2.std())),
    "clipped a little": lambda: changed(a2=np.clip(A2, -2.5 * A2.std(), 2.5 * A2.std())),
    "clipped before the noise": lambda: changed(a2=np.clip(A2, -A2.std(), A2.std()) + 1e-3 * A2.std() * noise()),
    "clipped input": lambda: changed(force=np.clip(F, -1.0, 1.0)),
    "dropout to zero": lambda: part("a1", slice(600, 700), 0.0),
    "short dropout": lambda: part("a1", slice(600, 610), 0.0),
    "many dropouts": lambda: part("a1", np.add.outer(np.arange(100, 2000, 100), np.arange(5)).ravel(), 0.0),
    "dropout of the input": lambda: part("force", slice(600, 700), 0.0),
    "stuck": lambda: part("a3", slice(600, 700), float(A3[600])),
    "one spike": lambda: spiked("a1", 1, 50.0),
    "ten spikes": lambda: spiked("a2", 10, 20.0),
    "one spike of the input": lambda: spiked("force", 1, 50.0),
    "ten spikes of the input": lambda: spiked("force", 10, 20.0),
    "g for m/s²": lambda: changed(a2=A2 / 9.81),
    "sign flipped": lambda: changed(a2=-A2),
    "trend": lambda: changed(a1=A1 + A1.std() * TIME / TIME[-1]),
    "strong trend": lambda: changed(a1=A1 + 20.0 * A1.std() * TIME / TIME[-1]),
    "wandering level": lambda: changed(a1=A1 + 2.0 * A1.std() * np.cumsum(noise()) / np.sqrt(N)),
    "offset": lambda: changed(a1=A1 + 3.0 * A1.std()),
    "not a number": lambda: part("a1", slice(300, 330), np.nan),
    "infinite": lambda: part("a1", 5, np.inf),
    "absurdly large": lambda: part("a1", 70, 1e200),
    "one value of an overflow": lambda: part("a1", 70, 32767.0),
    "wrapped round": lambda: changed(a1=wrapped(A1, 1.5 * A1.std())),
    "wrapped round at times": lambda: changed(a1=wrapped(A1, 2.5 * A1.std())),
    "cast to 16 bits": lambda: changed(a1=(A1 / A1.std() * 20000).astype(np.int64).astype(np.int16).astype(float)),
    "no input": lambda: changed(force=0.0),
    "constant input": lambda: changed(force=2.5),
    "input of another test": lambda: changed(force=white(N, seed=55)[:, 0]),
    "a1 late by 1": lambda: moved("a1", 1),
    "a1 late by 2": lambda: moved("a1", 2),
    "a1 late by 20": lambda: moved("a1", 20),
    "a3 late by 2": lambda: moved("a3", 2),
    "a3 late by 3": lambda: moved("a3", 3),
    "a1 early by 1": lambda: moved("a1", -1),
    "a1 early by 3": lambda: moved("a1", -3),
    "a1 early by 20": lambda: moved("a1", -20),
    "a3 early by 3": lambda: moved("a3", -3),
    "force late by 2": lambda: moved("force", 2),
    "force late by 40": lambda: moved("force", 40),
    "force early by 1": lambda: moved("force", -1),
    "force early by 40": lambda: moved("force", -40),
    "a channel twice": lambda: beside(A2),
    "a channel twice, scaled": lambda: beside(2.0 * A2 + 1.0),
    "a channel twice, noisy": lambda: beside(A2 + 1e-4 * A2.std() * noise()),
    "coarse resolution": lambda: changed(a1=np.round(2.0 * A1 / A1.std())),
    "hum": lambda: changed(a1=hum(A1)),
    "hum everywhere": lambda: changed(a1=hum(A1), a2=hum(A2, 1.0), a3=hum(A3, 2.0)),
    "samples lost": lambda: Record(TIME[: N - 30], np.delete(GOOD.data, slice(900, 930), axis=0), GOOD.names),
    "samples lost in one": lambda: Record(
        TIME[: N - 3], np.column_stack([F[:-3], np.delete(A1, [900, 901, 902]), A2[:-3], A3[:-3]]), GOOD.names
    ),
    "dead but noisy": lambda: changed(a2=1e-3 * noise()),
    "very noisy": lambda: changed(a1=A1 + 3.0 * A1.std() * noise()),
    "gain that jumps": lambda: changed(a1=np.where(HALF, 1.0, 3.0) * A1),
    "sign that jumps": lambda: changed(a1=np.where(HALF, 1.0, -1.0) * A1),
    "another clock": lambda: changed(a1=np.interp(TIME * (1.0 + 5e-4), TIME, A1)),
    "rectified": lambda: changed(a1=np.abs(A1)),
    "played backwards": lambda: Record(TIME, GOOD.data[::-1].copy(), GOOD.names),
    "jitter of the time": lambda: Record(TIME + 0.1 * DT * np.tanh(noise()), GOOD.data, GOOD.names),
    "repeated time stamps": lambda: Record(np.repeat(TIME[::2], 2), GOOD.data, GOOD.names),
    "12 samples": lambda: GOOD.between(0.0, 11.5 * DT),
    "40 samples": lambda: GOOD.between(0.0, 39.5 * DT),
    "80 samples": lambda: GOOD.between(0.0, 79.5 * DT),
    "more outputs than samples": lambda: Record(
        TIME[:20], np.random.default_rng(1).normal(size=(20, 31)), ["force", *(f"a{k}" for k in range(1, 31))]
    ),
}
QUICK = ["clipped", "not a number", "a1 late by 2", "a1 early by 3", "a channel twice", "hum", "wandering level"]


def modes_are_right(found: Any) -> bool:
    f, zeta = found.frequencies_hz, found.damping_ratios
    if len(f) < 3:
        return False
    near = [int(np.abs(f - one).argmin()) for one in TRUE.frequencies_hz]
    frequency = np.abs(f[near] / TRUE.frequencies_hz - 1.0).max()
    return bool(frequency < 0.01 and np.abs(zeta[near] / TRUE.damping_ratios - 1.0).max() < 0.2)


def refused_warned_or_right(method: Callable[[Record], Any], damage: Callable[[], Record]) -> bool:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = method(damage())
        except DalembertError:
            return True
    assert all(issubclass(one.category, IdentificationWarning) for one in caught), [str(one.message) for one in caught]
    assert len({str(one.message) for one in caught}) == len(caught)  # nothing is said twice
    return bool(caught) or modes_are_right(found)


@pytest.mark.parametrize("damage", DAMAGES)
def test_no_damage_gives_a_silent_nonsense_model(damage):
    assert refused_warned_or_right(METHODS["moesp"], DAMAGES[damage])


@pytest.mark.parametrize("damage", few([*QUICK, *(name for name in DAMAGES if name not in QUICK)], len(QUICK)))
@pytest.mark.parametrize("method", ["okid_era", "cva", "auto", "n4sid"])
def test_nor_by_other_methods(method, damage):
    assert refused_warned_or_right(METHODS[method], DAMAGES[damage])


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_the_record_itself_gives_its_modes_without_a_word(method):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert modes_are_right(method(GOOD))


@pytest.mark.parametrize("name", ["moesp", "okid_era", "cva"])
@pytest.mark.parametrize(
    ("channel", "late", "found"),
    [
        ("a1", 2, (2,)),
        ("a1", -3, (-3,)),
        ("a3", 2, (1, 2)),  # it begins softly
    ],
)
def test_a_channel_that_is_not_synchronous_is_found_by_name_and_by_how_much(name, channel, late, found):
    with warns(IdentificationWarning, "not-synchronous", channel, "da.identify.shift") as caught:
        METHODS[name](moved(channel, late))
    finding = next(one.message.finding for one in caught if one.message.code == "not-synchronous")
    assert finding.evidence["samples"][channel] in found


def test_the_remedy_for_a_channel_that_is_not_synchronous_works():
    record = identify.shift(moved("a1", 2), {"a1": 2 * DT})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert modes_are_right(METHODS["moesp"](record))


def test_waves_that_truly_take_time_are_not_called_late():
    """A chain of 12 masses pushed at one end: the far ones answer many samples later, and the model holds that."""
    n = 12
    K = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    names = [f"x{k}" for k in range(n)]
    chain = SecondOrder(np.eye(n), K, C=0.02 * K + 0.002 * np.eye(n), B=np.eye(n, 1), Y_acceleration=np.eye(n),
                        inputs="push", outputs=names).state_space().to_discrete(1.0)  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        identify.moesp(played(chain, white(3000, seed=1), noise=0.01), "push", order=2 * n)


def test_a_drift_is_found_where_there_are_outputs_only():
    with warns(IdentificationWarning, "drift", "'a1'", "detrend='linear'"):
        identify.ssi_data(DAMAGES["wandering level"]().select(*FLOORS), order=8)


def test_a_copy_of_an_output_is_left_out_by_automatic_identification():
    with warns(IdentificationWarning, "dependent-channels", "outputs a2, a4"):
        found = identify.auto(DAMAGES["a channel twice, scaled"](), "force")
    assert found.order == 6
    assert found.identified.outputs == tuple(FLOORS)
    assert "left out a4: it is a copy of a2" in found.decisions


def test_a_slow_answer_to_the_inputs_is_no_drift():
    """A pole of about one part of the record: white inputs make levels that wander, and the inputs explain them."""
    from scipy.signal import lfilter

    alarms = drifts = 0
    ramp = np.linspace(-4.0, 4.0, 400)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        u = rng.standard_normal((400, 2))
        y = lfilter([1.0], [1.0, -0.93], u @ [1.0, -0.7])
        alarms += measure_drift(y, list(u.T), linear=False) > 0.0
        drifts += measure_drift(y + y.std() * ramp, list(u.T), linear=False) > 0.0
    assert alarms == 0
    assert drifts >= 38
