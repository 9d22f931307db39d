"""``CALL sys.refresh_materialized_tables``: refresh the due materialized tables."""

from __future__ import annotations

import time
from collections.abc import Iterable

from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import NotFoundError, PaimonError
from paimon_sql.format.text.instants import current_millis, show_instant
from paimon_sql.procedures.base import Context, Procedure, column
from paimon_sql.procedures.refresh.refresh_materialized_table import RefreshMaterializedTable
from paimon_sql.procedures.refresher import NONE, Refresher, RefreshResult
from paimon_sql.procedures.values import TableExpressions, matching_tables
from paimon_sql.storage.materialized.definition import definition_of
from paimon_sql.storage.materialized.refresh import is_due, last_refresh


class RefreshMaterializedTables(Procedure):
    """For schedulers: refreshes the tables whose last refresh is older than their freshness.

    A table is refreshed after the tables that it reads. If its partitions have a time
    (`partition.fields.<column>.date-formatter`), the partitions since its last refresh are recomputed. Tables that are
    suspended, not due, or refreshed by Flink are skipped, as the result shows. If a table fails, the others are still
    refreshed.
    """

    summary = "Refresh the due materialized tables, in order of their dependencies."
    example = "CALL sys.refresh_materialized_tables(including_databases => 'shop|web')"

    Arguments = TableExpressions

    class Result(RefreshMaterializedTable.Result):
        mode: str = column("FULL, INCREMENTAL, NONE if nothing was due, SKIPPED or FAILED")

    def call(self, context: Context, arguments: TableExpressions) -> Iterable[Result]:
        refresher = context.require_refresher()
        chosen = [i for i in matching_tables(context.catalog, arguments) if context.catalog.has_materialized(i)]
        for identifier in context.tracked(_ordered(context, refresher, chosen)):
            done = _refreshed(context, refresher, identifier, dry_run=arguments.dry_run)
            yield self.Result(table=str(identifier), **vars(done))


def _ordered(context: Context, refresher: Refresher, chosen: list[Identifier]) -> list[Identifier]:
    """The tables in topological order, each after those that it reads; cycles are ordered by name."""
    names = {f"{context.catalog.name}.{identifier}": identifier for identifier in chosen}
    reads = {name: _sources(refresher, identifier) & names.keys() for name, identifier in names.items()}
    done: dict[str, None] = {}

    def visit(name: str, above: frozenset[str]) -> None:
        if name in done or name in above:
            return
        for source in sorted(reads[name]):
            visit(source, above | {name})
        done[name] = None

    for name in sorted(names):
        visit(name, frozenset())
    return [names[name] for name in done]


def _sources(refresher: Refresher, identifier: Identifier) -> set[str]:
    """The tables that a table reads; empty if its query cannot be analyzed, which its refresh reports."""
    try:
        return refresher.sources(identifier)
    except (PaimonError, OSError):
        return set()


def _refreshed(context: Context, refresher: Refresher, identifier: Identifier, *, dry_run: bool) -> RefreshResult:
    started = time.monotonic()
    try:
        reason = _reason_to_skip(context, identifier)
        if reason is not None:
            return RefreshResult("SKIPPED", None, None, None, 0.0, reason)
        return refresher.refresh(identifier, scheduled=True, dry_run=dry_run)
    except NotFoundError as error:
        is_dropped = not context.catalog.table_exists(identifier)
        mode, note = (NONE, "it was dropped concurrently") if is_dropped else ("FAILED", str(error))
    except (PaimonError, OSError) as error:
        mode, note = "FAILED", str(error)
    return RefreshResult(mode, None, None, None, round(time.monotonic() - started, 3), note)


def _reason_to_skip(context: Context, identifier: Identifier) -> str | None:
    table = context.catalog.table(identifier)
    definition = definition_of(table.schema, table.name)
    if definition.is_suspended:
        return "it is suspended"
    if definition.handler:
        return f"it is refreshed by {definition.handler}"
    state = last_refresh(table, table.snapshots.latest())
    if state is None or state.refreshed is None or is_due(definition, state, current_millis()):
        return None
    return (
        f"it is not due: refreshed at {show_instant(state.refreshed, context.zone)}, FRESHNESS {definition.freshness}"
    )
