"""Reports: one self-contained HTML page of paragraphs, tables, formulas, figures and animations.

Figures are embedded as data, once for light screens and once for dark ones, and styles are in the page: the file can
be sent alone and needs no server.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import io
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from dalembert.core.atomic_files import write_text
from dalembert.core.errors import DalembertError
from dalembert.core.findings import Finding, Speaker
from dalembert.view.plots import themes
from dalembert.view.reports.mathml import mathml

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalembert.view.animation.animate import Animation

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark;
  --ink: #30343b; --soft: #5b616b; --line: #e3e6ea; --box: #f5f6f8; --paper: #ffffff; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --ink: #e6e9ee; --soft: #a5abb5; --line: #2b3038; --box: #1f242c; --paper: #14171c; }}
}}
body {{ font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 58rem;
  margin: 2rem auto; padding: 0 1rem; }}
h1 {{ font-size: 1.6rem; line-height: 1.25; text-wrap: balance; }}
h2 {{ font-size: 1.15rem; margin-top: 2.2rem; }}
figure {{ margin: 1rem 0; overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.92rem; }}
th, td {{ padding: 0.25rem 1.1rem 0.25rem 0; text-align: right; vertical-align: top; line-height: 1.35;
  border-bottom: 1px solid var(--line); white-space: nowrap; }}
th {{ vertical-align: bottom; white-space: normal; }}
th:last-child, td:last-child {{ padding-right: 0; }}
th:first-child, td:first-child, {left} {{ text-align: left; white-space: normal; }}
.picture {{ overflow-x: auto; }}
img {{ max-width: 100%; height: auto; display: block; }}
iframe {{ width: 100%; height: 44rem; box-sizing: border-box; display: block; border: 1px solid var(--line);
  border-radius: 8px; }}
figcaption {{ color: var(--soft); font-size: 0.92rem; margin: 0.35rem 0; }}
.formula {{ overflow-x: auto; overflow-y: hidden; margin: 0.4rem 0; padding: 0.15rem 0; }}
math {{ font-family: "STIX Two Math", "Latin Modern Math", "Cambria Math", "DejaVu Math TeX Gyre", math; }}
.formula math {{ font-size: 1.1em; text-align: left; width: max-content; margin: 0; }}
pre {{ background: var(--box); padding: 0.7rem; overflow-x: auto; font-size: 0.82rem; line-height: 1.35; }}
.origin {{ color: var(--soft); font-size: 0.85rem; overflow-wrap: anywhere; }}
.origin td {{ text-align: left; white-space: normal; }}
.origin td:first-child {{ white-space: nowrap; }}
@media (max-width: 40rem) {{
  {words} {{ min-width: 9rem; }}
  .origin td {{ display: block; border: 0; padding: 0 0 0.4rem 0; }}
  .origin td:first-child {{ color: var(--ink); padding: 0; }}
}}
@media print {{
  figure, tr, li {{ break-inside: avoid; }}
  h2, figcaption:first-child {{ break-after: avoid; }}
  iframe {{ height: 34rem; }}
  img {{ min-width: 0 !important; }}
}}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""
# A report loads nothing from a network. Its scripts, that of the workbench and that of the animations (a frame inherits
# this policy), are named by their hashes; a script inside a text would not run.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
_MOST_COLUMNS = 14
_LEFT = ", ".join(f".t{k} th:nth-child({k}), .t{k} td:nth-child({k})" for k in range(2, _MOST_COLUMNS + 1))
_WORDS = ", ".join(f".t{k} td:nth-child({k})" for k in range(2, _MOST_COLUMNS + 1))
DPI = 150
SCREEN = 109  # pixels of the page per inch of a figure: letters have one size on the whole page
READABLE = 0.7  # of that size: letters of 9 points are then 9.5 pixels high; a narrower screen scrolls
COLOURS = 256  # of a picture inside a page: a third of the bytes, without a visible difference
_NUMBER = re.compile(r"[-+−–±≤<>≈ \d.,e×/%°∞]*|yes|no")


@dataclass(frozen=True)
class Heading:
    """Begins a part of a page."""

    text: str


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Verbatim:
    """Text with aligned columns."""

    text: str


@dataclass(frozen=True)
class Formula:
    """A formula in LaTeX, shown as MathML; a long one scrolls."""

    latex: str


@dataclass(frozen=True)
class Listing:
    """Short texts one under the other."""

    lines: tuple[str, ...]


class Math(str):
    """A cell of a table that is a formula in LaTeX."""


@dataclass(frozen=True)
class Table:
    """Rows under their heads; the first column names the row. ``folded``: a title on which a click opens the table."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    folded: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure with its caption; ``name`` is that of its file where one is written."""

    name: str
    figure: Figure
    caption: str = ""


