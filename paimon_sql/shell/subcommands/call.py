"""``paimon-sql call``: calls of procedures in this process, without Spark, and their arguments by name."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console

from paimon_sql.catalog.registry import open_default_catalog
from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema.types import BooleanType
from paimon_sql.procedures import Procedure, ProcedureResult, find_procedure, procedures, run
from paimon_sql.procedures.base import Argument, Context
from paimon_sql.procedures.calling import bind_arguments, read_value
from paimon_sql.shell.engine.engine import TICK
from paimon_sql.shell.engine.progress import ProgressLine
from paimon_sql.shell.engine.rows import Column
from paimon_sql.shell.formats.base import Format
from paimon_sql.shell.formats.records import show_records
from paimon_sql.sql.text.flink_names import ARGUMENTS, PROCEDURES
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.execution.threads import run_periodically


def call_procedure(
    name: str,
    words: Sequence[str],
    warehouse: str | None,
    options: Mapping[str, str],
    form: Format,
    console: Console,
    *,
    silent: bool,
) -> None:
    """Call a procedure and print its result.

    Args:
        name: the procedure.
        words: its arguments from the command line.
        warehouse: the catalog's warehouse; ``./warehouse`` by default.
        options: the catalog's options, which win over it.
        form: the output format.
        console: standard error, for the progress line.
        silent: whether to hide the progress line.

    Raises:
        PaimonError: the arguments are invalid, or the procedure fails.
    """
    called = parse_call(name, words)
    catalog = open_default_catalog(warehouse, options)
    context = Context(catalog, called.database or "default", LocalExecutor(os.cpu_count() or 1))
    # A thread shows the line, so that Ctrl-C reaches the work in this one, which then cleans up.
    with (
        ProgressLine(console, shown=not silent, idle="working") as waited,
        run_periodically(lambda: waited.tick(None), TICK, "paimon-sql-progress"),
    ):
        answer = run(context, called.procedure, called.arguments)
    show(answer, form)


def help_text(name: str | None) -> str:
    """The usage of a procedure; without one, the list of procedures.

    Raises:
        NotFoundError: there is no such procedure.
    """
    if name is None:
        width = max(map(len, procedures()))
        lines = [f"  {each.ljust(width)}  {p.summary}" for each, p in procedures().items()]
        return "\n".join(["Usage: paimon-sql call PROCEDURE [--ARGUMENT VALUE]...", "", *lines])
    procedure = find_procedure(name)
    lines = [f"Usage: paimon-sql call {procedure.name} [--ARGUMENT VALUE]...", "", procedure.summary, ""]
    for a in procedure.arguments:
        lines.append(f"  --{a.name} {a.type.as_nullable().sql()}{' (required)' if a.required else ''}")
        lines.append(f"      {a.meaning}")
    return "\n".join(lines)


def show(answer: ProcedureResult, form: Format) -> None:
    """Print a result."""
    columns = [Column(c.name, c.type.as_nullable().sql().lower()) for c in answer.procedure.columns]
    show_records(form, columns, answer.to_dicts())


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


@dataclass(frozen=True)
class ParsedCall:
    """A parsed call.

    Attributes:
        procedure: the procedure.
        arguments: its arguments by name.
        database: the current database, if given.
    """

    procedure: Procedure
    arguments: dict[str, object]
    database: str | None


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
    plain = _plain(name).removeprefix("sys.")
    procedure = find_procedure(PROCEDURES.get(plain, plain))
    database: str | None = None
    values: dict[Argument, list[str]] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--") or word == "--":
            raise InvalidInputError(f"'{word}' is not an argument of {name}.", remedy="Write --name value.")
        spelled, equals, text = word[2:].partition("=")
        argument = _find(procedure, spelled)
        if not equals:
            is_switch = argument is not None and isinstance(argument.type, BooleanType)
            if rest and (not rest[0].startswith("--") or not is_switch):
                text = rest.pop(0)
            elif is_switch:
                text = "true"
            else:
                raise InvalidInputError(f"{word} needs a value.", remedy=f"Write {word} VALUE.")
        if argument is not None:
            values.setdefault(argument, []).append(text)
        elif _plain(spelled) == "database":
            database = text
        else:
            names = ", ".join(f"--{a.name}" for a in procedure.arguments)
            raise InvalidInputError(f"{procedure.name} has no argument --{spelled}.", remedy=f"It takes {names}.")
    named = {argument.name: _value(argument, parts) for argument, parts in values.items()}
    return ParsedCall(procedure, bind_arguments(procedure, (), named), database)


def _plain(spelled: str) -> str:
    """A name in lower case, with underscores."""
    return spelled.lower().replace("-", "_")


def _find(procedure: Procedure, spelled: str) -> Argument | None:
    """The argument of a name, which may be Flink's."""
    known = {a.name.lower(): a for a in procedure.arguments}
    of_flink = {k: v.lower() for k, v in ARGUMENTS.get(procedure.name, {}).items()}
    name = _plain(spelled)
    candidates = (name, of_flink.get(name), _ACTION_ARGUMENTS.get(name), name.replace("_", ""))
    return next((known[c] for c in candidates if c in known), None)


def _value(argument: Argument, parts: Sequence[str]) -> object:
    separator = _SEPARATORS.get(argument.name)
    if len(parts) > 1 and separator is None:
        raise InvalidInputError(f"--{argument.name} was specified twice.", remedy="Leave one of them out.")
    return read_value(argument, (separator or "").join(parts))
