"""What a sampled run leaves to a linear model: no events, states between samples, the record."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.core.errors import DataError
from dalembert.core.findings import Advice, Argument
from dalembert.expressions import Array
from dalembert.linear import StateSpace
from dalembert.linear.recursions import compute_exact_steps
from dalembert.loop.sampled.plants import LinearPlant
from dalembert.record import Record


class LinearHost:
    """A state-space model in a sampled run."""

    def __init__(self, model: StateSpace, given: object) -> None:
        self.plant = LinearPlant(model, given)
        self.p, self.numbers = self.plant.p, self.plant.numbers

    def needs_detail(self, samples: Array, wanted: Array) -> bool:
        return False

    def moving(self, columns: Array) -> Array:
        return columns[:, 1:]

    def arm(self, run: object, x: Array) -> None:
        pass

    def check(self, rows: Array) -> None:
        return None

    def look(self, run: object, rows: Array) -> None:
        return None

    def inputs_at(self, times: Array, c: Array) -> Array:
        return c

    def between(self, run: Any, rows: Array, index: Array, wanted: Array) -> tuple[Array, Array]:
        """States between samples, exact."""
        model = self.plant.model
        if model.dt is not None or len(run.graph.pieces) > 1:
            raise DataError(
                "not-supported",
                "a record of this linear plant has samples of the loop only.",
                Advice(f"Leave out {{}}, or give multiples of {run.loop.dt:g} s.", Argument("every")),
            )
        c = run._part(rows, "c")[index]
        x = run._part(rows, "x")[index]
        Phi, Gamma, _ = compute_exact_steps(model.A, model.B, wanted - x[:, 0])
        states = np.einsum("kij,kj->ki", Phi, x[:, 1:]) + np.einsum("kij,kj->ki", Gamma, c)
        return np.column_stack((wanted, states)), c

    def record(
        self, columns: Array, inputs: Array, names: list[str], units: list[str], data: Array,
        **details: Any,
    ) -> Record:  # fmt: skip
        model = self.plant.model
        y = columns[:, 1:] @ model.C.T + inputs @ model.D.T
        every = (*model.states, *model.inputs, *model.outputs)
        keep = [k for k, name in enumerate(every) if name not in every[:k]]
        own = np.hstack((columns[:, 1:], inputs, y))[:, keep]
        all_names = (*(every[k] for k in keep), *names)
        all_units = (*(model.units.get(every[k], "") for k in keep), *units)
        return Record(columns[:, 0], np.hstack((own, data)), all_names, all_units, name=self.plant.name, **details)
