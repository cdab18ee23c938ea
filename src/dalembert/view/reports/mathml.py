r"""Formulas as MathML, which every browser shows without a script and without a network.

The formulas of a derivation are LaTeX. This reads the part of LaTeX that they use: letters and numbers, indices and
powers, fractions and roots, accents, functions, brackets that grow, matrices and cases. Any other command is shown by
its name, so that nothing is lost.

    row      = item ...
    item     = atom [_ atom] [^ atom]
    atom     = letter | number | sign | { row } | \command ... | \left( row \right)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[0-9]+(?:\.[0-9]+)?|\s+|.", re.DOTALL)
NAMES = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi "
    "omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega varepsilon vartheta varphi varrho "
    "partial nabla infty ell hbar"
)
LETTERS = dict(zip(NAMES.split(), "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩεϑφϱ∂∇∞ℓℏ", strict=True))
SIGNS = {
    "cdot": "·", "times": "×", "pm": "±", "mp": "∓", "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "neq": "≠",
    "ne": "≠", "equiv": "≡", "approx": "≈", "in": "∈", "to": "→", "rightarrow": "→", "Rightarrow": "⇒", "sum": "∑",
    "prod": "∏", "int": "∫", "vee": "∨", "wedge": "∧", "neg": "¬", "lor": "∨", "land": "∧", "lnot": "¬", "dots": "…",
    "ldots": "…",
    "cdots": "⋯", "vdots": "⋮", "circ": "∘", "bullet": "•", "ast": "∗", "top": "⊤", "dagger": "†", "forall": "∀",
    "mid": "|", "vert": "|", "|": "‖", "Vert": "‖", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉",
    "langle": "⟨", "rangle": "⟩", "{": "{", "}": "}", "lbrace": "{", "rbrace": "}", "prime": "′", "perp": "⊥",
    "lvert": "|", "rvert": "|", "mapsto": "↦", "setminus": "∖",
}  # fmt: skip
FUNCTIONS = frozenset(
    [
        "sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "exp", "log",
        "ln", "min", "max", "det", "rank", "sup", "inf", "lim", "arg", "sgn",
    ]
)  # fmt: skip
SPACES = {",": 0.17, ":": 0.22, ";": 0.28, "!": -0.17, " ": 0.25, "quad": 1.0, "qquad": 2.0, "enspace": 0.5}
ACCENTS = {"dot": "˙", "ddot": "¨", "hat": "^", "widehat": "^", "tilde": "~", "bar": "¯", "overline": "¯",
           "vec": "→"}  # fmt: skip
UPRIGHT = {"mathbb", "mathrm", "operatorname", "text", "textrm", "mathit", "mathbf", "boldsymbol", "mathsf", "mathcal"}
FENCES = {"matrix": ("", ""), "bmatrix": ("[", "]"), "pmatrix": ("(", ")"), "vmatrix": ("|", "|"), "array": ("", ""),
          "smallmatrix": ("", ""), "cases": ("{", ""), "aligned": ("", ""), "align": ("", "")}  # fmt: skip
WORD = re.compile(r'(<msub>|<msup>|<msubsup>)*(<mtext>|<mi mathvariant="normal">)')  # begins an item
OPENING = re.compile(r"(<mrow>)*<mo|<mspace")
IGNORED = frozenset(["displaystyle", "textstyle", "limits", "nolimits", "left", "right", "big", "Big", "bigl", "bigr"])


def mathml(latex: str, *, block: bool = True) -> str:
    """A formula of LaTeX as MathML.

    Examples
    --------
    >>> mathml(r"\\frac{x_{1}}{2}", block=False)
    '<math><mrow><mfrac><mrow><msub><mi>x</mi><mn>1</mn></msub></mrow><mn>2</mn></mfrac></mrow></math>'
    """
    shown = _Reader(latex).read()
    return f'<math display="block">{shown}</math>' if block else f"<math>{shown}</math>"


class _Reader:
    """One pass over the tokens of a formula."""

    def __init__(self, latex: str) -> None:
        self.tokens = TOKEN.findall(latex)
        self.at = 0

    def read(self) -> str:
        parts = []
        while self.at < len(self.tokens):
            parts.append(self._row(lambda token: False))
            self.at += 1  # a closing mark without an opening one
        return "".join(parts)

    # -- tokens --------------------------------------------------------------------------------------------------------
    def _peek(self) -> str:
        while self.at < len(self.tokens) and self.tokens[self.at].isspace():
            self.at += 1
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self.at += 1
        return token

    def _group_text(self) -> str:
        """The text of a group, unchanged: names may contain spaces and signs."""
        if self._peek() != "{":
            return self._next().lstrip("\\")
        self.at += 1
        depth, text = 1, []
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            depth += {"{": 1, "}": -1}.get(token, 0)
            if not depth:
                break
            text.append({r"\ ": " ", r"\backslash": "\\"}.get(token, token[1:] if token.startswith("\\") else token))
        return "".join(text)

    # -- rows and items ----------------------------------------------------------------------------------------
    def _row(self, ends: Callable[[str], bool]) -> str:
        items: list[str] = []
        while (token := self._peek()) and not ends(token) and token not in ("}", "&", r"\\", r"\right", r"\end"):
            item = self._item(starts=not items)
            beside = items and not items[-1].endswith(("</mo>", "</mspace>")) and not OPENING.match(item)
            if beside and (WORD.match(item) or WORD.match(items[-1])):
                items.append('<mspace width="0.17em"></mspace>')  # words side by side are a product, not one word
            items.append(item)
        return f"<mrow>{''.join(items)}</mrow>"

    def _item(self, *, starts: bool = False) -> str:
        base = self._atom(starts=starts)
        below = above = ""
        while self._peek() in ("_", "^"):
            if self._next() == "_":
                below = self._script()
            else:
                above = self._script()
        if below and above:
            return f"<msubsup>{base}{below}{above}</msubsup>"
        if below or above:
            tag = "msub" if below else "msup"
            return f"<{tag}>{base}{below or above}</{tag}>"
        return base

    def _script(self) -> str:
        inner = self._atom()
        # one symbol needs no row around it
        single = re.fullmatch(r"<mrow>(<(mi|mn|mo)[^>]*>[^<]*</\2>)</mrow>", inner)
        return single[1] if single else inner

    def _atom(self, *, starts: bool = False) -> str:
        token = self._next()
        if token == "{":
            inner = self._row(lambda one: one == "}")
            self._close("}")
            return inner
        if token.startswith("\\"):
            return self._command(token[1:])
        if token[:1].isdigit():
            return f"<mn>{token}</mn>"
        if token.isalpha():
            return f"<mi>{escape(token)}</mi>"
        if token == "-":
            return f'<mo form="{"prefix" if starts else "infix"}">−</mo>'
        if token == "'":
            return "<mo>′</mo>"
        if token in "()[]|":
            return f'<mo stretchy="false">{token}</mo>'
        return f"<mo>{escape(token)}</mo>" if token else "<mrow></mrow>"

    def _close(self, mark: str) -> None:
        if self._peek() == mark:
            self.at += 1

    # -- commands ----------------------------------------------------------------------------------------------
    def _command(self, name: str) -> str:
        if name in LETTERS:
            return f"<mi>{LETTERS[name]}</mi>"
        if name in SIGNS:
            return f"<mo>{escape(SIGNS[name])}</mo>"
        if name in FUNCTIONS:
            return self._function(name)
        if name in SPACES:
            return f'<mspace width="{SPACES[name]}em"></mspace>'
        if name in ("frac", "dfrac", "tfrac"):
            return f"<mfrac>{self._argument()}{self._argument()}</mfrac>"
        if name == "sqrt":
            return self._root()
        if name in ACCENTS:
            return f'<mover accent="true">{self._argument()}<mo>{ACCENTS[name]}</mo></mover>'
        if name in UPRIGHT:
            return self._upright(name)
        if name == "left":
            return self._read_pair_of_fences()
        if name == "begin":
            return self._table(self._group_text())
        if name in IGNORED:
            return self._atom()
        return f"<mtext>{escape(name)}</mtext>"

    def _argument(self) -> str:
        return self._script()

    def _function(self, name: str) -> str:
        return f'<mi mathvariant="normal">{escape(name)}</mi>' + (
            "" if self._peek() in ("_", "^") else "<mo>&#8289;</mo>"
        )

    def _root(self) -> str:
        if self._peek() == "[":
            self.at += 1
            index = self._row(lambda one: one == "]")
            self._close("]")
            return f"<mroot>{self._argument()}{index}</mroot>"
        return f"<msqrt>{self._argument()}</msqrt>"

    def _upright(self, name: str) -> str:
        text = self._group_text()
        if name == "operatorname":
            return self._function(text)
        if name in ("mathbf", "boldsymbol") and len(text) == 1:
            return f'<mi mathvariant="bold">{escape(text)}</mi>'
        if name in ("mathbf", "boldsymbol", "mathcal", "mathsf", "mathit") and text in LETTERS:
            return f"<mi>{LETTERS[text]}</mi>"
        return f"<mtext>{escape(text)}</mtext>" if len(text) > 1 else f'<mi mathvariant="normal">{escape(text)}</mi>'

    def _read_pair_of_fences(self) -> str:
        opening = self._fence()
        inner = self._row(lambda one: one == r"\right")
        closing = ""
        if self._peek() == r"\right":
            self.at += 1
            closing = self._fence()
        return _fence(opening, inner, closing)

    def _fence(self) -> str:
        mark = self._next()
        return "" if mark == "." else SIGNS.get(mark[1:], mark) if mark.startswith("\\") else mark

    def _table(self, name: str) -> str:
        if name == "array":
            self._group_text()  # the alignment of its columns
        rows: list[list[str]] = [[]]
        while self.at < len(self.tokens):
            rows[-1].append(self._row(lambda one: False))
            token = self._next()
            if token == r"\\":
                rows.append([])
            elif token == r"\end":
                self._group_text()
                break
            elif token == "":
                break
        if rows and all(one == "<mrow></mrow>" for one in rows[-1]):
            rows.pop()
        tall = ' displaystyle="true"' if name.startswith("align") else ""
        lines = "".join(
            "<mtr>" + "".join(f"<mtd{_side(name, k)}>{cell}</mtd>" for k, cell in enumerate(row)) + "</mtr>"
            for row in rows
        )
        opening, closing = FENCES.get(name, ("", ""))
        return _fence(opening, f"<mtable{tall}>{lines}</mtable>", closing)


def _side(table: str, column: int) -> str:
    """Alignment of the contents of a cell."""
    if table == "cases":
        return ' style="text-align: left"'
    if table.startswith("align"):
        return f' style="text-align: {("right", "left")[column % 2]}; padding-inline: 0.1em"'
    return ""


def _fence(opening: str, inner: str, closing: str) -> str:
    marks = [
        f'<mo stretchy="true" form="{form}">{escape(mark)}</mo>' if mark else ""
        for mark, form in ((opening, "prefix"), (closing, "postfix"))
    ]
    return f"<mrow>{marks[0]}{inner}{marks[1]}</mrow>" if any(marks) else inner
