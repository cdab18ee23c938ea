"""Messages of the library, with options of the command line in place of Python arguments."""

from __future__ import annotations

from collections.abc import Callable, Collection

from dalembert.core.findings import Call, Part
from dalembert.core.text import to_option

NAMED = "NAME=VALUE"
# keyword -> options with this meaning, of which the command takes the first one that it has; value (None: of the text)
MEANT: dict[str, tuple[tuple[str, ...], str | None]] = {
    "start": (("--start",), NAMED), "velocity": (("--start",), NAMED), "guess": (("--guess",), NAMED),
    "rates": (("--rate",), NAMED), "hold": (("--hold",), NAMED), "inputs": (("--inputs", "--input"), NAMED),
    "outputs": (("--outputs",), "NAMES"), "coordinates": (("--independent", "--map"), "NAMES"),
    "until": (("--until",), None), "every": (("--every", "--resample"), None), "dt": (("--dt",), None),
    "time": (("--time",), None), "order": (("--order",), None), "step": (("--step",), None),
    "rtol": (("--rtol",), None), "max_steps": (("--max-steps",), None), "method": (("--method",), None),
    "P0": (("--P0",), None), "store": (("--store",), None), "structure": (("--model",), "MODEL"),
    "rows": (("--rows",), None), "detrend": (("--detrend",), None), "units": (("--unit",), "NAME=UNIT"),
    "workers": (("--workers",), None), "allow_outside": (("--allow-outside",), ""),
    "folders": (("--read",), "folders=DIR"), "base": (("--read",), "base=free"), "repair": (("--read",), "repair=yes"),
}  # fmt: skip
# a function of the library -> command, option or table with the same effect
COMMANDS = {
    "da.check": "dalembert check", "da.read_modes": "dalembert modes FILE", "da.read_record": "dalembert look FILE",
    "da.structures.correlate": "dalembert modes MODEL --compare FILE", "da.identify.repair": "--repair",
    "da.identify.trim": "--between", "da.identify.decimate": "--resample", "Record.resample": "--resample",
    "Mechanism.parameter": "the table [parameters] of the model file",
}  # fmt: skip


def speak_options(options: Collection[str]) -> Callable[[Part], str | None]:
    """Writer of advice for a command: an argument as its option, a function as a command or option of the same effect.

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
            equivalent = COMMANDS.get(part.function)
            if equivalent is None or not equivalent.startswith("--"):
                return equivalent
            values = [str(argument.value) for argument in part.arguments if argument.value is not None]
            return " ".join([equivalent, *values]) if equivalent in options else None
        wanted, takes = MEANT.get(part.name, ((f"--{part.name.replace('_', '-')}",), None))
        option = next((argument for argument in wanted if argument in options), None)
        if option is None:
            return None
        if isinstance(part.value, Call):
            inside = [text for text in map(speak, part.value.arguments) if text]
            return " ".join([option, to_option(part.value.function.rpartition(".")[2]), *inside])
        takes = "NAME=NAME" if option == "--map" else takes
        shown = takes if takes is not None else "" if part.value is None else str(part.value)
        return f"{option} {'NAMES' if option == '--inputs' and shown == NAMED else shown}".strip()

    return speak


def words(found: BaseException | str, options: Collection[str]) -> str:
    """The message of an error or a warning, with advice in the options of the command."""
    finding = getattr(found, "finding", None)
    return str(found) if finding is None else finding.text(speak_options(options))
