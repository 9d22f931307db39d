"""``paimon-sql call``: calls of procedures in this process, without Spark, and their arguments by name."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime

from rich.console import Console

from paimon_sql.catalog.registry import open_catalog
from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema.types import BooleanType
from paimon_sql.procedures import Procedure, ProcedureResult, find_procedure, procedures, run
from paimon_sql.procedures.base import Argument, Context
from paimon_sql.procedures.calling import bind_arguments, read_value
from paimon_sql.shell.engine.engine import TICK
from paimon_sql.shell.engine.progress import ProgressLine
from paimon_sql.shell.engine.result import Column, Row
from paimon_sql.shell.formats.base import Format
from paimon_sql.sql.statements.call import ARGUMENTS, PROCEDURES
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
    form.begin([Column(c.name, c.type.as_nullable().sql().lower()) for c in answer.procedure.columns])
    rows: list[Row]
    if form.encoding == "json":
        rows = [(json.dumps(row, ensure_ascii=False, default=_text),) for row in answer.to_dicts()]
    else:
        rows = [tuple(_text(value) for value in row.values()) for row in answer.to_dicts()]
    if rows:
        form.write(rows)
    form.end()


def _text(value: object) -> str | None:
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


_ACTION_ARGUMENTS = {
    "branch_name": "branch",
    "identifier": "table",
    "next_snapshot": "nextsnapshotid",
    "partition": "partitions",
    "table_conf": "options",
    "tag_name": "tag",
    "target_tag_name": "target_tag",
}
"""Arguments that Flink's actions name differently than procedures do."""

_SEPARATORS = {"partitions": ";", "options": ","}
"""Separators of the arguments that may be repeated."""


@dataclass
class ParsedCall:
    """A parsed call.

    Attributes:
        procedure: the procedure.
        arguments: its arguments by name.
        database: the current database, if given.
    """

    procedure: Procedure
    arguments: dict[str, object] = field(default_factory=dict)
    database: str | None = None


def parse_call(name: str, words: Sequence[str]) -> ParsedCall:
    """Parse a procedure's name and its arguments ``--name value`` or ``--name=value``.

    A boolean needs no value, dashes may replace underscores, and Flink's names are known.

    Args:
        name: the procedure, with or without ``sys.``.
        words: the words after it.

    Raises:
        NotFoundError: there is no such procedure.
        InvalidInputError: an argument is unknown, missing or repeated, or a word or value is invalid.
    """
    plain = name.lower().replace("-", "_").removeprefix("sys.")
    procedure = find_procedure(PROCEDURES.get(plain, plain))
    called, known = ParsedCall(procedure), _Names(procedure)
    values: dict[str, list[str]] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--") or word == "--":
            raise InvalidInputError(f"'{word}' is not an argument of {name}.", remedy="Write --name value.")
        spelled, equals, text = word[2:].partition("=")
        argument = known.find(spelled)
        if not equals:
            is_switch = argument is not None and isinstance(argument.type, BooleanType)
            if rest and (not rest[0].startswith("--") or not is_switch):
                text = rest.pop(0)
            elif is_switch:
                text = "true"
            else:
                raise InvalidInputError(f"{word} needs a value.", remedy=f"Write {word} VALUE.")
        if argument is None and known.plain(spelled) == "database":
            called.database = text
            continue
        if argument is None:
            names = ", ".join(f"--{a.name}" for a in procedure.arguments)
            raise InvalidInputError(f"{procedure.name} has no argument --{spelled}.", remedy=f"It takes {names}.")
        values.setdefault(argument.name, []).append(text)
    named = {name: _value(known.find(name), parts) for name, parts in values.items()}
    called.arguments = bind_arguments(procedure, (), named)
    return called


class _Names:
    """The names of a procedure's arguments, including Flink's."""

    def __init__(self, procedure: Procedure) -> None:
        self._known = {a.name.lower(): a for a in procedure.arguments}
        self._others = {k: v.lower() for k, v in ARGUMENTS.get(procedure.name, {}).items()}

    def plain(self, spelled: str) -> str:
        """The name in lower case, with underscores."""
        return spelled.lower().replace("-", "_")

    def find(self, spelled: str) -> Argument | None:
        """The argument of a name."""
        name = self.plain(spelled)
        candidates = (name, self._others.get(name), _ACTION_ARGUMENTS.get(name), name.replace("_", ""))
        return next((self._known[c] for c in candidates if c in self._known), None)


def _value(argument: Argument | None, parts: Sequence[str]) -> object:
    assert argument is not None
    separator = _SEPARATORS.get(argument.name)
    if len(parts) > 1 and separator is None:
        raise InvalidInputError(f"--{argument.name} was specified twice.", remedy="Leave one of them out.")
    return read_value(argument, (separator or "").join(parts))
