"""Errors of the library in the words of the command line: its advice names Python keywords, a user types options."""

from __future__ import annotations

import re
from collections.abc import Collection

NAMED = "NAME=VALUE"
# keyword -> options that mean it, the first that the command has, and what they take (None: the value of the text)
MEANT: dict[str, tuple[tuple[str, ...], str | None]] = {
    "start": (("--start",), NAMED),
    "velocity": (("--start",), NAMED),
    "guess": (("--guess",), NAMED),
    "rates": (("--rate",), NAMED),
    "hold": (("--hold",), NAMED),
    "inputs": (("--inputs", "--input"), NAMED),
    "outputs": (("--outputs",), "NAMES"),
    "coordinates": (("--coordinates",), "NAMES"),
    "until": (("--until",), None),
    "every": (("--every", "--resample"), None),
    "dt": (("--dt",), None),
    "time": (("--time",), None),
    "order": (("--order",), None),
    "step": (("--step",), None),
    "rtol": (("--rtol",), None),
    "max_steps": (("--max-steps",), None),
    "method": (("--method",), None),
    "P0": (("--P0",), None),
    "store": (("--store",), None),
    "allow_outside": (("--allow-outside",), ""),
}
VALUE = r"""da\.(?P<kind>\w+)\((?P<inside>[^()]*)\)|\{[^{}]*\}|\[[^\[\]]*\]|'[^']*'|"[^"]*"|-?[\w+-]+(?:\.\w+)*"""
KEYWORD = re.compile(rf"(?<![\w.'\"-])(?P<key>{'|'.join(MEANT)})=(?P<value>{VALUE})?(?P<dots>\.\.\.)?")
METHOD = re.compile(r"(?<!=)\bda\.(RK4|DormandPrince|Rosenbrock|GeneralizedAlpha|Sundials)\(([^()]*)\)")
CALL = re.compile(r"\b(?:record\.)?resample\(every=([^()]*)\)")
# a command writes what there is, or says that it did
HELD = re.compile(r"(?<=\.) error\.record holds [^.;]*\.|(?:;| and)? ?\berror\.record holds [^.;]*")
DECLARED = "Declare it with m.parameter(name, value) before da.equations(m)."
BARE = re.compile(r"(?<=[Gg]ive )P0\b(?!=)")


def in_options(message: str, options: Collection[str]) -> str:
    """The message with keywords of Python functions replaced by the options of a command that mean the same.

    Examples
    --------
    >>> in_options("Nothing balances it: give start= or guess={...}.", ["--start", "--guess"])
    'Nothing balances it: give --start NAME=VALUE or --guess NAME=VALUE.'
    >>> in_options("Try method=da.GeneralizedAlpha(step=1e-3).", ["--method", "--step"])
    'Try --method generalized-alpha --step 1e-3.'
    >>> in_options("Try method=da.Rosenbrock(), da.GeneralizedAlpha(step=) or a tolerance.", ["--method", "--step"])
    'Try --method rosenbrock, --method generalized-alpha --step or a tolerance.'
    >>> in_options("Use form='square-root'.", ["--method"])
    "Use form='square-root'."
    >>> in_options("interrupted at t = 1 s; error.record holds the run so far.", [])
    'interrupted at t = 1 s.'
    >>> in_options("It diverges. error.record holds the run until then.", [])
    'It diverges.'
    """

    def said(found: re.Match[str]) -> str:
        wanted, takes = MEANT[found["key"]]
        option = next((one for one in wanted if one in options), None)
        if option is None:
            return found.group()
        if option == "--inputs" and takes == NAMED:
            takes = "NAMES"
        value = found["value"] or ""
        if found["kind"]:
            value = " ".join([_dashed(found["kind"]), *_options(found["inside"], options)])
        shown = value.strip("'\"") if takes is None else takes
        return f"{option} {shown}" if shown else option

    text = HELD.sub("", message).replace(DECLARED, "Declare it under [parameters] in the model file.")
    if "--resample" in options:
        text = CALL.sub(r"--resample \1", text)
    if "--method" in options:
        text = METHOD.sub(lambda m: " ".join(["--method", _dashed(m[1]), *_options(m[2], options)]), text)
    if "--rate" in options:
        text = text.replace("leave one free (None)", "leave one free (NAME=free)")
    if "--P0" in options:
        text = BARE.sub("--P0", text)
    return KEYWORD.sub(said, text)


def _dashed(name: str) -> str:
    """A class of Python as a choice of an option: GeneralizedAlpha, generalized-alpha."""
    return name.lower() if name.isupper() or name[-1].isdigit() else re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


def _options(arguments: str, options: Collection[str]) -> list[str]:
    """Arguments of a call as options: step=1e-3, --step 1e-3."""
    pairs = (one.partition("=") for one in arguments.split(","))
    return [
        f"--{key.strip()} {value.strip()}".strip()
        for key, sign, value in pairs
        if sign and f"--{key.strip()}" in options
    ]
