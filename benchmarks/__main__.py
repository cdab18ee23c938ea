"""Command line of the benchmarks; the meaning of the table is in ``benchmarks/__init__.py``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks import __doc__ as guide
from benchmarks import (
    chain,
    engine,
    filters,
    first_calls,
    flexible,
    flexible_arm,
    flexible_observer,
    four_bar,
    four_bar_filter,
    harness,
    identify,
    lanes,
    riccati,
    robust,
    solid_link,
    structures,
    sweeps,
    symbolic,
    trees,
)

GROUPS = {
    "four-bar": four_bar.rows,
    "chain": chain.rows,
    "frame": structures.frame_rows,
    "solid": structures.solid_rows,
    "identify": identify.rows,
    "filters": filters.rows,
    "observer": four_bar_filter.rows,
    "riccati": riccati.rows,
    "robust": robust.rows,
    "sweep": sweeps.rows,
    "lanes": lanes.rows,
    "first": first_calls.rows,
    "engine": engine.rows,
    "flexible": flexible.rows,
    "flexible-arm": flexible_arm.rows,
    "flexible-observer": flexible_observer.rows,
    "solid-link": solid_link.rows,
    "symbolic": symbolic.rows,
    "trees": trees.rows,
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=guide, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=GROUPS, metavar="GROUP", help=f"one group: {', '.join(GROUPS)}")
    parser.add_argument("--out", type=Path, default=Path("bench-results.json"), help="results file")
    options = parser.parse_args(arguments)
    rows = []
    for group in [options.only] if options.only else GROUPS:
        print(f"measuring {group} ...", file=sys.stderr, flush=True)
        measured = GROUPS[group]()
        harness.merge(options.out, measured)
        rows += measured
    print("\n".join(harness.table(rows)))
    return 0 if all(row.ours is not None for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
