"""Formulas in a browser: MathML that is laid out, without a script and without a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.commands import run


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Any]:
    pages: list[Any] = []

    def go(*arguments: str, **how: Any) -> Any:
        file = tmp_path / "page.html"
        result = run("equations", *arguments, "--as", "html", "--out", file)
        assert result.exit_code == 0, result.output
        context = browser.new_context(offline=True, **{"viewport": {"width": 1000, "height": 900}, **how})
        page = context.new_page()
        page.said, page.asked = [], []
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(file.as_uri())
        pages.append(context)
        return page

    yield go
    for one in pages:
        one.close()


def test_formulas_are_laid_out_without_a_network(opened: Any) -> None:
    page = opened("four-bar")
    sizes = page.evaluate("[...document.querySelectorAll('math')].map(m => m.getBoundingClientRect().height)")
    assert len(sizes) > 20 and min(sizes) > 5
    # a fraction is taller than a letter, and its parts stand above each other: the browser knows MathML
    above, below = page.evaluate(
        "(() => { const f = document.querySelector('.formula mfrac'); "
        "return [...f.children].map(c => c.getBoundingClientRect().top); })()"
    )
    assert below > above + 5
    matrix = page.evaluate("[...document.querySelectorAll('mtable')].map(m => m.getBoundingClientRect().height)")
    assert max(matrix) > 100
    assert page.said == [] and [url for url in page.asked if url.startswith("http")] == []


def test_long_formulas_scroll_and_the_page_does_not_spill_on_a_phone(opened: Any) -> None:
    page = opened("four-bar", viewport={"width": 375, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    assert page.evaluate("[...document.querySelectorAll('.formula')].some(f => f.scrollWidth > f.clientWidth)")


def test_formulas_follow_a_dark_screen(opened: Any) -> None:
    page = opened("pendulum", color_scheme="dark")
    colour = page.evaluate("getComputedStyle(document.querySelector('.formula mi')).color")
    red = int(colour.removeprefix("rgb(").partition(",")[0])
    assert red > 150
