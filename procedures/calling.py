"""Calls of procedures: the procedures by name, binding of arguments, execution with progress, record of the run."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.warehouse import absolute_warehouse
from paimon_sql.discovery import instances
from paimon_sql.errors import InvalidInputError, NotFoundError, PaimonError, did_you_mean
from paimon_sql.format.schema.types import BigIntType, BooleanType, DataType, IntType, MapType
from paimon_sql.format.text.instants import current_millis
from paimon_sql.procedures.base import Argument, Context, Noted, Procedure, Record
from paimon_sql.procedures.values import NOTHING_DONE
from paimon_sql.storage.execution.task_executor import register_work
from paimon_sql.storage.metadata.catalog_environment import MaintenanceLog, MaintenanceRun
from paimon_sql.storage.table.table import Table

_CATALOG = "paimon"
_NO_COUNTS = ("snapshot", "snapshot_id", "schema_id", "commit_time")
"""Suffixes of names of integer columns that are not counts."""


@cache
def procedures() -> Mapping[str, Procedure]:
    """The procedures by name."""
    return instances("paimon_sql.procedures", Procedure)


def find_procedure(name: str) -> Procedure:
    """Find a procedure by name, in any case, with or without ``sys.``.

    Raises:
        NotFoundError: there is no such procedure.
    """
    found = procedures().get(name.lower().removeprefix("sys."))
    if found is None:
        near = did_you_mean(name.lower().removeprefix("sys."), procedures())
        existing = f"Existing procedures: {', '.join(procedures())}."
        raise NotFoundError(f"There is no procedure {name}.", name=name, remedy=near or existing)
    return found


@dataclass(frozen=True)
class ProcedureResult:
    """The result of a procedure: records of its ``Result``."""

    procedure: Procedure
    rows: Sequence[Record]

    def to_dicts(self) -> list[dict[str, object]]:
        """The rows as dictionaries by column."""
        return [{c.name: getattr(row, c.name) for c in self.procedure.columns} for row in self.rows]


def call(
    where: Context | Catalog | str | os.PathLike[str], name: str, /, *values: object, **arguments: object
) -> list[dict[str, object]]:
    """Call a procedure in this process; returns rows as dictionaries by column.

    Args:
        where: a catalog, the directory or URI of a warehouse, or a context (with current database, executor and time
            zone).
        name: the procedure, with or without ``sys.``.
        *values: positional arguments.
        **arguments: arguments by name; omitted ones are None.

    Raises:
        NotFoundError: there is no such procedure.
        InvalidInputError: an argument is unknown, repeated or missing, or a value has the wrong type.
        PaimonError: the procedure failed.
    """
    procedure = find_procedure(name)
    return run(_context(where), procedure, bind_arguments(procedure, values, arguments)).to_dicts()


def run(context: Context, procedure: Procedure, arguments: Mapping[str, object]) -> ProcedureResult:
    """Run a procedure with progress, and record the run.

    Args:
        context: the environment of the call.
        procedure: the procedure.
        arguments: a value per argument, None for omitted ones.
    """
    table = arguments.get("table")
    table = table if isinstance(table, str) else None
    recorder = _Recorder(context, procedure, arguments)
    called = " ".join(part for part in (f"CALL sys.{procedure.name}", table) if part)
    with register_work(called, context.is_cancelled) as work:
        watched = replace(context, executor=context.executor.watched(work), work=work)
        try:
            answer = ProcedureResult(procedure, rows_of(watched, procedure, arguments))
        except BaseException as error:
            recorder.failed(error)
            raise
    recorder.done(answer)
    return answer


def rows_of(context: Context, procedure: Procedure, arguments: Mapping[str, object]) -> list[Record]:
    """Run a procedure, and fill in the duration and the note of a dry run; arguments as in `run`."""
    required = {a.name for a in procedure.arguments if a.required}
    values = {name: value for name, value in arguments.items() if value is not None or name in required}
    started, note = time.monotonic(), NOTHING_DONE if values.get("dry_run") else None
    found = procedure.call(context, procedure.Arguments(**values))
    return [_filled(row, started, note) for row in ([found] if isinstance(found, Record) else found)]


def _filled(row: Record, started: float, note: str | None) -> Record:
    known: dict[str, object] = {}
    if getattr(row, "seconds", 0) is None:
        known["seconds"] = round(time.monotonic() - started, 3)
    if isinstance(row, Noted) and row.note is None:
        known["note"] = note
    return replace(row, **known)  # type: ignore[type-var]


class _Recorder:
    """Records one run in the maintenance log."""

    def __init__(self, context: Context, procedure: Procedure, arguments: Mapping[str, object]) -> None:
        self._context = context
        self._log: MaintenanceLog | None = context.catalog.run_log
        self._clock = time.monotonic()
        self._table = table = self._opened(arguments.get("table") or arguments.get("target_table"))
        self._run = MaintenanceRun(
            started_millis=current_millis(),
            catalog=context.catalog.name,
            procedure=procedure.name,
            trigger="call",
            database=table.name.split(".")[-2] if table else None,
            table=table.name.rpartition(".")[2] if table else None,
            arguments={k: _text(v) for k, v in arguments.items() if v is not None and k != "dry_run"},
            dry_run=bool(arguments.get("dry_run")),
            snapshot_before=table.snapshots.latest_id() if table else None,
        )

    def done(self, answer: ProcedureResult) -> None:
        """Record success."""
        notes = [row["note"] for row in answer.to_dicts() if row.get("note")]
        self._add(replace(self._run, counts=_counts(answer), note=str(notes[0]) if notes else None))

    def failed(self, error: BaseException) -> None:
        """Record failure."""
        text = f"{error}" if isinstance(error, PaimonError) else f"{type(error).__name__}: {error}"
        self._add(replace(self._run, error=text))

    def _add(self, run: MaintenanceRun) -> None:
        if self._log is None:
            return
        after = self._table.snapshots.latest_id() if self._table else None
        seconds = round(time.monotonic() - self._clock, 3)
        self._log.add(replace(run, snapshot_after=after, seconds=seconds))

    def _opened(self, name: object) -> Table | None:
        """The table of the call; None for several, and if it cannot be opened, for which the call itself raises."""
        if self._log is None or not isinstance(name, str) or name.endswith("*"):
            return None
        try:
            return self._context.table(name)
        except (PaimonError, OSError):
            return None


def _context(where: Context | Catalog | str | os.PathLike[str]) -> Context:
    if isinstance(where, Context):
        return where
    if isinstance(where, Catalog):
        return Context(where)
    return Context(FileSystemCatalog(_CATALOG, {"warehouse": absolute_warehouse(where)}))


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{k}={v}" for k, v in value.items())
    return str(value).lower() if isinstance(value, bool) else str(value)


def _counts(answer: ProcedureResult) -> dict[str, int]:
    """The counts of an answer: the sums of its integer columns."""
    counts: dict[str, int] = {"rows": len(answer.rows)} if len(answer.rows) > 1 else {}
    for column in answer.procedure.columns:
        if isinstance(column.type, IntType | BigIntType) and not column.name.endswith(_NO_COUNTS):
            numbers = [n for row in answer.rows if isinstance(n := getattr(row, column.name), int)]
            if numbers:
                counts[column.name] = sum(numbers)
    return counts


_BITS: dict[type[DataType], int] = {IntType: 31, BigIntType: 63}
_BOOLEANS = {"true": True, "false": False}


def bind_arguments(procedure: Procedure, values: Sequence[object], named: Mapping[str, object]) -> dict[str, object]:
    """Bind the arguments of a call; returns a value per argument, None for omitted ones.

    Args:
        procedure: the procedure.
        values: positional arguments.
        named: arguments by name, in any case.

    Raises:
        InvalidInputError: an argument is unknown, repeated or missing, or a value has the wrong type.
    """
    declared, what = procedure.arguments, f"sys.{procedure.name}"
    if len(values) > len(declared):
        raise InvalidInputError(f"{what} takes at most {len(declared)} arguments, but got {len(values)}.")
    known = {a.name.lower(): a for a in declared}
    found = {a.name: value for a, value in zip(declared, values, strict=False)}
    for name, value in named.items():
        argument = known.get(name.lower())
        if argument is None:
            names = ", ".join(a.name for a in declared)
            raise InvalidInputError(f"{what} has no argument {name}.", remedy=f"It takes {names}.")
        if argument.name in found:
            raise InvalidInputError(
                f"{what}: argument {argument.name} is specified twice.", remedy="Leave one of them out."
            )
        found[argument.name] = value
    missing = [a.name for a in declared if a.required and found.get(a.name) is None]
    if missing:
        raise InvalidInputError(f"{what} needs {' and '.join(missing)}.", remedy=f"For example: {procedure.example}")
    return {a.name: _checked(what, a, found.get(a.name)) for a in declared}


def read_value(argument: Argument, text: str) -> object:
    """Parse the value of an argument from text, as on a command line.

    Raises:
        InvalidInputError: the text is not a value of the argument's type.
    """
    kind = argument.type
    if isinstance(kind, BooleanType) and text.strip().lower() in _BOOLEANS:
        return _BOOLEANS[text.strip().lower()]
    if type(kind) in _BITS and text.strip().lstrip("+-").isdecimal():
        return int(text)
    if isinstance(kind, MapType):
        pairs = [pair.partition("=") for pair in text.split(",") if pair.strip()]
        if all(equals for _, equals, _ in pairs):
            return {key.strip(): value.strip() for key, _, value in pairs}
    elif type(kind) not in _BITS and not isinstance(kind, BooleanType):
        return text
    raise InvalidInputError(f"{argument.name} cannot be '{text}'.", remedy=f"Use {_type_name(kind)}.")


def _checked(what: str, argument: Argument, value: object) -> object:
    kind = argument.type
    if value is None:
        return None
    if isinstance(kind, BooleanType):
        fits = isinstance(value, bool)
    elif type(kind) in _BITS:
        limit = 1 << _BITS[type(kind)]
        fits = isinstance(value, int) and not isinstance(value, bool) and -limit <= value < limit
    else:
        fits = isinstance(value, Mapping if isinstance(kind, MapType) else str)
    if not fits:
        raise InvalidInputError(f"{what}: {argument.name} cannot be {value!r}.", remedy=f"Use {_type_name(kind)}.")
    return value


def _type_name(kind: DataType) -> str:
    if isinstance(kind, BooleanType):
        return "true or false"
    if isinstance(kind, MapType):
        return "pairs k=v separated by commas"
    return "an integer" if type(kind) in _BITS else "a string"
