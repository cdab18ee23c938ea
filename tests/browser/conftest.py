"""A headless Chromium for pages: skipped with a reason where there is none, a failure where CI=true."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PATHS = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")


def missing(reason: str) -> None:
    """A page that nobody opened is not a page that works: continuous integration must open it."""
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(f"no browser tests: {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser that ends with its file of tests: a page that a failed test left open goes on drawing."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed (pip install playwright)")
    found = next((path for path in PATHS if Path(path).exists()), None) or shutil.which("chromium")
    if found is None:
        missing("there is no Chromium on this machine (Debian: apt-get install chromium)")
    with sync_playwright() as start:
        drawing = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--mute-audio"]
        own = start.chromium.launch(executable_path=found, args=drawing)
        yield own
        own.close()


class Visit:
    """An open page, what its console said, and what it asked of the network."""

    def __init__(self, browser: Any, url: str, size: tuple[int, int] = (760, 520), **how: Any) -> None:
        self.context = browser.new_context(viewport={"width": size[0], "height": size[1]}, **how)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(url)
        self.until("Boolean(window.dalembert && window.dalembert.ready)")

    def read(self, script: str) -> Any:
        """What an expression gives in the page."""
        return self.page.evaluate(script)

    def until(self, script: str, patience: float = 30.0) -> None:
        """Wait for an expression to be true. (`wait_for_function` evaluates texts, which the page's policy forbids.)"""
        end = time.monotonic() + patience
        while not self.page.evaluate(script):
            assert time.monotonic() < end, f"{script} did not become true; the console said {self.said}"
            self.page.wait_for_timeout(30)

    def slide(self, selector: str, value: float) -> None:
        """Put a slider somewhere, as a hand does."""
        self.page.eval_on_selector(
            selector, "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input')); }", value
        )

    def quiet(self) -> None:
        """Nothing was complained about."""
        assert self.said == []


@pytest.fixture
def visit(browser: Any) -> Iterator[Any]:
    """Open a file or an address; closed when the test ends."""
    open_pages: list[Visit] = []

    def go(where: str | Path, at: str = "", **how: Any) -> Visit:
        url = where.as_uri() if isinstance(where, Path) else where
        open_pages.append(Visit(browser, url + at, **how))
        return open_pages[-1]

    yield go
    for one in open_pages:
        one.context.close()
