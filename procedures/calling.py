"""Calls of procedures: binding of arguments, execution with progress, and the record of the run."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.filesystem.catalog import FileSystemCatalog
from paimon_sql.catalog.warehouse import absolute_warehouse
from paimon_sql.errors import PaimonError
from paimon_sql.format.schema.types import BigIntType, DataField, IntType
from paimon_sql.format.text.instants import current_millis
from paimon_sql.procedures.base import Context, Procedure
from paimon_sql.procedures.binding import bind_arguments
from paimon_sql.procedures.registry import find_procedure
from paimon_sql.storage.execution.progress import register_work
from paimon_sql.storage.metadata.environment.maintenance_log import MaintenanceLog, MaintenanceRun
from paimon_sql.storage.table.table import Table

_CATALOG = "paimon"
_NO_COUNTS = ("snapshot", "snapshot_id", "schema_id", "commit_time")
"""Suffixes of names of integer columns that are not counts."""


@dataclass(frozen=True)
class ProcedureResult:
    """The result of a procedure; its first ``connector`` columns are those of Apache Paimon's connector."""

    columns: tuple[DataField, ...]
    rows: list[tuple[Any, ...]]
    connector: int

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dictionaries by column."""
        return [dict(zip((c.name for c in self.columns), row, strict=True)) for row in self.rows]


def call(
    where: Context | Catalog | str | os.PathLike[str], name: str, /, *values: Any, **arguments: Any
) -> list[dict[str, Any]]:
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


def run(context: Context, procedure: Procedure, arguments: Mapping[str, Any]) -> ProcedureResult:
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
            rows = [_values(row) for row in procedure.call(watched, procedure.Arguments(**arguments))]
        except BaseException as error:
            recorder.failed(error)
            raise
    columns = (*procedure.results, *procedure.details)
    answer = ProcedureResult(columns, rows, len(procedure.results))
    recorder.done(answer)
    return answer


def _values(row: Any) -> tuple[Any, ...]:
    return tuple(getattr(row, f.name) for f in fields(row))


class _Recorder:
    """Records one run in the maintenance log."""

    def __init__(self, context: Context, procedure: Procedure, arguments: Mapping[str, Any]) -> None:
        self._context = context
        self._log: MaintenanceLog | None = context.catalog.run_log
        self._clock = time.monotonic()
        self._table = table = self._opened(arguments.get("table") or arguments.get("target_table"))
        self._run = MaintenanceRun(
            started_millis=current_millis(),
            catalog=context.catalog.name,
            procedure=procedure.name,
            trigger="call",
            database=_database(table),
            table=table.name.rpartition(".")[2] if table else None,
            arguments={k: _text(v) for k, v in arguments.items() if v is not None and k != "dry_run"},
            dry_run=bool(arguments.get("dry_run")),
            snapshot_before=table.snapshots.latest_id() if table else None,
        )

    def done(self, answer: ProcedureResult) -> None:
        """Record success."""
        notes = [row["note"] for row in answer.to_dicts() if row.get("note")]
        self._add(counts=_counts(answer), note=notes[0] if notes else None)

    def failed(self, error: BaseException) -> None:
        """Record failure."""
        self._add(error=f"{error}" if isinstance(error, PaimonError) else f"{type(error).__name__}: {error}")

    def _add(self, **members: Any) -> None:
        if self._log is None:
            return
        after = self._table.snapshots.latest_id() if self._table else None
        seconds = round(time.monotonic() - self._clock, 3)
        self._log.add(replace(self._run, snapshot_after=after, seconds=seconds, **members))

    def _opened(self, name: Any) -> Table | None:
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


def _database(table: Table | None) -> str | None:
    return table.name.split(".")[-2] if table else None


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{k}={v}" for k, v in value.items())
    return str(value).lower() if isinstance(value, bool) else str(value)


def _counts(answer: ProcedureResult) -> dict[str, int]:
    """The counts of an answer: the sums of its integer columns."""
    counts: dict[str, int] = {"rows": len(answer.rows)} if len(answer.rows) > 1 else {}
    for i, column in enumerate(answer.columns):
        if isinstance(column.type, IntType | BigIntType) and not column.name.endswith(_NO_COUNTS):
            numbers: Sequence[int] = [row[i] for row in answer.rows if row[i] is not None]
            if numbers:
                counts[column.name] = sum(numbers)
    return counts
