"""Judgements as rows: a code, a statistic, its limit, the sentence and the advice.

    SATURATED = rule("saturated-channel", clipped_share, above=1e-3, edge=(0.9e-3, 1.1e-3),
                     problem="channel {channel!r} is saturated in {value:.2%} of its samples.")

The statistic is a pure function; the limit is a number of the row, replaced for one call by ``limit=``. ``edge`` has a
value of the statistic just inside and one just outside; one test turns over every row.
A rule that classifies has ``near``: within this share of its limit it answers "uncertain", so that no last digit of the
data decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from dalembert.core.codes import CODES
from dalembert.core.findings import Advice, Finding

Answer = Literal["yes", "no", "uncertain"]
RULES: list[Rule] = []  # every row of the package, for its test


@dataclass(frozen=True)
class Rule:
    """One row. ``sign`` is +1 where it applies above the limit, -1 below."""

    code: str
    statistic: Callable[..., Any]
    limit: float
    sign: int
    edge: tuple[float, float]
    problem: str
    advice: tuple[Advice, ...] = ()
    near: float = 0.0
    place: str = field(default="", compare=False)

    def answer(self, value: float, limit: float | None = None) -> Answer:
        """Whether the rule applies to a value of its statistic: "yes", "no", or "uncertain" near the limit.

        Examples
        --------
        >>> def peak(x): return max(x)
        >>> high = Rule("out-of-range", peak, 2.0, +1, (1.9, 2.1), "too high", near=0.01)
        >>> high.answer(1.9), high.answer(2.001), high.answer(2.1)
        ('no', 'uncertain', 'yes')
        """
        bound = self.limit if limit is None else limit
        beyond = self.sign * (value - bound)
        if self.near and abs(beyond) <= self.near * abs(bound):
            return "uncertain"
        return "yes" if beyond > 0.0 else "no"

    def judge(self, *subject: Any, limit: float | None = None, **where: Any) -> Finding | None:
        """The finding where the rule applies, or may apply, to the subject; its evidence has the value and the limit.

        A statistic gives a number, or a number and a mapping of further words for the sentence.
        """
        measured = self.statistic(*subject)
        value, words = measured if isinstance(measured, tuple) else (measured, {})
        answer = self.answer(value, limit)
        if answer == "no":
            return None
        bound = self.limit if limit is None else limit
        evidence = {"statistic": self.statistic.__name__, "value": value, "limit": bound, **words}
        problem = self.problem.format(value=value, limit=bound, **{**where, **words})
        if answer == "uncertain":
            evidence["uncertain"] = True
            problem = f"uncertain, {value:.4g} is at the limit {bound:.4g}: {problem}"
        return Finding(self.code, problem, where, evidence, self.advice)


def rule(
    code: str,
    statistic: Callable[..., Any],
    *,
    above: float | None = None,
    below: float | None = None,
    edge: tuple[float, float],
    problem: str,
    advice: Sequence[Advice] = (),
    near: float = 0.0,
) -> Rule:
    """A row of judgements: the rule applies ``above`` or ``below`` its limit; ``edge`` is (inside, outside)."""
    limit, sign = (above, +1) if above is not None else (below, -1)
    if limit is None or code not in CODES:
        raise TypeError(f"rule {code!r} needs a limit above or below, and a code that core.codes explains")
    row = Rule(code, statistic, limit, sign, edge, problem, tuple(advice), near, statistic.__module__)
    RULES.append(row)
    return row


def judge(
    rules: Iterable[Rule], *subject: Any, limits: Mapping[str, float] | None = None, **where: Any
) -> list[Finding]:
    """Findings of all rules that apply; ``limits`` replaces limits by code."""
    answers = (row.judge(*subject, limit=(limits or {}).get(row.code)) for row in rules)
    return [finding for finding in answers if finding is not None]
