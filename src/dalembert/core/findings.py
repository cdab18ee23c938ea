"""Findings: contents of an error, a warning or a judgement, as values. Messages are made from them in one place.

A finding has a code (a short name that never changes), a problem in plain words, its place, the numbers behind it, and
advice. Advice names arguments and functions as values, so that the command line can show its own options
instead. No code reads the text of a message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

CODE = r"[a-z0-9]+(-[a-z0-9]+)*"


@dataclass(frozen=True)
class Argument:
    """An argument to give; a value left out is for the reader to choose.

    Examples
    --------
    >>> in_python(Argument("step", 0.001)), in_python(Argument("start")), in_python(Argument("method", Call("da.RK4")))
    ('step=0.001', 'start=', 'method=da.RK4(...)')
    """

    name: str
    value: Any = None


@dataclass(frozen=True)
class Call:
    """A function or class, by its public name: ``Call("da.GeneralizedAlpha", Argument("step"))``."""

    function: str
    arguments: tuple[Argument, ...]

    def __init__(self, function: str, *arguments: Argument) -> None:
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "arguments", arguments)


Part = Argument | Call
Speaker = Callable[[Part], str | None]  # None: the reader has no counterpart


def in_python(part: Part) -> str:
    """An argument or a call as it is written in Python."""
    if isinstance(part, Call):
        return f"{part.function}({', '.join(map(in_python, part.arguments)) or '...'})"
    if part.value is None:
        return f"{part.name}="
    return f"{part.name}={in_python(part.value) if isinstance(part.value, Call) else repr(part.value)}"


@dataclass(frozen=True)
class Advice:
    """One remedy in one sentence; ``{}`` in it is replaced by its parts, each of which is a remedy.

    Examples
    --------
    >>> Advice("Use a smaller {}.", Argument("step", 1e-4), Argument("method", Call("da.Rosenbrock"))).text()
    'Use a smaller step=0.0001 or method=da.Rosenbrock(...).'
    """

    sentence: str
    parts: tuple[Part, ...]

    def __init__(self, sentence: str, *parts: Part) -> None:
        object.__setattr__(self, "sentence", sentence)
        object.__setattr__(self, "parts", parts)

    def text(self, speak: Speaker = in_python) -> str:
        """The sentence in the reader's language; empty where the reader has none of its parts."""
        if not self.parts:
            return self.sentence
        spoken = [text for text in map(speak, self.parts) if text]
        if not spoken:
            return ""
        *others, last = spoken
        return self.sentence.replace("{}", f"{', '.join(others)} or {last}" if others else last)


@dataclass(frozen=True)
class Finding:
    """One thing found: in an argument, a file, a record, a run, a result.

    code : its kind, a line of `core.codes`.  problem : in plain words without Python.
    where : joint, channel, time, path, line, ...  evidence : the numbers behind it.  advice : remedies.

    Examples
    --------
    >>> found = Finding("too-few-samples", "channel 'a1' has 3 samples, 20 are needed.", {"channel": "a1"},
    ...                 {"samples": 3, "needed": 20}, (Advice("Record longer, or use a lower {}.", Argument("order")),))
    >>> found.text()
    "channel 'a1' has 3 samples, 20 are needed. Record longer, or use a lower order=."
    """

    code: str
    problem: str
    where: Mapping[str, Any] = field(default_factory=dict)
    evidence: Mapping[str, Any] = field(default_factory=dict)
    advice: tuple[Advice, ...] = ()

    def text(self, speak: Speaker = in_python) -> str:
        """Problem and advice, in the language of the reader: Python, or the options of a command."""
        return " ".join(text for text in (self.problem, *(advice_.text(speak) for advice_ in self.advice)) if text)


def to_plain(finding: Finding) -> dict[str, Any]:
    """A finding as plain data, for JSON."""
    advice = [[item.sentence, [_plain_part(item) for item in item.parts]] for item in finding.advice]
    return {
        "code": finding.code, "problem": finding.problem, "where": dict(finding.where),
        "evidence": dict(finding.evidence), "advice": advice,
    }  # fmt: skip


def from_plain(data: Mapping[str, Any]) -> Finding:
    """The finding from the plain data of `to_plain`."""
    advice = tuple(Advice(sentence, *map(_part, parts)) for sentence, parts in data["advice"])
    return Finding(data["code"], data["problem"], data["where"], data["evidence"], advice)


def _plain_part(part: Part) -> list[Any]:
    if isinstance(part, Call):
        return ["call", part.function, [_plain_part(argument) for argument in part.arguments]]
    value = part.value
    return ["argument", part.name, _plain_part(value) if isinstance(value, Call) else value]


def _part(data: list[Any]) -> Part:
    kind, name, value = data
    if kind == "call":
        return Call(name, *[_part(item) for item in value])  # type: ignore[arg-type]
    return Argument(name, _part(value) if isinstance(value, list) and value[:1] == ["call"] else value)