@dataclass(frozen=True)
class Moving:
    """An animation with its caption; it plays in a frame of its own. ``name`` is that of its file where one is
    written."""

    name: str
    animation: Animation
    caption: str = ""


@dataclass(frozen=True)
class Workbench:
    """Figures of an identification in which a reader can zoom and choose poles; pictures replace them in print and
    where no script runs. ``data`` : plain values and arrays, as the script in ``app/workbench`` takes them."""

    data: Mapping[str, Any]
    pictures: tuple[Picture, ...]


Piece = Heading | Text | Verbatim | Formula | Listing | Table | Picture | Moving | Workbench


def html_page(title: str, pieces: Iterable[Piece], provenance: Mapping[str, Any] | None = None) -> str:
    """The page as text; every text of the pieces is escaped.

    Parameters
    ----------
    title : above the page, and its name in a browser
    pieces : its contents, from top to bottom
    provenance : versions, seeds, origins; last on the page, a command below the title too

    Examples
    --------
    >>> page = html_page("Sway < 1 mm", [Text("It does not move.")], {"seed": 7})
    >>> "<h1>Sway &lt; 1 mm</h1>" in page, "<p>It does not move.</p>" in page
    (True, True)
    """
    listed = list(pieces)
    body = [_html(piece) for piece in listed]
    scripts = [_script_of_frames()] if any("<iframe " in piece for piece in body) else []
    more = _workbench_script() if any(isinstance(piece, Workbench) for piece in listed) else None
    hashes = " ".join(_hash(script) for script in (*scripts, *([more] if more else [])))
    policy = _POLICY + (f"; script-src {hashes}" if hashes else "")
    if provenance:
        rows = tuple((str(key), _plain(value)) for key, value in provenance.items())
        if "command" in provenance:
            body.insert(0, f'<p class="origin"><code>{escape(str(provenance["command"]))}</code></p>')
        body += [_html(Heading("Provenance")), f'<div class="origin">{_table((), rows, "")}</div>']
    body += [f"<script>{more}</script>"] if more else []
    return _PAGE.format(title=escape(title), left=_LEFT, words=_WORDS, policy=policy, body="\n".join(body))


def write_page(
    path: str | os.PathLike[str], title: str, pieces: Iterable[Piece], provenance: Mapping[str, Any] | None = None
) -> None:
    """Write :func:`html_page` to a file, whole or not at all."""
    write_text(path, html_page(title, pieces, provenance))


def list_warnings(findings: Iterable[Finding], speak: Speaker) -> list[Piece]:
    """Findings under a heading, with advice in the words of the reader; nothing where there are none."""
    texts = tuple(finding.text(speak) for finding in findings)
    return [Heading("Warnings"), Listing(texts)] if texts else []


def _html(piece: Piece) -> str:
    match piece:
        case Heading(text):
            return f"<h2>{escape(text)}</h2>"
        case Text(text):
            return f"<p>{escape(text)}</p>"
        case Verbatim(text):
            return f"<pre>{escape(text)}</pre>"
        case Formula(latex):
            return f'<div class="formula">{mathml(latex)}</div>'
        case Listing(lines):
            return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"
        case Table(head, rows, caption, folded):
            table = _table(head, rows, caption)
            return f"<details><summary>{escape(folded)}</summary>{table}</details>" if folded else table
        case Picture(name, figure, caption):
            image = f'<div class="picture">{picture(figure, caption or name)}</div>'
            return f"<figure>{image}<figcaption>{escape(caption)}</figcaption></figure>"
        case Moving(name, animation, caption):
            return f"<figure>{frame(animation, caption or name)}<figcaption>{escape(caption)}</figcaption></figure>"
        case Workbench(data, pictures):
            still = "".join(_html(still_picture) for still_picture in pictures)
            words = f'<script type="application/json">{data_text(data)}</script>'
            return f'<section class="workbench">{words}<div class="still">{still}</div></section>'


def frame(animation: Animation, title: str) -> str:
    """The animation as a page inside the page, or a sentence with the reason why there is none."""
    try:
        text = animation.html
    except DalembertError as error:
        return f"<p>{escape(str(error).splitlines()[0])}</p>"
    # scripts only: nothing in the picture can reach the page around it
    inside = text.replace("&", "&amp;").replace("'", "&#39;")
    return f"<iframe title='{escape(title)}' sandbox='allow-scripts' srcdoc='{inside}'></iframe>"


def _script_of_frames() -> str:
    """The script of the animations."""
    from dalembert.view.animation import page_build

    return page_build.template().rpartition("<script>")[2].partition("</script>")[0]


def _workbench_script() -> str | None:
    """The script of the workbench; None where it was not built, and the pictures stay."""
    from dalembert.view.animation import page_build

    try:
        return page_build.workbench_script()
    except page_build.PageError:
        return None


