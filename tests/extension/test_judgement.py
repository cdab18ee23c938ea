"""A new judgement is one row: finding, evidence, advice, the uncertain band and the edge follow from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from dalembert.core.findings import Advice, Call
from dalembert.core.rules import RULES, judge, rule
from tests.helpers.rules import assert_turns_over


def clipped_share(samples: Sequence[float]) -> float:
    """Share of the samples at the largest value."""
    return sum(x == max(samples) for x in samples) / len(samples)


@pytest.fixture
def saturated():
    yield rule(
        "saturated-channel",
        clipped_share,
        above=0.1,
        edge=(0.099, 0.101),
        near=0.005,
        problem="{value:.0%} of the samples are clipped.",
        advice=[Advice("See {}.", Call("da.identify.repair"))],
    )
    RULES.pop()  # fmt: skip


def test_a_judgement_is_a_row(saturated) -> None:
    assert judge([saturated], [0.0] * 19 + [1.0]) == []
    (found,) = judge([saturated], [0.0] * 8 + [1.0] * 2)
    assert (found.code, found.problem) == ("saturated-channel", "20% of the samples are clipped.")
    assert found.evidence == {"statistic": "clipped_share", "value": 0.2, "limit": 0.1}
    assert "da.identify.repair" in found.text()
    assert judge([saturated], [0.0] * 8 + [1.0] * 2, limits={"saturated-channel": 0.3}) == []
    (near,) = judge([saturated], [0.0] * 9 + [1.0])
    assert near.evidence["uncertain"]
    assert saturated in RULES  # where the test of all edges reads it
    assert_turns_over(saturated)
    with pytest.raises(AssertionError):  # a limit that moved away from its edge
        assert_turns_over(replace(saturated, limit=0.2))
