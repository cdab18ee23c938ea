"""Names of nodes and of pairs of nodes: ``"4.2"`` is the second node of body 4, ``"0.1-3.1"`` joins two nodes."""

from __future__ import annotations

import re

from dalembert.core.errors import ModelError

GROUND = "0"
_NODE = re.compile(r"([^\s.\-]+)\.([1-9][0-9]*)")


def body_name(given: object) -> str:
    """The name of a body: a whole number, or a text without blanks, dots and hyphens."""
    name = str(given) if isinstance(given, (int, str)) and not isinstance(given, bool) else ""
    if not re.fullmatch(r"[^\s.\-]+", name):
        raise ModelError(
            "bad-name", f"a body needs a number or a text without blanks, dots and hyphens as its name, got {given!r}."
        )
    return name


def split_node(given: object, what: str) -> tuple[str, int]:
    """Body and number of a node.

    Examples
    --------
    >>> split_node("rocker.2", "joint")
    ('rocker', 2)
    """
    match = _NODE.fullmatch(given.strip()) if isinstance(given, str) else None
    if match is None:
        problem = f"{what}: a node is written as body and number, such as '4.2', got {given!r}."
        raise ModelError("bad-name", problem, where={"node": given})
    return match[1], int(match[2])


def split_pair(given: object, what: str) -> tuple[tuple[str, int], tuple[str, int]]:
    """The two nodes of a joint or of a guide.

    Examples
    --------
    >>> split_pair("0.1-3.1", "joint")
    (('0', 1), ('3', 1))
    """
    parts = given.split("-") if isinstance(given, str) else []
    if len(parts) != 2:
        problem = f"{what}: two nodes are written with a hyphen, such as '0.1-3.1', got {given!r}."
        raise ModelError("bad-name", problem, where={"nodes": given})
    return split_node(parts[0], what), split_node(parts[1], what)


def join_node(node: tuple[str, int]) -> str:
    """``"4.2"``."""
    return f"{node[0]}.{node[1]}"
