"""A new result is one class: frozen fields, table, repr, HTML and JSON follow from its columns."""

from __future__ import annotations

import numpy as np

from dalembert.core.arrays import FloatArray
from dalembert.core.results import column, plain, result
from tests.helpers.findings import assert_read_only


@result
class Buckling:
    factors: FloatArray = column("load factor", "-", ".2f")


def test_a_result_is_a_class_with_columns() -> None:
    made = Buckling(np.array([1.5, 4.25]))
    assert made.table() == "load factor [-]\n           1.50\n           4.25"
    assert repr(made) == f"Buckling\n{made.table()}" and "<td>4.25</td>" in made._repr_html_()
    assert plain({"buckling": made}) == {"buckling": {"factors": [1.5, 4.25]}}
    assert_read_only(made.factors)
