"""Reports: one self-contained HTML page of paragraphs, tables and figures.

Figures are embedded as data, styles stand in the page: the file can be sent by itself, and asks no server for anything.
"""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from dalembert.files.atomic import write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; color: #30343b; max-width: 58rem; margin: 2rem auto; padding: 0 1rem; }}
h1 {{ font-size: 1.6rem; line-height: 1.25; }}
h2 {{ font-size: 1.15rem; margin-top: 2rem; }}
table {{ border-collapse: collapse; margin: 0.8rem 0; font-variant-numeric: tabular-nums; font-size: 0.92rem; }}
th, td {{ padding: 0.2rem 0.8rem 0.2rem 0; text-align: right; border-bottom: 1px solid #e3e6ea; }}
th:first-child, td:first-child {{ text-align: left; }}
caption {{ text-align: left; color: #5b616b; padding-bottom: 0.3rem; }}
figure {{ margin: 1rem 0; overflow-x: auto; }}
img {{ max-width: 100%; height: auto; }}
figcaption {{ color: #5b616b; font-size: 0.92rem; }}
pre {{ background: #f5f6f8; padding: 0.7rem; overflow-x: auto; font-size: 0.82rem; line-height: 1.35; }}
.origin {{ color: #5b616b; font-size: 0.85rem; overflow-wrap: anywhere; }}
.origin td {{ text-align: left; }}
@media (prefers-color-scheme: dark) {{
  :root {{ color-scheme: dark; }}
  body {{ background: #14171c; color: #e6e9ee; }}
  th, td {{ border-color: #2b3038; }}
  caption, figcaption, .origin {{ color: #a5abb5; }}
  pre {{ background: #1f242c; }}
  img {{ background: #ffffff; border-radius: 6px; }}
}}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


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
    """Text in which columns stand under one another."""

    text: str


@dataclass(frozen=True)
class Listing:
    """Short texts one under the other."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """Rows under their heads; the first column names the row."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""


@dataclass(frozen=True)
class Picture:
    """A figure with what it shows; ``name`` is that of its file where one is written."""

    name: str
    figure: Figure
    caption: str = ""


Piece = Heading | Text | Verbatim | Listing | Table | Picture


def html_page(title: str, pieces: Iterable[Piece], provenance: Mapping[str, Any] | None = None) -> str:
    """The page as text; every text of the pieces is escaped.

    Parameters
    ----------
    title : above the page, and its name in a browser
    pieces : what stands on it, from top to bottom
    provenance : versions, seeds, origins; last on the page

    Examples
    --------
    >>> page = html_page("Sway < 1 mm", [Text("It does not move.")], {"seed": 7})
    >>> "<h1>Sway &lt; 1 mm</h1>" in page, "<p>It does not move.</p>" in page
    (True, True)
    """
    body = [_html(piece) for piece in pieces]
    if provenance:
        rows = tuple((str(key), _plain(value)) for key, value in provenance.items())
        body += [_html(Heading("Provenance")), f'<div class="origin">{_table((), rows, "")}</div>']
    return _PAGE.format(title=escape(title), body="\n".join(body))


def write_page(
    path: str | os.PathLike[str], title: str, pieces: Iterable[Piece], provenance: Mapping[str, Any] | None = None
) -> None:
    """Write :func:`html_page` to a file, whole or not at all."""
    write_text(path, html_page(title, pieces, provenance))


def png(figure: Figure) -> bytes:
    """A figure as a picture file in memory, in the style of all figures."""
    import matplotlib as mpl

    from dalembert.view.figures import STYLE

    image = io.BytesIO()
    with mpl.rc_context(STYLE):
        # without the program's own name and date: the same figure gives the same bytes
        figure.savefig(image, format="png", dpi=150, metadata={"Software": None})
    return image.getvalue()


def _html(piece: Piece) -> str:
    match piece:
        case Heading(text):
            return f"<h2>{escape(text)}</h2>"
        case Text(text):
            return f"<p>{escape(text)}</p>"
        case Verbatim(text):
            return f"<pre>{escape(text)}</pre>"
        case Listing(lines):
            return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"
        case Table(head, rows, caption):
            return _table(head, rows, caption)
        case Picture(name, figure, caption):
            data = base64.b64encode(png(figure)).decode("ascii")
            image = f'<img alt="{escape(caption or name)}" src="data:image/png;base64,{data}">'
            return f"<figure>{image}<figcaption>{escape(caption)}</figcaption></figure>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    lines = [f"<caption>{escape(caption)}</caption>"] if caption else []
    if head:
        lines.append("<thead><tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in head) + "</tr></thead>")
    cells = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows)
    lines.append("<tbody>" + "\n".join(f"<tr>{row}</tr>" for row in cells) + "</tbody>")
    return "<table>" + "\n".join(lines) + "</table>"


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_plain(one)}" for key, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value))
    return str(value)
