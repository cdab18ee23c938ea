"""Data of flexible bodies that no body can have are refused, each with the body and a number."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.model import flexible, flexible_check, flexible_comparison
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


def test_check_finds_a_model_with_fewer_rigid_modes() -> None:
    fields = sums()
    model = FiniteElementValues(
        mass=fields["mass"], center=fields["first_moment"] / fields["mass"], inertia=fields["inertia"], rigid_modes=5
    )
    found = FlexibleBodyData(**fields, finite_elements=model).check()
    assert [row.what for row in found.rows if not row.sound] == ["rigid modes"]


@pytest.mark.parametrize(("ratio", "factor"), [(1019.0, "1000"), (1021.0, ""), (1 / 6.4, "2π"), (1 / 6.42, "")])
def test_a_ratio_within_2_percent_of_a_factor_of_units_is_one(ratio: float, factor: str) -> None:
    row: Any = SimpleNamespace(value=f"{ratio!r}", expected="1.0")
    assert flexible_comparison._unit_factor(row) == factor


@pytest.mark.parametrize(("density", "named"), [(310e-12, True), (290e-12, False), (24e-9, True), (26e-9, False)])
def test_units_are_named_that_lead_to_a_density_between_wood_and_osmium(density: float, named: bool) -> None:
    """In mm and t; no other system of units leads there."""
    assert ("mm and t" in flexible_check._unit_words(density)) is named


@pytest.mark.parametrize(("entry", "lowest"), [(0.5e-14, 0.5e-14), (2e-14, 1.0)])
def test_a_diagonal_entry_below_1e_14_is_not_scaled(entry: float, lowest: float) -> None:
    assert flexible_check.lowest(np.diag([1.0, entry])) == pytest.approx(lowest, rel=1e-6, abs=0.0)


@pytest.mark.parametrize(("motion", "still"), [(0.9e-9, ["root"]), (1.1e-9, [])])
def test_a_node_that_moves_by_a_billionth_stands_still(motion: float, still: list[str]) -> None:
    nodes = [
        SimpleNamespace(name=name, translation=np.array([[size]]), rotation=np.zeros((1, 1)))
        for name, size in (("root", motion), ("tip", 1.0))
    ]
    data: Any = SimpleNamespace(nodes=nodes, picture=None)
    assert still_nodes(data) == still


@pytest.mark.parametrize(("inertia", "taken"), [(0.5e-12, False), (2e-12, True)])
def test_a_rigid_direction_below_1e_12_of_the_inertia_takes_none_of_the_modes(inertia: float, taken: bool) -> None:
    """A unit mass at the origin; its mode of unit mass turns it about x, which takes half away if there is inertia.

    A cutoff of half its frequency then makes its free mass a quarter of the stiffness over the frequency.
    """
    parts = sums()
    parts |= {
        "mass": 1.0, "first_moment": np.zeros(3), "inertia": np.diag([inertia, 1.0, 1.0]),
        "translation": np.zeros((3, 1)), "rotation": np.array([[np.sqrt(0.5 * inertia)], [0.0], [0.0]]),
        "modal_mass": np.ones((1, 1)), "stiffness": np.ones((1, 1)),
    }  # fmt: skip
    data = FlexibleBodyData.__new__(FlexibleBodyData)
    for name, value in parts.items():
        object.__setattr__(data, name, value)
    made: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flexible, "FlexibleBodyData", lambda **given: made.append(given["modal_mass"]))
        patch.setattr(flexible, "dataclass_fields", lambda one: [SimpleNamespace(name="modal_mass")])
        data.limit_frequencies(0.5 / (2 * np.pi))
    # free mass m and ω² = 1/m: added m (ω²/ω_c² - 1) = 4 - m
    assert float(made[0][0, 0]) == pytest.approx(1.0 + 4.0 - (0.5 if taken else 1.0), rel=1e-6)


# ---- edges of thresholds


def judged(check: Callable[[Any], Any], **changes: Any) -> list[str]:
    """Codes of one check of a sound bar with other fields."""
    data: Any = SimpleNamespace(**{**sums(), "modes": 2, **changes})
    return [one.code for one in check(data)]


def correlated(c: float) -> Any:
    """Unit diagonal, eigenvalues 1 ± c."""
    return np.array([[1.0, c], [c, 1.0]])


@pytest.mark.parametrize(("part", "found"), [(0.9e-6, []), (1.1e-6, ["not-symmetric"])])
def test_a_matrix_is_symmetric_to_a_millionth_of_its_largest_entry(part: float, found: list[str]) -> None:
    assert judged(flexible_check._symmetry, stiffness=np.array([[1e4, 1e7 * part], [0.0, 1e7]])) == found
    products = np.zeros((3, 3, 2, 2))
    products[0, 0], products[0, 1, 0, 0] = np.eye(2), part
    assert judged(flexible_check._symmetry, products=products) == found


@pytest.mark.parametrize(("below", "refused"), [(0.9e-9, False), (1.1e-9, True)])
def test_an_eigenvalue_below_zero_by_a_billionth_of_the_scale_is_rounding(below: float, refused: bool) -> None:
    alone = {"translation": np.zeros((3, 2)), "rotation": np.zeros((3, 2)), "modal_mass": np.eye(2)}
    found = ["not-positive-definite"] if refused else []
    assert judged(flexible_check._definite, damping=correlated(1.0 + below)) == found
    stiffness = np.diag([1e7, -1e7 * below])
    assert judged(flexible_check._definite, **alone, stiffness=stiffness) == ["negative-eigenvalue"] * refused
    modal_mass = {**alone, "modal_mass": correlated(1.0 + below)}  # not independent in any case
    assert judged(flexible_check._definite, **modal_mass) == (found or ["rank-deficient"])
    coupled = np.zeros((3, 2))
    coupled[0, 0] = 1.0 + below  # a mode of unit mass that moves more than the unit mass of the body
    body = {**alone, "mass": 1.0, "first_moment": np.zeros(3), "inertia": np.eye(3), "translation": coupled}
    assert judged(flexible_check._definite, **body) == found


@pytest.mark.parametrize(("eigenvalue", "found"), [(0.9e-10, ["rank-deficient"]), (1.1e-10, [])])
def test_modes_are_independent_from_an_eigenvalue_of_1e_10(eigenvalue: float, found: list[str]) -> None:
    alone = {"translation": np.zeros((3, 2)), "rotation": np.zeros((3, 2))}
    assert judged(flexible_check._definite, **alone, modal_mass=correlated(1.0 - eigenvalue)) == found


@pytest.mark.parametrize(("part", "found"), [(0.9e-6, []), (1.1e-6, ["not-orthogonal"])])
def test_modes_of_a_mean_axis_have_a_millionth_of_the_momentum_at_most(part: float, found: list[str]) -> None:
    moving, still = np.zeros((3, 2)), np.zeros((3, 2))
    moving[1, 0] = part
    unit = {"reference": "mean axis", "mass": 1.0, "inertia": np.eye(3) / 3.0, "modal_mass": np.eye(2)}
    assert judged(flexible_check._frame, **unit, translation=moving, rotation=still) == found
    assert judged(flexible_check._frame, **unit, translation=still, rotation=moving) == found


def block(mass: float, thickness: float = 1.0) -> dict[str, Any]:
    """A body at its centre with radii of gyration of 1 m, 1 m and the thickness."""
    squares = np.array([1.0, 1.0, thickness**2])
    inertia = mass * np.diag(squares.sum() - squares)
    return {"mass": mass, "inertia": inertia, "center": np.zeros(3)}


@pytest.mark.parametrize(("density", "suspect"), [(0.9e-3, True), (1.1e-3, False), (1.9e7, False), (2.1e7, True)])
def test_a_density_is_suspect_below_a_thousandth_and_above_2e7(density: float, suspect: bool) -> None:
    # 41.6 m³ for radii of gyration of 1 m: (√12)³
    assert judged(flexible_check._units, **block(41.6 * density), modes=0) == ["suspect-units"] * suspect


@pytest.mark.parametrize(("thickness", "suspect"), [(0.9e-4, False), (1.1e-4, True)])
def test_a_body_thinner_than_1e_4_of_its_size_has_no_density(thickness: float, suspect: bool) -> None:
    assert judged(flexible_check._units, **block(1e9, thickness), modes=0) == ["suspect-units"] * suspect


@pytest.mark.parametrize(("speed", "suspect"), [(0.99e5, False), (1.01e5, True)])
def test_a_frequency_times_the_size_of_a_body_is_suspect_above_1e5(speed: float, suspect: bool) -> None:
    stiffness = (2 * np.pi * speed / 3.5) ** 2 * np.eye(2)  # a size of 3.5 radii of gyration
    modes = {"stiffness": stiffness, "modal_mass": np.eye(2)}
    assert judged(flexible_check._units, **block(41.6e3), **modes) == ["suspect-units"] * suspect


@pytest.mark.parametrize(
    ("what", "within", "beyond"),
    [("mass", 0.9e-6, 1.1e-6), ("centre", 0.9e-6, 1.1e-6), ("inertia", 0.049, 0.051), ("frequencies", 0.049, 0.051)],
)
def test_data_agrees_with_its_model_within_a_part_of_each_value(what: str, within: float, beyond: float) -> None:
    fields = sums()
    data = FlexibleBodyData(**fields)
    size = float(np.sqrt(np.trace(data.inertia) / (2 * data.mass)))
    for part, sound in ((within, True), (beyond, False)):
        by = {name: 1.0 + part * (what == name) for name in ("mass", "inertia", "frequencies")}
        model = FiniteElementValues(
            mass=data.mass / by["mass"], center=data.center + np.array([0, 0, size * part]) * (what == "centre"),
            inertia=data.inertia / by["inertia"], frequencies_hz=data.frequencies_hz / by["frequencies"],
        )  # fmt: skip
        rows = flexible_comparison._against_model(FlexibleBodyData(**fields, finite_elements=model))
        assert [row.what.split(" ")[0].strip(",") for row in rows if not row.sound] == ([] if sound else [what])
