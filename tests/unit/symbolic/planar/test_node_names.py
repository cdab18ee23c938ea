"""Names of bodies and nodes."""

from __future__ import annotations

import pytest

from dalembert.core.errors import ModelError
from dalembert.symbolic.planar.node_names import body_name, join_node, split_node, split_pair
from tests.helpers.findings import raises


def test_a_node_is_a_body_and_a_number() -> None:
    assert split_node("crank.2", "here") == ("crank", 2)
    assert split_node(" 4.12 ", "here") == ("4", 12)
    assert split_pair("0.1 - 3.2", "here") == (("0", 1), ("3", 2))
    assert join_node(("4", 2)) == "4.2"
    assert body_name(7) == "7" and body_name("left_arm") == "left_arm"


@pytest.mark.parametrize("given", ["0.1", "0.1-2.1-3.1", "0.1-", 3, ("0.1", "2.1")])
def test_what_is_no_pair_of_nodes_is_refused(given: object) -> None:
    with raises(ModelError, "bad-name"):
        split_pair(given, "joint")


@pytest.mark.parametrize("given", ["a.b", "a-b", "a b", "", True, 1.5, None])
def test_a_body_has_a_name_without_signs_of_nodes(given: object) -> None:
    with raises(ModelError, "bad-name", repr(given)):
        body_name(given)
