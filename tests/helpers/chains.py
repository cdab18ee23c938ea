"""What several tests reduce and join: chains and membranes of springs and masses, and every reduction by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from dalembert.linear import SecondOrder
from dalembert.structures import (
    Reduction,
    condense_dynamic,
    condense_static,
    condense_substructures,
    craig_bampton,
    guyan,
    irs,
    macneal,
    rubin,
    serep,
    truncate_modal,
)


def chain(n: int = 6, *, held: bool = True, sparse: bool = False, **more: object) -> SecondOrder:
    """n masses in a row, springs of 1; coordinates p1.x, p2.x, ..."""
    K = scipy.sparse.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1]).tolil()
    K[n - 1, n - 1] = 1.0
    if not held:
        K[0, 0] = 1.0
    M = scipy.sparse.diags_array(np.linspace(1.0, 2.0, n))
    names = [f"p{i + 1}.x" for i in range(n)]
    system = SecondOrder(M.toarray(), K.toarray(), coordinates=names, **more)  # type: ignore[arg-type]
    return system.sparse() if sparse else system


def grid(nx: int, ny: int, *, held: bool = True, seed: int = 0) -> SecondOrder:
    """A membrane of nx x ny masses, large enough for Lanczos; slightly irregular so that frequencies differ."""
    random = np.random.default_rng(seed)
    index = np.arange(nx * ny).reshape(nx, ny)
    a = np.concatenate([index[:-1].ravel(), index[:, :-1].ravel()])
    b = np.concatenate([index[1:].ravel(), index[:, 1:].ravel()])
    k = random.uniform(0.9, 1.1, len(a))
    n = nx * ny
    K = scipy.sparse.coo_array(
        (np.concatenate([k, k, -k, -k]), (np.concatenate([a, b, a, b]), np.concatenate([a, b, b, a]))), shape=(n, n)
    ).tolil()
    if held:
        for i in index[0]:
            K[i, i] += 1.0
    M = scipy.sparse.diags_array(random.uniform(0.9, 1.1, n))
    return SecondOrder(M, K.tocsc(), coordinates=[f"g{i}.z" for i in range(n)])


def frequencies(system: SecondOrder) -> np.ndarray:
    return system.modes().frequencies


ALL: dict[str, Callable[[SecondOrder, Any], Reduction]] = {
    "guyan": lambda s, m: guyan(s, m),
    "static": lambda s, m: condense_static(s, m),
    "substructures": lambda s, m: condense_substructures(s, m),
    "dynamic": lambda s, m: condense_dynamic(s, m, 0.1),
    "irs": lambda s, m: irs(s, m),
    "serep": lambda s, m: serep(s, m),
    "craig_bampton": lambda s, m: craig_bampton(s, m, 2),
    "rubin": lambda s, m: rubin(s, m, 2),
    "macneal": lambda s, m: macneal(s, m, 2),
    "truncate": lambda s, m: truncate_modal(s, 3),
}
