"""The report of a run in a browser: the machine moves inside the page, and nothing is complained about."""

from __future__ import annotations

from tests.commands import run


def test_the_machine_moves_inside_the_report(browser, tmp_path):
    file = tmp_path / "page.html"
    assert run("simulate", "pendulum", "--until", 1, "--report", file).exit_code == 0
    context = browser.new_context(viewport={"width": 1000, "height": 900})
    page = context.new_page()
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    inner = next(frame for frame in page.frames if frame.parent_frame is not None)
    for _ in range(600):
        if inner.evaluate("Boolean(window.dalembert && window.dalembert.ready)"):
            break
        page.wait_for_timeout(50)
    else:
        raise AssertionError(f"the animation did not start: {said}")
    assert inner.query_selector("canvas") is not None
    assert said == []
    assert [url for url in asked if url.startswith("http")] == []
    context.close()
