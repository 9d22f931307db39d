"""The results as a table of text, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from bench.engines import BASE
from bench.results import NOISY, Contestant, Results

_FAILED = "failed"


def table(results: Results) -> str:
    """A row a work, with seconds and ratio per engine and the stated marks beside; then what is to know about it."""
    contestants = [who for who in results.contestants() if who in results.versions]
    header = ["work", "target"]
    for who in contestants:
        header += [f"{who.title} s"] if who.engine == BASE else [f"{who.title} s", "ratio"]
    header += ["stated: Java", "stated: Iceberg"]
    rows = [_row(results, work, contestants) for work in results.works() if work]
    memory = ["peak memory, GiB", ""]
    for who in contestants:
        peak = results.peak_memory(who)
        memory += [f"{peak / 2**30:.1f}" if peak else "-", *([] if who.engine == BASE else [""])]
    rows.append([*memory, "", ""])
    return "\n".join([*aligned([header, *rows]), "", *notes(results, f"{results.settings.rows:,} rows of 10 columns")])


def _row(results: Results, work: str, contestants: Sequence[Contestant]) -> list[str]:
    marks = results.suite[work].marks
    cells = [results.suite[work].title, number(marks.target)]
    for who in contestants:
        took = results.seconds(who, work)
        missing = _FAILED if work in results.failures.get(who, {}) else "-"
        noise = "~" if results.noisy(who, work) else ""
        cells.append(missing if took is None else f"{took:.3f}{noise}")
        if who.engine != BASE:
            cells.append(number(results.ratio(who, work)))
    return [*cells, number(marks.java), number(marks.iceberg)]


def number(value: float | None) -> str:
    """A ratio as it stands in a table."""
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table whose first row is its head."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "| "
        + " | ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        + " |"
        for row in rows
    ]
    rule = "|" + "|".join("-" * (w + 1) + ("-" if i == 0 else ":") for i, w in enumerate(widths)) + "|"
    return [lines[0], rule, *lines[1:]]


def notes(results: Results, size: str) -> list[str]:
    """What is to know about results for input of a size."""
    settings = results.settings
    notes = [
        f"{size}, {settings.cores} cores, {settings.memory} heap, "
        f"medians of {settings.repetitions} or more; a ratio is to Parquet on the same Spark in the same run.",
        *(f"{who.title}: {results.versions[who]}." for who in results.contestants() if who in results.versions),
    ]
    if any(results.noisy(who, work) for who in results.contestants() for work in results.works()):
        notes.append(f"~ other processes kept {NOISY} cores or more busy at the time.")
    for who, failures in results.failures.items():
        for work, reason in failures.items():
            notes.append(f"{who.title}{': ' + work if work else ''}: {reason}")
    notes += [f"Different answers to {work}: the results are invalid." for work in results.disagreements()]
    return notes
