"""The edge of a rule: what every row of `core/rules.py` must show."""

from __future__ import annotations

from dalembert.core.rules import Rule


def assert_turns_over(rule: Rule) -> None:
    """Between the two numbers of its edge, which are close to its limit; "uncertain" at a limit that classifies."""
    inside, outside = rule.edge
    assert (rule.answer(inside), rule.answer(outside)) == ("no", "yes")
    assert abs(outside - inside) <= 0.25 * abs(rule.limit)  # else a changed limit would pass
    if rule.near:
        assert rule.answer(rule.limit) == "uncertain"
        assert rule.answer(rule.limit * (1 + 1e-9)) == rule.answer(rule.limit * (1 - 1e-9)) == "uncertain"
