"""Data of flexible bodies that no body can have are refused, each with the body and a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.model.flexible import FiniteElementValues, FlexibleBodyData, FlexibleNode, Stiffening, StrainGauge
from dalembert.model.flexible_check import still_nodes
from tests.helpers.findings import raises

RHO = 2700.0


def sums(count: int = 40) -> dict[str, Any]:
    """A bar of point masses along x, 1 m x 0.04 m x 0.03 m, that bends along y and stretches along x."""
    rng = np.random.default_rng(3)
    places = np.column_stack(
        [np.linspace(0, 1, count), rng.uniform(-0.02, 0.02, count), rng.uniform(-0.015, 0.015, count)]
    )
    mass = np.full(count, RHO * 0.04 * 0.03 / count)
    S = np.zeros((count, 3, 2))
    S[:, 1, 0], S[:, 0, 1] = places[:, 0] ** 2, places[:, 0]
    J = np.eye(3) * np.einsum("n,na,na->", mass, places, places) - np.einsum("n,na,nb->ab", mass, places, places)
    moments = np.einsum("n,na,nbj->abj", mass, places, S)
    node = {"rotation": np.zeros((3, 2))}
    tip = np.zeros((3, 2))
    tip[1, 0] = tip[0, 1] = 1.0
    return {
        "name": "bar",
        "mass": float(mass.sum()),
        "first_moment": mass @ places,
        "inertia": J,
        "translation": np.einsum("n,naj->aj", mass, S),
        "rotation": np.stack(
            [moments[1, 2] - moments[2, 1], moments[2, 0] - moments[0, 2], moments[0, 1] - moments[1, 0]]
        ),
        "modal_mass": np.einsum("n,naj,nak->jk", mass, S, S),
        "moments": moments,
        "products": np.einsum("n,naj,nbk->abjk", mass, S, S),
        "stiffness": np.diag([1e4, 1e7]),
        "damping": np.diag([1.0, 10.0]),
        "nodes": (
            FlexibleNode(name="root", place=np.zeros(3), translation=np.zeros((3, 2)), **node),
            FlexibleNode(name="tip", place=np.array([1.0, 0, 0]), translation=tip, **node),
        ),
        "reference": "attached",
    }


def test_sound_data_is_accepted() -> None:
    data = FlexibleBodyData(**sums())
    assert data.modes == 2
    assert still_nodes(data) == ["root"]
    assert data.out_of_plane_modes() == []


Spoil = Callable[[dict[str, Any]], None]


def put(name: str, change: Callable[[Any], Any]) -> Spoil:
    def spoil(fields: dict[str, Any]) -> None:
        fields[name] = change(np.array(fields[name], dtype=float))

    return spoil


def entry(place: tuple[int, ...], value: float) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array[place] = value
        return array

    return change


def double_node(fields: dict[str, Any]) -> None:
    fields["nodes"] = (*fields["nodes"], fields["nodes"][1])


def no_nodes(fields: dict[str, Any]) -> None:
    fields["nodes"] = ()


def moving_root(fields: dict[str, Any]) -> None:
    fields["nodes"] = fields["nodes"][1:]


def false_mean_axis(fields: dict[str, Any]) -> None:
    fields["reference"] = "mean axis"


def too_many(fields: dict[str, Any]) -> None:
    fields["finite_elements"] = FiniteElementValues(
        mass=fields["mass"], center=fields["first_moment"] / fields["mass"], inertia=fields["inertia"], coordinates=1
    )


def wrong_gauge(fields: dict[str, Any]) -> None:
    fields["gauges"] = (StrainGauge(name="g", quantity="strain", row=np.zeros(3)),)


def unknown_force(fields: dict[str, Any]) -> None:
    fields["stiffening"] = Stiffening(forces={"nowhere": np.zeros((3, 2, 2))})


def no_motion(fields: dict[str, Any]) -> None:
    fields["modal_mass"] = np.diag([1.0, 0.0])


def in_millimetres(fields: dict[str, Any]) -> None:
    """Lengths in mm, masses in t: modes as they are."""
    fields["mass"] /= 1e3
    fields["first_moment"] = fields["first_moment"]  # 1e3 mm, 1e-3 t
    fields["inertia"] = fields["inertia"] * 1e3
    for name in ("translation", "modal_mass", "products"):
        fields[name] = fields[name] / 1e3


def in_grams(fields: dict[str, Any]) -> None:
    for name in ("mass", "first_moment", "inertia", "translation", "rotation", "modal_mass", "moments", "products"):
        fields[name] = fields[name] * 1e6


def far_too_stiff(fields: dict[str, Any]) -> None:
    fields["stiffness"] = fields["stiffness"] * 1e10


BAD: dict[str, tuple[Spoil, str]] = {
    "asymmetric stiffness": (put("stiffness", entry((0, 1), 1e6)), "not-symmetric"),
    "asymmetric modal mass": (put("modal_mass", entry((0, 1), 0.3)), "not-symmetric"),
    "products of one order only": (put("products", entry((0, 1, 0, 0), 1.0)), "not-symmetric"),
    "negative mass": (put("mass", lambda mass: -float(mass)), "not-positive"),
    "indefinite inertia": (put("inertia", entry((0, 0), -1.0)), "not-positive-definite"),
    "indefinite modal mass": (put("modal_mass", lambda M: M + np.array([[0, 5.0], [5.0, 0]])), "not-positive-definite"),
    "negative modal mass": (put("modal_mass", entry((1, 1), -1.0)), "not-positive-definite"),
    "indefinite damping": (put("damping", lambda D: -D), "not-positive-definite"),
    "negative stiffness": (put("stiffness", lambda K: -K), "negative-eigenvalue"),
    "modes not independent": (put("modal_mass", lambda M: np.ones((2, 2))), "rank-deficient"),
    "mode without motion": (no_motion, "no-motion"),
    "modes not orthogonal to rigid motions": (false_mean_axis, "not-orthogonal"),
    "coupling too large": (put("translation", lambda S: 9 * S), "not-positive-definite"),
    "doubled node": (double_node, "duplicate"),
    "no nodes": (no_nodes, "empty"),
    "missing node of the frame": (moving_root, "missing-argument"),
    "more modes than coordinates": (too_many, "too-many-modes"),
    "not finite": (put("moments", entry((0, 1, 0), np.nan)), "not-finite"),
    "wrong shape": (put("rotation", lambda S: S[:, :1]), "wrong-shape"),
    "wrong row of a gauge": (wrong_gauge, "wrong-shape"),
    "stiffening by an unknown node": (unknown_force, "unknown-name"),
    "millimetres": (in_millimetres, "suspect-units"),
    "grams": (in_grams, "suspect-units"),
    "frequency far too high": (far_too_stiff, "suspect-units"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_data_is_refused_with_body_and_number(kind: str) -> None:
    spoil, code = BAD[kind]
    fields = sums()
    spoil(fields)
    with pytest.raises(da.errors.ModelError) as caught:
        FlexibleBodyData(**fields)
    assert caught.value.code == code
    assert "'bar'" in str(caught.value)
    assert any(letter.isdigit() for letter in str(caught.value)) or kind in (
        "no nodes",
        "stiffening by an unknown node",
    )


def test_suspected_units_name_their_factor() -> None:
    fields = sums()
    in_millimetres(fields)
    with raises(da.errors.ModelError, "suspect-units", "mm", "1e+12"):
        FlexibleBodyData(**fields)


def test_several_problems_are_listed_together() -> None:
    fields = sums()
    double_node(fields)
    too_many(fields)
    with pytest.raises(da.errors.ModelError) as caught:
        FlexibleBodyData(**fields)
    assert caught.value.code == "several-problems"
    assert [one.code for one in caught.value.finding.evidence["problems"]] == ["duplicate", "too-many-modes"]


def test_modes_that_leave_the_plane_are_found() -> None:
    fields = sums()
    turn = np.zeros((3, 2))
    turn[0, 1] = 0.5
    tip = fields["nodes"][1]
    fields["nodes"] = (
        fields["nodes"][0],
        FlexibleNode(name="tip", place=tip.place, translation=tip.translation, rotation=turn),
    )
    assert FlexibleBodyData(**fields).out_of_plane_modes() == [2]


def test_a_body_without_modes_is_a_rigid_one() -> None:
    fields = sums()
    for name in ("translation", "rotation"):
        fields[name] = np.zeros((3, 0))
    for name in ("modal_mass", "stiffness", "damping"):
        fields[name] = np.zeros((0, 0))
    fields["moments"], fields["products"] = np.zeros((3, 3, 0)), np.zeros((3, 3, 0, 0))
    fields["nodes"] = tuple(
        FlexibleNode(name=node.name, place=node.place, translation=np.zeros((3, 0)), rotation=np.zeros((3, 0)))
        for node in fields["nodes"]
    )
    data = FlexibleBodyData(**fields)
    assert data.modes == 0
    assert data.invariants()["I9"].shape == (0, 0, 3, 3)
    assert data.check().sound


def test_check_names_factors_between_data_and_model() -> None:
    fields = sums()
    model = FiniteElementValues(
        mass=fields["mass"] * 1e3, center=fields["first_moment"] / fields["mass"], inertia=fields["inertia"],
        rigid_modes=6, frequencies_hz=FlexibleBodyData(**fields).frequencies_hz * 2 * np.pi,
    )  # fmt: skip
    found = FlexibleBodyData(**fields, finite_elements=model).check()
    assert not found.sound
    assert [one.code for one in found.findings] == ["suspect-units", "suspect-units"]
    assert "factor of 1000" in found.findings[0].text()
    assert "factor of 2π" in found.findings[1].text()
    assert "BEYOND ITS LIMIT" in found.table()
    m = da.Mechanism("arm")
    body = m.add_flexible_body("bar", FlexibleBodyData(**fields, finite_elements=model))
    m.add_fixed("weld", m.ground.at(0, 0, 0), body.at(*fields["nodes"][0].place))
    assert [one.code for one in da.check(m).warnings] == ["suspect-units", "suspect-units"]


def test_check_finds_a_model_with_fewer_rigid_modes() -> None:
    fields = sums()
    model = FiniteElementValues(
        mass=fields["mass"], center=fields["first_moment"] / fields["mass"], inertia=fields["inertia"], rigid_modes=5
    )
    found = FlexibleBodyData(**fields, finite_elements=model).check()
    assert [row.what for row in found.rows if not row.sound] == ["rigid modes"]
