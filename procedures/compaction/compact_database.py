"""``CALL sys.compact_database``: merge the files of many tables."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import NoSuchTableError, PaimonError, WrongKindError
from paimon_sql.format.schema.types import BigIntType, DoubleType, string_type
from paimon_sql.procedures.base import Argument, Context, Procedure, result
from paimon_sql.procedures.compaction.compact import NOTHING_MERGED, Compact
from paimon_sql.procedures.patterns import pattern_of
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE, OPTIONS, options_of

_COMPACT = Compact()
_COLUMNS = [column.name for column in (*_COMPACT.results, *_COMPACT.details)]
_TOTALS = [column.name for column in _COMPACT.details[:4]]


class CompactDatabase(Procedure):
    """What `compact` does, for each table that the expressions choose, one after the other.

    An expression is to match the whole name: that of a database, or of a table with its database, as `db.t`. A table
    that cannot be compacted does not keep the others from it.
    """

    name = "compact_database"
    summary = "Merge the files of all tables of some databases, or of some of them."
    arguments = (
        Argument("including_databases", string_type(), "A regular expression for databases; all by default."),
        Argument("including_tables", string_type(), "A regular expression for tables, as 'db.t'; all by default."),
        Argument("excluding_tables", string_type(), "A regular expression for tables to leave out."),
        OPTIONS,
        DRY_RUN,
    )
    results = (result("result", string_type(), "how many tables were compacted, and how many could not be"),)
    details = (
        result("compacted_tables", BigIntType(), "tables of which files were merged"),
        result("failed_tables", BigIntType(), "tables that could not be compacted"),
        *_COMPACT.details[:4],
        result("seconds", DoubleType(), "how long it took"),
        result("tables", string_type(), "what became of each table, a line each; null where none was chosen"),
        result("note", string_type(), "why nothing was to do"),
    )
    example = "CALL sys.compact_database(including_databases => 'shop|web', excluding_tables => '.*_tmp')"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        options_of(arguments["options"])  # one message for all tables, before the first of them
        chosen = list(_tables(context, arguments))
        if context.work is not None:
            context.work.expect(len(chosen))
        started, done = time.monotonic(), []
        for identifier in chosen:
            found = _compact(context, identifier, arguments)
            if found is not None:
                done.append(found)
            if context.work is not None:
                context.work.advance()
        failed = [table for table in done if table.error is not None]
        compacted = [table for table in done if table.answer.get("compacted_files")]
        nothing = NOTHING_MERGED if done else "the expressions choose no table"
        dry_run = bool(arguments["dry_run"])
        return [
            (
                f"Compact database finished. Success: {len(done) - len(failed)}, Failed: {len(failed)}",
                len(compacted),
                len(failed),
                *(_total(name, done, dry_run=dry_run) for name in _TOTALS),
                round(time.monotonic() - started, 3),
                "\n".join(map(_line, done)) or None,
                nothing if not compacted else NOTHING_DONE if dry_run else None,
            )
        ]


@dataclass(frozen=True)
class _Compacted:
    """What became of one table: the answer of `compact`, or an error."""

    name: str
    answer: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None


def _total(name: str, done: Sequence[_Compacted], *, dry_run: bool) -> int | None:
    if dry_run and name.startswith("new_"):
        return None
    return sum(table.answer.get(name) or 0 for table in done)


def _line(table: _Compacted) -> str:
    if table.error is not None:
        return f"{table.name}: failed: {table.error}"
    answer = table.answer
    if not answer["compacted_files"]:
        return f"{table.name}: {answer['note']}"
    made = "" if answer["new_files"] is None else f" into {answer['new_files']}, snapshot {answer['snapshot_id']}"
    return f"{table.name}: {answer['compacted_files']} files{made}"


def _tables(context: Context, arguments: dict[str, Any]) -> Iterator[Identifier]:
    databases = pattern_of(arguments["including_databases"], "including_databases", ".*")
    including = pattern_of(arguments["including_tables"], "including_tables", ".*")
    excluding = pattern_of(arguments["excluding_tables"], "excluding_tables", "(?!)")
    for database in context.catalog.list_databases():
        if not databases.accepts(database):
            continue
        for name in context.catalog.list_tables(database):
            full = f"{database}.{name}"
            if including.accepts(full) and not excluding.accepts(full):
                yield Identifier(database, name)


def _compact(context: Context, identifier: Identifier, arguments: dict[str, Any]) -> _Compacted | None:
    """What became of a table; None if it was dropped meanwhile, or has no snapshots."""
    given: dict[str, Any] = dict.fromkeys(argument.name for argument in _COMPACT.arguments)
    given |= {
        "table": f"`{identifier.database}`.`{identifier.table}`",
        "options": arguments["options"],
        "dry_run": arguments["dry_run"],
    }
    try:
        (row,) = _COMPACT.call(context, **given)
    except (NoSuchTableError, WrongKindError):
        return None
    except (PaimonError, OSError) as error:
        return _Compacted(str(identifier), error=str(error))
    return _Compacted(str(identifier), dict(zip(_COLUMNS, row, strict=True)))
