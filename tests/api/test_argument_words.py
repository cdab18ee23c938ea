"""One word per argument: the same thing has the same name in every public signature."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import dalembert as da

ROOMS = ("linear", "structures", "identify", "estimate", "control", "tree", "symbolic", "sweeps")
# word -> the one to use for it
OTHERS = {
    "records": "record",  # one or several
    "data": "record",
    "run": "record",
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
    "precision": "tolerance",
    "random_state": "seed",
    "rng": "seed",
    "initial": "start",
    "n_modes": "count",
    "number": "count",
    "sampling": "dt",
    "Ts": "dt",
    "fs": "dt",
    "verbose": "progress",
    "thing": "result",
}
# results and records are made by functions; whoever makes one by hand names its fields
HELD = {"Record", "Data", "Estimate", "Synchronised", "HammerWindows", "Impacts"}


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


# One idea in two rooms: forward and inverse dynamics of a machine and, on arrays, of a tree; the equation of Udwadia
# and Kalaba as a control law and as a formalism. Bodies and laws are composed of parts: inertias of one body, and the
# slow and the fast law of two time scales, which the books call composite control.
SHARED = {"composite", "forward_dynamics", "inverse_dynamics", "linearize", "udwadia_kalaba"}


def test_a_public_name_has_one_meaning() -> None:
    names: dict[str, list[object]] = {}
    for room in (da, *(getattr(da, room) for room in ROOMS), da.math, da.symbolic.modular):
        for name in room.__all__:
            names.setdefault(name, []).append(getattr(room, name))
    different = {name for name, things in names.items() if any(one is not things[0] for one in things)}
    assert different == SHARED
