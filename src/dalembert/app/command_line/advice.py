"""Errors of the library in the words of the command line: its advice names Python keywords, a user types options."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from dalembert.core.findings import Call, Part
from dalembert.core.text import dashed

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
    "structure": (("--model",), "MODEL"),
    "rows": (("--rows",), None),
    "detrend": (("--detrend",), None),
    "workers": (("--workers",), None),
    "allow_outside": (("--allow-outside",), ""),
}
# a function of the library -> what a user of the shell does instead
COMMANDS = {
    "da.check": "dalembert check",
    "da.identify.repair": "--repair",
    "da.identify.trim": "--between",
    "da.identify.decimate": "--resample",
    "Record.resample": "--resample",
    "Mechanism.parameter": "the table [parameters] of the model file",
}
VALUE = r"""da\.(?P<kind>\w+)\((?P<inside>[^()]*)\)|\{[^{}]*\}|\[[^\[\]]*\]|'[^']*'|"[^"]*"|-?[\w+-]+(?:\.\w+)*"""
KEYWORD = re.compile(rf"(?<![\w.'\"-])(?P<key>{'|'.join(MEANT)})=(?P<value>{VALUE})?(?P<dots>\.\.\.)?")
METHOD = re.compile(r"(?<!=)\bda\.(RK4|DormandPrince|Rosenbrock|GeneralizedAlpha|Sundials)\(([^()]*)\)")
CALL = re.compile(r"\b(?:record\.)?resample\(every=([^()]*)\)")
# a command writes what there is, or says that it did
HELD = re.compile(r"(?<=\.) error\.record holds [^.;]*\.|(?:;| and)? ?\berror\.record holds [^.;]*")
DECLARED = "Declare it with m.parameter(name, value) before da.equations(m)."
# functions of `da.identify` -> the option that does the same
FUNCTIONS = {"repair": "--repair", "trim": "--between", "decimate": "--resample"}
FUNCTION = re.compile(rf"\b(?:da\.)?identify\.({'|'.join(FUNCTIONS)})\b(?:\([^()]*\))?(?:\.record)?")
OPTION = re.compile(r"--[\w-]+(?: \"[^\"]*\"| [^\s.,;:()]+(?:[.:]\w+)*)?")
PYTHON = re.compile(r"\bda\.[A-Za-z_]|\bidentify\.[a-z]|\brecord\.\w+\(|(?<![\w.'\"`{-])[A-Za-z_]\w*=(?!=)")
CALLED = re.compile(r"\bda\.[a-z]\w*(?:\.\w+)*\b|\bidentify\.[a-z]\w*|\brecord\.\w+\(")
KEY = re.compile(r"(?<![\w.'\"`{-])([A-Za-z_]\w*)=(?!=)(?:\.\.\.|\[\.\.\.\]|\{\.\.\.\}|\(\.\.\.\))?(?=(\S)?)")
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z(])")
CLAUSE = re.compile(r"(?:[;:,]| or| and)? *\([^()]*\)|[;,:] [^;,:]*|(?: or| and) [^;,:]*")
BARE = re.compile(r"(?<=[Gg]ive )P0\b(?!=)")


def speak_options(options: Collection[str]) -> Callable[[Part], str | None]:
    """Speaker of a command: an argument as its option, a function as the command or option that does the same.

    Examples
    --------
    >>> from dalembert.core.findings import Argument
    >>> speak = speak_options(["--method", "--step", "--start"])
    >>> speak(Argument("method", Call("da.GeneralizedAlpha", Argument("step", 0.001)))), speak(Argument("start"))
    ('--method generalized-alpha --step 0.001', '--start NAME=VALUE')
    >>> speak_options(["--resample"])(Call("Record.resample", Argument("every", 0.01)))
    '--resample 0.01'
    >>> speak(Argument("form", "square-root")) is None
    True
    """

    def speak(part: Part) -> str | None:
        if isinstance(part, Call):
            said = COMMANDS.get(part.function)
            if said is None or not said.startswith("--"):
                return said
            values = [str(one.value) for one in part.arguments if one.value is not None]
            return " ".join([said, *values]) if said in options else None
        wanted, takes = MEANT.get(part.name, ((f"--{part.name.replace('_', '-')}",), None))
        option = next((one for one in wanted if one in options), None)
        if option is None:
            return None
        if isinstance(part.value, Call):
            inside = [text for text in map(speak, part.value.arguments) if text]
            return " ".join([option, dashed(part.value.function.rpartition(".")[2]), *inside])
        shown = takes if takes is not None else "" if part.value is None else str(part.value)
        return f"{option} {'NAMES' if option == '--inputs' and shown == NAMED else shown}".strip()

    return speak


def words(found: BaseException | str, options: Collection[str]) -> str:
    """The message of an error or a warning, with advice in the options of the command."""
    finding = getattr(found, "finding", None)
    return finding.text(speak_options(options)) if finding and finding.code else in_options(str(found), options)


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
    "Use form 'square-root'."
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
            value = " ".join([dashed(found["kind"]), *_options(found["inside"], options)])
        shown = value.strip("'\"") if takes is None else takes
        return f"{option} {shown}" if shown else option

    text = HELD.sub("", message).replace(DECLARED, "Declare it under [parameters] in the model file.")
    if "--resample" in options:
        text = CALL.sub(r"--resample \1", text)
    if "--method" in options:
        text = METHOD.sub(lambda m: " ".join(["--method", dashed(m[1]), *_options(m[2], options)]), text)
    if "--rate" in options:
        text = text.replace("leave one free (None)", "leave one free (NAME=free)")
    if "--P0" in options:
        text = BARE.sub("--P0", text)
    text = FUNCTION.sub(lambda m: FUNCTIONS[m[1]] if FUNCTIONS[m[1]] in options else m.group(), text)
    return without_python(KEYWORD.sub(said, text).replace("--max-steps of the method", "--max-steps"))


def without_python(text: str) -> str:
    """A message without the advice that only a program could follow: its sentence, or its clause of the first one.

    Examples
    --------
    >>> without_python("The record drifts. Use da.identify.highpass. Use --detrend linear.")
    'The record drifts. Use --detrend linear.'
    >>> without_python("The machine sticks there (da.check says where); start elsewhere.")
    'The machine sticks there; start elsewhere.'
    """

    first, *others = SENTENCE.split(text)
    spoken = (
        CLAUSE.sub(lambda m: "" if CALLED.search(m.group()) else m.group(), first) if CALLED.search(first) else first
    )
    spoken = spoken if spoken.endswith((".", "!", "?")) or spoken == first else f"{spoken}."
    return " ".join([_plain(spoken), *(part for part in others if not _speaks_python(part))])


def _speaks_python(part: str) -> bool:
    return PYTHON.search(OPTION.sub("--option", part)) is not None


def _bare(found: re.Match[str]) -> str:
    return f"{found[1]} " if found[2] and found[2] not in ",.;:)" else found[1]


def _plain(sentence: str) -> str:
    """Keywords and types by their bare names, as a model file knows them; options and their values stay."""
    return "".join(
        part if part.startswith("--") else KEY.sub(_bare, part.replace("da.", ""))
        for part in re.split(f"({OPTION.pattern})", sentence)
        if part
    )


def _options(arguments: str, options: Collection[str]) -> list[str]:
    """Arguments of a call as options: step=1e-3, --step 1e-3."""
    pairs = (one.partition("=") for one in arguments.split(","))
    return [
        f"--{key.strip()} {value.strip()}".strip()
        for key, sign, value in pairs
        if sign and f"--{key.strip()}" in options
    ]
