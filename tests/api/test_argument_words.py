"""One word per argument: the same thing has the same name in every public signature."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import dalembert as da

ROOMS = ("linear", "structures", "identify", "estimate", "control", "sweeps")
# word -> the one to use for it
OTHERS = {
    "records": "record",  # one or several
    "data": "record",
    "file": "path",
    "filename": "path",
    "duration": "until",
    "end_time": "until",
    "t_end": "until",
    "Qn": "Q",
    "Rn": "R",
    "Nn": "N",
    "process_noise": "Q",
    "measurement_noise": "R",
    "tol": "tolerance",
    "random_state": "seed",
    "rng": "seed",
    "initial": "start",
    "n_modes": "count",
    "number": "count",
    "sampling": "dt",
    "Ts": "dt",
    "fs": "dt",
    "verbose": "progress",
}
# results and records are made by functions; whoever makes one by hand names its fields
HELD = {"Record", "Data", "Estimate", "Synchronised", "HammerWindows"}


def signatures() -> Iterator[tuple[str, inspect.Signature]]:
    """Public functions, and the makers and methods of public classes that a user calls."""
    for room in (None, *ROOMS):
        module = da if room is None else getattr(da, room)
        for name in module.__all__:
            thing = getattr(module, name)
            if not callable(thing) or name in HELD:
                continue
            yield f"{room or 'da'}.{name}", inspect.signature(thing)
            for method, function in vars(thing).items() if isinstance(thing, type) else ():
                if inspect.isfunction(function) and not method.startswith("_"):
                    yield f"{room or 'da'}.{name}.{method}", inspect.signature(function)


def test_one_word_per_argument() -> None:
    wrong = [
        f"{name}({word}): write {OTHERS[word]}"
        for name, found in signatures()
        for word in found.parameters
        if word in OTHERS
    ]
    assert not wrong, "\n".join(wrong)
