"""How a name is written in formulas: a letter with dots above and words below.

    crank.angle -> θ_crank ,   crank.angle.rate -> θ̇_crank ,   bob.e0 -> e_{0,bob} ,   theta1 -> θ₁ ,   line_mass as it is
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from html import escape

GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi chi "
    "psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"
).split()
_LETTERS = dict(zip(GREEK, "αβγδεζηθικλμνξοπρστυφχψωΓΔΘΛΞΠΣΦΨΩ", strict=True)) | {"lam": "λ"}
_LATEX = {letter: f"\\{name}" for name, letter in _LETTERS.items() if name != "lam"} | {"ο": "o"}
# the last word of a name, by which its letter is known
WORDS = {
    "angle": ("θ", 0), "displacement": ("s", 0), "rotation": ("ϑ", 0),
    "vx": ("x", 1), "vy": ("y", 1), "vz": ("z", 1), "x": ("x", 0), "y": ("y", 0), "z": ("z", 0),
}  # fmt: skip
_DOTS = {"rate": 1, "speed": 1, "acceleration": 2}
_LATEX["ϑ"] = "\\vartheta"


@dataclass(frozen=True)
class Symbol:
    """A letter or word, dots above it (time derivatives), words below it."""

    letter: str
    dots: int = 0
    below: tuple[str, ...] = ()

    @property
    def is_word(self) -> bool:
        return len(self.letter) > 1

    def latex(self) -> str:
        letter = f"\\mathrm{{{_escape(self.letter)}}}" if self.is_word else _LATEX.get(self.letter, _escape(self.letter))
        if self.dots:
            letter = f"\\{'d' * self.dots}ot{{{letter}}}"
        if not self.below:
            return letter
        words = ",".join(w if _short(w) else f"\\mathrm{{{_escape(w)}}}" for w in map(_escape_short, self.below))
        return f"{letter}_{{{words}}}"

    def mathml(self) -> str:
        """Presentation MathML."""
        upright = ' mathvariant="normal"' if self.is_word else ""
        inner = f"<mi{upright}>{escape(self.letter)}</mi>"
        if self.dots:
            inner = f'<mover accent="true">{inner}<mo>{"." * self.dots}</mo></mover>'
        if not self.below:
            return inner
        words = []
        for word in self.below:
            tag = "mn" if word.isdigit() else "mi" if len(word) == 1 else "mtext"
            words.append(f"<{tag}>{escape(word)}</{tag}>")
        return f"<msub>{inner}<mrow>{'<mo>,</mo>'.join(words)}</mrow></msub>"


def write_symbol(name: str) -> Symbol:
    """The symbol of a name.

    Examples
    --------
    >>> write_symbol("crank.angle.rate").latex(), write_symbol("theta1").latex(), write_symbol("line_mass").latex()
    ('\\\\dot{\\\\theta}_{\\\\mathrm{crank}}', '\\\\theta_{1}', '\\\\mathrm{line\\\\_mass}')
    """
    owner, _, last = name.rpartition(".")
    if owner and last in _DOTS:
        inner = write_symbol(owner)
        return replace(inner, dots=inner.dots + _DOTS[last])
    below = tuple(word for word in owner.split(".") if word)
    if owner and last in WORDS:
        letter, dots = WORDS[last]
        return Symbol(letter, dots, below)
    if owner and re.fullmatch(r"w[xyz]|e[0-3]", last):
        return Symbol("ω" if last[0] == "w" else "e", 0, (last[1], *below))
    if owner:
        inner = write_symbol(last)
        return replace(inner, below=(*inner.below, *below))
    stem = re.fullmatch(r"([A-Za-z]+?)_?(\d*)(?:_(\w+))?", name)
    if stem and (len(stem[1]) == 1 or stem[1] in _LETTERS):
        return Symbol(_LETTERS.get(stem[1], stem[1]), 0, tuple(part for part in (stem[2], stem[3]) if part))
    return Symbol(name)


def _short(word: str) -> bool:
    return len(word) == 1 or word.isdigit()


def _escape_short(word: str) -> str:
    return _escape(word) if len(word) == 1 else word


def _escape(text: str) -> str:
    """Text that LaTeX sets as it is."""
    special = {"\\": r"\backslash ", "^": r"\hat{}", "~": r"\sim "}
    return "".join(special.get(c, f"\\{c}" if c in "_#$%&{}" else c) for c in text)
