"""A model of chosen poles: exactly these, with what can be known of them; a choice that does not fit is refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import dalembert as da
from tests.helpers.findings import raises, warns
from tests.helpers.measured_frames import frame, measured


@pytest.fixture(scope="module")
def found() -> Any:
    return da.identify.auto(measured(2000), "force", refined=False)


@pytest.fixture(scope="module")
def quiet() -> Any:
    """Without inputs."""
    return da.identify.auto(measured(3000, noise=0.02).select("a1", "a2", "a3"), refined=False)


def pick(result: Any, order: int = 12) -> dict[str, Any]:
    """A choice of the poles of one order that are nearest to the modes of the model, as a page writes it."""
    drawn = result.stabilization
    own = np.flatnonzero(drawn.orders == order)
    near = [own[np.argmin(np.abs(drawn.frequencies_hz[own] - f))] for f in result.frequencies_hz]
    poles = [
        {
            "order": order, "frequency_hz": float(f"{drawn.frequencies_hz[k]:.7g}"),
            "damping_ratio": float(f"{drawn.damping_ratios[k]:.7g}"), "class": "sound",
        }
        for k in near
    ]  # fmt: skip
    model = result.identified
    plain = {
        "schema": "dalembert-choice", "version": 1, "files": [], "inputs": list(model.inputs),
        "outputs": list(model.outputs), "sample_time": model.dt,
        "diagram": {"method": drawn.method, "rows": model.provenance["rows"]}, "poles": poles,
    }  # fmt: skip
    found: dict[str, Any] = json.loads(json.dumps(plain))
    return found


def test_the_model_has_exactly_the_chosen_poles_and_fits_as_well(found: Any) -> None:
    wanted = pick(found)
    made = da.identify.choose(found, wanted)
    # a choice has seven digits, the diagram all of them: the model has the poles of the diagram
    assert made.frequencies_hz == pytest.approx([one["frequency_hz"] for one in wanted["poles"]], rel=1e-6)
    assert made.damping_ratios == pytest.approx([one["damping_ratio"] for one in wanted["poles"]], rel=1e-5)
    assert [judged.grade for judged in made.judgements] == ["chosen"] * 3 and made.by_class() == [0, 1, 2]
    assert made.order == 6 and made.identified.inputs == ("force",)
    assert abs(made.fit.mean - found.fit.mean) < 1.0  # poles of a larger order are within their deviations
    truth = frame().modes().frequencies_hz
    # poles of a subspace method scatter some 1.5 to 4 times as much as the best estimate
    assert np.all(np.abs(made.frequencies_hz - truth) < 4 * 4 * made.identified.frequency_deviations_hz)
    assert "chosen:" in made.table() and "no sound modes" not in made.table()
    assert found.order == made.order and found.judgements[0].grade == "sound"  # the result stays as it was


def test_shapes_are_those_of_the_diagram(found: Any) -> None:
    made = da.identify.choose(found, pick(found))
    drawn = found.stabilization
    for k, f in enumerate(made.frequencies_hz):
        j = int(np.argmin(np.abs(drawn.frequencies_hz - f) + np.where(drawn.orders == 12, 0.0, 1e9)))
        a, b = made.modes.shapes[:, k], drawn.shapes[j]
        assert abs(a.conj() @ b) ** 2 == pytest.approx((np.linalg.norm(a) * np.linalg.norm(b)) ** 2, rel=1e-9)


def test_poles_are_chosen_without_inputs_too(quiet: Any) -> None:
    made = da.identify.choose.quiet(quiet, pick(quiet))
    assert made.fit.kind == "prediction" and made.fit.mean > 0.9 * quiet.fit.mean
    assert made.identified.frequency_deviations_hz is not None


def test_fewer_poles_make_a_smaller_model_that_explains_less(found: Any) -> None:
    wanted = pick(found)
    wanted["poles"] = wanted["poles"][:1]
    made = da.identify.choose.quiet(found, wanted)
    assert made.order == 2 and made.fit.mean < found.fit.mean - 5.0


def spoil(**changes: Any) -> Any:
    def change(plain: dict[str, Any]) -> dict[str, Any]:
        first = {key: value for key, value in changes.items() if key in ("order", "frequency_hz", "damping_ratio")}
        rest = {key: value for key, value in changes.items() if key not in first}
        return {**plain, **rest, **({"poles": [{**plain["poles"][0], **first}]} if first else {})}

    return change


MISTAKES = [
    (spoil(schema="other"), "wrong-type"),
    (spoil(version=2), "bad-version"),
    (spoil(poles=[]), "empty"),
    (spoil(poles="all"), "missing-argument"),
    (spoil(poles=[7]), "wrong-type"),
    (spoil(poles=[{}] * 201), "too-large"),
    (spoil(inputs=None), "missing-argument"),
    (spoil(inputs=[]), "channel-mismatch"),
    (spoil(outputs=["a1", "a3", "a2"]), "channel-mismatch"),
    (spoil(sample_time=0.06), "sample-time-mismatch"),
    (spoil(sample_time="0.05"), "out-of-range"),
    (spoil(diagram={"method": "n4sid", "rows": 30}), "no-such-pole"),
    (spoil(diagram={}, order=12, frequency_hz=0.5), "no-such-pole"),
    (spoil(diagram=[1]), "wrong-type"),
    (spoil(files={"run.csv": "0"}), "wrong-type"),
    (spoil(order=12.5), "not-a-count"),
    (spoil(order=13), "no-such-pole"),
    (spoil(frequency_hz=-1.0), "out-of-range"),
    (spoil(frequency_hz=float("nan")), "out-of-range"),
    (spoil(frequency_hz=10**400), "out-of-range"),
    (spoil(sample_time=10**400), "out-of-range"),
    (spoil(frequency_hz=1e6), "out-of-range"),  # beyond the band
    (spoil(damping_ratio=None), "out-of-range"),
    (lambda plain: {**plain, "poles": plain["poles"][:1] * 2}, "duplicate"),
    (lambda plain: [plain], "wrong-type"),
]


@pytest.mark.parametrize(("mistake", "code"), MISTAKES)
def test_a_choice_that_does_not_fit_is_refused(found: Any, mistake: Any, code: str) -> None:
    with raises(da.errors.DataError, code):
        da.identify.choose(found, mistake(pick(found)))


def test_poles_near_the_chosen_ones_are_taken_with_a_word(found: Any) -> None:
    """Other data: within 1 % the nearest pole is taken, beyond it none."""
    wanted = pick(found)
    wanted["poles"] = wanted["poles"][2:]
    exact = wanted["poles"][0]["frequency_hz"]
    for factor, codes in ((1.00005, set()), (1.0002, {"changed-data"}), (1.009, {"changed-data"})):
        wanted["poles"][0]["frequency_hz"] = factor * exact
        made = da.identify.choose.quiet(found, wanted)
        assert {one.code for one in made.findings} & {"changed-data"} == codes
        assert made.frequencies_hz[0] == pytest.approx(exact, rel=1e-6)
    with warns(da.identify.IdentificationWarning, "changed-data"):
        da.identify.choose(found, wanted)
    wanted["poles"][0]["frequency_hz"] = 1.011 * exact
    with raises(da.errors.DataError, "no-such-pole"):
        da.identify.choose(found, wanted)
