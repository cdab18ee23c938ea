"""Processes of the benchmarks."""

from __future__ import annotations

from benchmarks.harness import ask


def test_our_benchmarks_run_where_no_compiler_is_found() -> None:
    answer = ask("tests.helpers.bench_worker", "compilers", {})
    assert (answer.status, answer.lines) == ("ok", [{"found": [], "CC": ""}])
