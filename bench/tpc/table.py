"""The results as a table of text, in Markdown: a row a query, then medians and the worst."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from bench.results import Contestant, Results
from bench.table import aligned, notes, number
from bench.tpc.benchmarks import Benchmark

_WORTH_A_REASON = 1.5
KINDS = {"append": "", "keyed": "keyed-"}
"""The kinds of tables, and how the names of the works on them begin."""


def tpc_table(results: Results, benchmark: Benchmark) -> str:
    """Seconds (and of them those of planning) and ratios of each query, kind of table and engine."""
    everyone = [who for who in results.contestants() if who in results.versions]
    others = [who for who in everyone if who != who.base]
    asked = [f"q{n}" for n in benchmark.numbers if set(results.works()) & {f"q{n}", f"keyed-q{n}"}]
    kinds = [kind for kind, prefix in KINDS.items() if any(_measured(results, prefix + query) for query in asked)]
    columns = [(kind, who) for kind in kinds for who in others]
    header = ["query", *(f"{who.title} s (plan)" for who in everyone if who not in others)]
    for kind, who in columns:
        header += [f"{who.title} {kind} s (plan)", "ratio", "processor"]
    rows = [_row(results, query, everyone, columns) for query in ["load", *asked] if query in results.works()]
    lines = [*aligned([header, *rows]), "", *(_summary(results, asked, *column) for column in columns)]
    return "\n".join([*lines, "", *notes(results, f"{benchmark.title} at scale {results.settings.scale:g}")])


def _measured(results: Results, work: str) -> bool:
    """Whether anybody but Parquet did a work, or tried."""
    return any(
        results.of(who, work) or work in results.failures.get(who, {})
        for who in results.contestants()
        if who != who.base
    )


def _row(
    results: Results, query: str, everyone: Sequence[Contestant], columns: Sequence[tuple[str, Contestant]]
) -> list[str]:
    bases = [who for who in everyone if who == who.base]
    cells = [query, *(_seconds(results, who, query) for who in bases)]
    for kind, who in columns:
        work = KINDS[kind] + query
        ratios = (results.ratio(who, work), results.processor_ratio(who, work))
        cells += [_seconds(results, who, work), *map(number, ratios)]
    return cells


def _seconds(results: Results, who: Contestant, work: str) -> str:
    took, planning = results.seconds(who, work), results.planning(who, work)
    if took is None:
        return "failed" if work in results.failures.get(who, {}) else "-"
    noise = "~" if results.noisy(who, work) else ""
    return f"{took:.3f}{noise}" + ("" if planning is None else f" ({planning:.3f})")


def _summary(results: Results, queries: Sequence[str], kind: str, who: Contestant) -> str:
    ratios = {q: ratio for q in queries if (ratio := results.ratio(who, KINDS[kind] + q)) is not None}
    what = f"{who.title}, {kind}"
    if not ratios:
        return f"{what}: no ratios."
    works = [KINDS[kind] + query for query in ratios]
    total = sum(results.seconds(who, work) or 0 for work in works)
    base = sum(results.seconds(who.base, query) or 0 for query in ratios)
    worst = max(ratios, key=lambda query: ratios[query])
    processor = [ratio for work in works if (ratio := results.processor_ratio(who, work)) is not None]
    slow = [f"{q} {ratio:.2f}" for q, ratio in ratios.items() if ratio > _WORTH_A_REASON]
    return (
        f"{what}: median {statistics.median(ratios.values()):.2f} of {len(ratios)} queries (target "
        f"{number(results.suite[works[0]].marks.target)}), all together {total / base:.2f}, "
        f"processor time {number(statistics.median(processor) if processor else None)}, "
        f"worst {worst} {ratios[worst]:.2f}; above {_WORTH_A_REASON}: {', '.join(slow) or 'none'}."
    )
