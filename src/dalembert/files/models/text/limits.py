"""Sizes above which a model file is refused.

A file may come from an unknown source: its cost is bounded before it is read. Every limit is far above what the
machines of the library need, and so low that a refusal takes less than two seconds, which the tests of malformed files
measure.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelFileLimits:
    """The text, its expressions, its parts, the files it includes, and the messages about it."""

    file_bytes: int = 5 * 1024**2
    lines: int = 300_000
    nesting: int = 24  # tables and lists inside each other
    values: int = 250_000
    text: int = 100_000  # characters of one text
    name: int = 1_000  # characters of a name
    list: int = 1_000  # numbers of one list, or pairs of a table: a measured curve has some hundred
    number: int = 400  # characters of one number; the largest has 309 digits
    expression: int = 20_000  # characters
    depth: int = 120  # of brackets, operations and named expressions inside each other; Python recurses for each
    size: int = 5_000  # operations of an expression, with the named expressions written out
    operations: int = 200_000  # of all expressions of a model
    bodies: int = 10_000
    parts: int = 50_000  # joints, forces, sensors: of each
    couplers: int = 2_000  # and drivers, constraints, variables: each is compared with all bodies
    symbolic_parts: int = 8  # of a composite with parameters: its inertia grows with the square of them
    include_depth: int = 8
    includes: int = 64
    mesh_bytes: int = 200 * 1024**2
    body_bytes: int = 500 * 1024**2  # of a data file of a flexible body, unpacked
    problems: int = 200  # the search for problems ends at this number
    problems_shown: int = 50  # in one message
    names_compared: int = 300  # with a misspelt one
    names_checked: int = 100  # wrong names beyond which the full check, which is slow for each, is left out


LIMITS = ModelFileLimits()
