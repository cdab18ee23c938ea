"""LaTeX of derivations as MathML: whole, well formed, without a command that is not known."""

from __future__ import annotations

import xml.dom.minidom

import pytest

import dalembert as da
from dalembert.symbolic.from_mechanism import FORMALISMS
from dalembert.symbolic.text.printing import equations_in_latex
from dalembert.view.reports.mathml import mathml
from tests.helpers.repetitions import few

CASES = {
    r"x_{1}": "<msub><mi>x</mi><mn>1</mn></msub>",
    r"\dot{\theta}_{\mathrm{rod}}^{2}": (
        '<msubsup><mover accent="true"><mi>θ</mi><mo>˙</mo></mover><mrow><mtext>rod</mtext></mrow><mn>2</mn></msubsup>'
    ),
    r"\frac{a}{2}": "<mfrac><mi>a</mi><mn>2</mn></mfrac>",
    r"\sqrt{x}": "<msqrt><mi>x</mi></msqrt>",
    r"- 9.81 m": '<mo form="prefix">−</mo><mn>9.81</mn><mi>m</mi>',
    r"\left|{x}\right|": '<mrow><mo stretchy="true" form="prefix">|</mo>',
    r"\mathrm{line\_mass}": "<mtext>line_mass</mtext>",
    r"a \leq b": "<mi>a</mi><mo>≤</mo><mi>b</mi>",
    r"\text{for}\: x < 0": "<mtext>for</mtext>",
    r"\begin{cases} 1 & x \\ 0 & y \end{cases}": '<mtd style="text-align: left">',
    r"\unknown{x}": "<mtext>unknown</mtext>",
}


def parsed(text: str) -> xml.dom.minidom.Document:
    return xml.dom.minidom.parseString(text)


@pytest.mark.parametrize("latex", CASES)
def test_a_formula_has_its_mathml(latex: str) -> None:
    text = mathml(latex)
    assert CASES[latex] in text
    parsed(text)


@pytest.mark.parametrize(
    "latex", ["", "{", "}", "x_", r"\frac", r"\left(", r"\begin{matrix} 1", "a & b", r"\sqrt[3", "<&>"]
)
def test_a_broken_formula_is_still_a_formula(latex: str) -> None:
    parsed(mathml(latex))


def test_words_side_by_side_stay_apart() -> None:
    between = '<mtext>mass</mtext><mspace width="0.17em"></mspace>'
    assert between in mathml(r"\mathrm{mass} y") and between in mathml(r"\mathrm{mass} \sin{x}")
    assert "mspace" not in mathml(r"\sin{\left(x \right)}") and "mspace" not in mathml(r"\sin^{2}{\left(x \right)}")


def test_a_name_cannot_bring_markup_into_the_page() -> None:
    assert "<script" not in mathml(r"\mathrm{<script>}") and "<script" not in mathml(r"\operatorname{<script>}")


@pytest.mark.parametrize("formalism", few([name for name in FORMALISMS if name != "lagrange"], 2))  # it takes no loops
def test_every_formula_of_every_formalism_is_read_to_its_end(formalism: str) -> None:
    d = da.symbolic.from_mechanism(da.read_model("four-bar"), formalism)
    names = {one for name in (*d.system.coordinate_names, *d.system.parameter_values, *d.system.input_names)
             for one in name.split(".")}  # fmt: skip
    names |= {*d.system.bodies, "D", "zero", "other entries zero", "R", "for", "otherwise"}
    for step in (*d.steps, d.final):
        for line in (step.formula, *equations_in_latex(step.terms)):
            page = parsed(mathml(line))
            words = {one.firstChild.data for one in page.getElementsByTagName("mtext") if one.firstChild}
            assert words <= names | {"T", "rank", "row 1", "row 2"}, (step.title, line, words - names)  # speeds of rows


def test_piecewise_expressions_are_cases() -> None:
    import casadi as ca

    x = ca.SX.sym("x")
    (line,) = equations_in_latex([("y", ca.if_else(x < 0, -x, x**2))])
    assert '<mo stretchy="true" form="prefix">{</mo>' in mathml(line)
