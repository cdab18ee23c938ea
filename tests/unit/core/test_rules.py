"""Every rule of the package turns over between the two numbers of its edge."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import dalembert
from dalembert.core.rules import RULES, Rule
from tests.helpers.rules import assert_turns_over

SOURCE = Path(dalembert.__file__).parent
for _path in sorted(SOURCE.rglob("*.py")):  # modules that declare rules
    if "core.rules import" in _path.read_text("utf-8"):
        importlib.import_module(".".join(_path.relative_to(SOURCE.parent).with_suffix("").parts))


def name(rule: Rule) -> str:
    return f"{rule.code}-{rule.statistic.__name__}"


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.place.startswith("dalembert.")], ids=name)
def test_a_rule_turns_over_at_its_edge(rule: Rule) -> None:
    assert_turns_over(rule)
