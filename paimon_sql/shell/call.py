"""``paimon-sql call``: calls of procedures in this process, without Spark."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from typing import Any

from rich.console import Console

from paimon_sql.catalog.registry import open_catalog
from paimon_sql.procedures import Procedure, ProcedureResult, procedures, run
from paimon_sql.procedures.base import Context
from paimon_sql.shell.call_arguments import parse_call
from paimon_sql.shell.engine.engine import TICK
from paimon_sql.shell.engine.progress import ProgressLine
from paimon_sql.shell.engine.result import Column, Row
from paimon_sql.shell.formats.base import Format
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.execution.threads import run_periodically

_CATALOG = "paimon"
HELP = ("-h", "--help")


def call_procedure(
    name: str, words: Sequence[str], options: Mapping[str, str], form: Format, console: Console, *, silent: bool
) -> None:
    """Call a procedure and print its result.

    Args:
        name: the procedure.
        words: its arguments from the command line.
        options: the catalog's options, with ``warehouse``.
        form: the output format.
        console: standard error, for the progress line.
        silent: whether to hide the progress line.

    Raises:
        PaimonError: the arguments are invalid, or the procedure fails.
    """
    called = parse_call(name, words)
    catalog = open_catalog(_CATALOG, options)
    context = Context(catalog, called.database or "default", LocalExecutor(os.cpu_count() or 1))
    with _progress_line(console, silent=silent):
        answer = run(context, called.procedure, called.arguments)
    show(answer, form)


def wants_help(words: Sequence[str]) -> bool:
    """Whether the arguments of a call ask for help."""
    return any(word in HELP for word in words)


def help_text(procedure: Procedure | None) -> str:
    """The usage of a procedure; without one, the list of procedures."""
    if procedure is None:
        width = max(map(len, procedures()))
        lines = [f"  {name.ljust(width)}  {p.summary}" for name, p in procedures().items()]
        return "\n".join(["Usage: paimon-sql call PROCEDURE [--ARGUMENT VALUE]...", "", *lines])
    lines = [f"Usage: paimon-sql call {procedure.name} [--ARGUMENT VALUE]...", "", procedure.summary, ""]
    for a in procedure.arguments:
        lines.append(f"  --{a.name} {a.type.as_nullable().sql()}{' (required)' if a.required else ''}")
        lines.append(f"      {a.meaning}")
    return "\n".join(lines)


def show(answer: ProcedureResult, form: Format) -> None:
    """Print a result."""
    form.begin([Column(c.name, c.type.as_nullable().sql().lower()) for c in answer.columns])
    rows: list[Row]
    if form.encoding == "json":
        rows = [(json.dumps(row, ensure_ascii=False, default=_text),) for row in answer.to_dicts()]
    else:
        rows = [tuple(_text(value) for value in row) for row in answer.rows]
    if rows:
        form.write(rows)
    form.end()


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value, ensure_ascii=False, default=_text)
    return (
        value.isoformat(" ") if isinstance(value, datetime) else str(value) if isinstance(value, date) else f"{value}"
    )


@contextmanager
def _progress_line(console: Console, *, silent: bool) -> Iterator[None]:
    """Show the progress line from a thread, so that Ctrl-C reaches the work in this one, which then cleans up."""
    with (
        ProgressLine(console, shown=not silent, idle="working") as waited,
        run_periodically(lambda: waited.tick(None), TICK, "paimon-sql-progress"),
    ):
        yield