def _hash(script: str) -> str:
    """A script, as a policy names it."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    return f"'sha256-{digest}'"


def data_text(data: Mapping[str, Any]) -> str:
    """Plain values as JSON without characters that could end its HTML element; arrays as base64 of single precision.

    Examples
    --------
    >>> data_text({"name": "</script>", "hz": [0.5]})
    '{"name":"\\\\u003c/script\\\\u003e","hz":[0.5]}'
    """
    import numpy as np

    def plain(value: object) -> Any:
        if isinstance(value, np.ndarray):
            return {"f4": base64.b64encode(np.ascontiguousarray(value, dtype="<f4").tobytes()).decode("ascii")}
        if isinstance(value, Mapping):
            return {str(key): plain(entry) for key, entry in value.items()}
        if isinstance(value, list | tuple):
            return [plain(entry) for entry in value]
        return value.item() if isinstance(value, np.generic) else value

    text = json.dumps(plain(data), separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    under = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    lines = []
    if head:
        lines.append("<thead><tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in head) + "</tr></thead>")
    cells = ("".join(f"<td>{_cell(cell)}</td>" for cell in row) for row in rows)
    lines.append("<tbody>" + "\n".join(f"<tr>{row}</tr>" for row in cells) + "</tbody>")
    kind = f' class="{words}"' if (words := _columns_of_words(rows)) else ""
    return f"<figure>{under}<table{kind}>" + "\n".join(lines) + "</table></figure>"


def _cell(text: str) -> str:
    return mathml(text, block=False) if isinstance(text, Math) else escape(text)


def _columns_of_words(rows: Sequence[Sequence[str]]) -> str:
    """Classes of a table that name its columns of words, which begin on the left; numbers end on the right."""
    wide = max((len(row) for row in rows), default=0)
    columns = ([row[k] for row in rows if k < len(row)] for k in range(1, min(wide, _MOST_COLUMNS)))
    numbers = (k for k, cells in enumerate(columns, start=2) if not all(_NUMBER.fullmatch(cell) for cell in cells))
    return " ".join(f"t{k}" for k in numbers)


def _plain(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_plain(entry)}" for key, entry in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value))
    return str(value)


# ---- figures ---------------------------------------------------------------------------------------------------------


def png(figure: Figure) -> bytes:
    """A figure as a picture file in memory, in the style of all figures."""
    import matplotlib as mpl

    image = io.BytesIO()
    with mpl.rc_context(_style("light")):
        # without the program's own name and date: the same figure gives the same bytes
        figure.savefig(image, format="png", dpi=DPI, metadata={"Software": None})
    return image.getvalue()


def picture(figure: Figure, alt: str) -> str:
    """A figure as HTML: an image in the colours of the reader's screen."""
    width = round(SCREEN * float(figure.get_size_inches()[0]))
    least = f"min-width: {round(READABLE * width)}px"
    image = f'<img alt="{escape(alt)}" width="{width}" style="{least}" src="{_data(figure, "light")}">'
    if not _is_light(figure):
        return image
    dark = _data(_dark(figure), "dark")
    return f'<picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">{image}</picture>'


def _style(theme: str) -> Any:
    from dalembert.view.plots.figures import STYLE

    return themes.rc(STYLE, themes.theme(theme))


def _data(figure: Figure, theme: str) -> str:
    """A picture with few colours, as text."""
    from PIL import Image

    image = Image.fromarray(_pixels(figure, theme)).convert("RGB")
    small = io.BytesIO()
    image.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(small, format="PNG")
    return "data:image/png;base64," + base64.b64encode(small.getvalue()).decode("ascii")


def _pixels(figure: Figure, theme: str) -> Any:
    """(height, width, 4) of a figure, drawn once: ``savefig`` draws twice."""
    import matplotlib as mpl
    import numpy as np
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    dpi, own = figure.dpi, figure.canvas
    try:
        with mpl.rc_context(_style(theme)):
            figure.set_dpi(DPI)
            canvas: Any = FigureCanvasAgg(figure)
            canvas.draw()
            return np.array(canvas.buffer_rgba())
    finally:
        figure.set_dpi(dpi)
        figure.set_canvas(own)


def _is_light(figure: Figure) -> bool:
    """Whether a figure was drawn for white paper: then it has a dark side too."""
    from matplotlib.colors import to_rgb

    return sum(to_rgb(figure.get_facecolor())) > 2.9


def _dark(figure: Figure) -> Figure:
    """A copy in the colours of dark screens; the figure stays as it is."""
    from dalembert.view.plots.figures import NotebookFigure

    copied: Any = copy.deepcopy(figure)
    if copied.get_layout_engine() is not None:
        copied.set_layout_engine("none")  # places are those of the light picture, drawn before
    themes.recolor(copied, themes.theme("dark"))
    if isinstance(copied, NotebookFigure):
        copied.style = _style("dark")
    return copied  # type: ignore[no-any-return]
