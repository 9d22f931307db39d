"""Refreshes of materialized tables: full, incremental or by partitions, each committed as one snapshot."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import CommitConflictError, InvalidOptionError, UnsupportedError
from paimon_sql.format.metadata.snapshot import Operation
from paimon_sql.format.options.table.materialized_table import PARTITION_FIELDS_DATE_FORMATTER
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import CharType, VarCharType
from paimon_sql.format.text.instants import current_millis
from paimon_sql.procedures.refresher import FULL, INCREMENTAL, NONE, Refresher, RefreshResult
from paimon_sql.spark.conversion.types import row_struct
from paimon_sql.spark.jvm.errors import one_error
from paimon_sql.spark.jvm.session import JvmSession, changed_settings
from paimon_sql.spark.materialized.query import AnalyzedQuery
from paimon_sql.spark.options import session_zone
from paimon_sql.spark.tables.placement import refuse_branches_and_system_tables
from paimon_sql.spark.write.job import run_write
from paimon_sql.sql.text.names import quote_name
from paimon_sql.storage.commit.checks.history import changes_since
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.materialized.definition import CONTINUOUS, Definition, date_formatters, definition_of
from paimon_sql.storage.materialized.refresh import PartitionChoice, RefreshState, SourceState, keeps_rows, last_refresh
from paimon_sql.storage.operations import operations
from paimon_sql.storage.scan.read_state import RowChange
from paimon_sql.storage.staging.proposal import Overwrite, Proposal, Validation
from paimon_sql.storage.table.table import Table


@dataclass(frozen=True)
class _Step:
    """The refresh mode and its reason; ``before`` are the source states from which an incremental refresh starts."""

    mode: str
    why: str
    before: tuple[SourceState, ...] = ()


class SessionRefresher(Refresher):
    """The refresher of a catalog's materialized tables in one session.

    Args:
        session: the session.
        catalog: the catalog.
    """

    def __init__(self, session: JvmSession, catalog: Catalog) -> None:
        self._session = session
        self._catalog = catalog

    def sources(self, identifier: Identifier) -> set[str]:
        table, definition = self._open(identifier)
        with with_settings(self._session, definition.settings):
            return self._query(table, definition).source_names

    def refresh(
        self,
        identifier: Identifier,
        partitions: Sequence[Mapping[str, str]] | None = None,
        *,
        scheduled: bool = False,
        dry_run: bool = False,
    ) -> RefreshResult:
        started = time.monotonic()
        table, definition = self._open(identifier)
        if definition.handler and definition.mode == CONTINUOUS and not definition.is_suspended:
            raise UnsupportedError(
                f"{table.name} is kept up to date by {definition.handler}.", remedy="Suspend it in Flink first."
            )
        with with_settings(self._session, definition.settings):
            result = _Refresh(self, table, definition).run(partitions, scheduled=scheduled, dry_run=dry_run)
        return replace(result, seconds=round(time.monotonic() - started, 3))

    def _open(self, identifier: Identifier) -> tuple[Table, Definition]:
        refuse_branches_and_system_tables(identifier, "refreshed")
        table = self._catalog.table(identifier)
        return table, definition_of(table.schema, table.name)

    def _query(self, table: Table, definition: Definition) -> AnalyzedQuery:
        return AnalyzedQuery(self._session, definition.query, table.name)


class _Refresh:
    """The execution of one refresh."""

    def __init__(self, refresher: SessionRefresher, table: Table, definition: Definition) -> None:
        self._session = refresher._session
        self._table = table
        self._definition = definition
        self._query = refresher._query(table, definition)
        self._frame = self._query.rows_of(table.schema, table.name)
        self._base = table.snapshots.latest()
        self._state = last_refresh(table, self._base)
        self._now = self._query.pin()

    def run(self, partitions: Sequence[Mapping[str, str]] | None, *, scheduled: bool, dry_run: bool) -> RefreshResult:
        specs, why = partitions, "these partitions were requested"
        if scheduled and specs is None:
            specs, why = self._due_partitions(), "these partitions are due"
        if specs is not None:
            chosen = PartitionChoice(self._table.schema, specs, session_zone(self._session))
            return self._partitions(chosen, why, scheduled=scheduled, dry_run=dry_run)
        step = self._step()
        if step.mode == NONE or dry_run:
            return RefreshResult(step.mode, None, None, None, 0.0, step.why)
        if step.mode == INCREMENTAL:
            self._query.narrow(self._now, step.before)
            return self._write(step, self._frame, None, self._new_state(step.mode))
        return self._write(step, self._frame, Overwrite(), self._new_state(step.mode))

    def _due_partitions(self) -> list[dict[str, str]] | None:
        """The partitions of the time since the last refresh; None if the whole table must be refreshed."""
        formatters = date_formatters(self._table.schema)
        state = self._state
        if not formatters or state is None or state.refreshed is None or state.query != self._definition.digest:
            return None
        return Periods(self._session, self._table.schema, formatters).between(state.refreshed, current_millis())

    def _step(self) -> _Step:
        """The refresh mode of the whole table."""
        state, query = self._state, self._query
        if state is None:
            return _Step(FULL, "no previous refresh is recorded" if self._base else "the first refresh")
        if state.query != self._definition.digest:
            return _Step(FULL, "the query has changed")
        if query.changes_by_itself:
            return _Step(FULL, "the query is nondeterministic or depends on the current time")
        if query.untracked is not None:
            return _Step(FULL, f"changes of {query.untracked} cannot be detected")
        if state.views != query.views:
            return _Step(FULL, "a view of the query has changed")
        before = state.sources
        if before is None:
            return _Step(FULL, "the previous refresh was of some partitions only")
        if [(s.table, s.branch) for s in before] != [(s.table, s.branch) for s in self._now]:
            return _Step(FULL, "the query reads other tables")
        found = query.since(before)
        changed = [one for one in found if one.since is not RowChange.SAME]
        if not changed:
            why = ", ".join(one.why for one in found) or "the query reads no table"
            return _Step(NONE, f"nothing to do, because {why}")
        why = ", ".join(one.why for one in changed)
        is_append_only = not self._table.schema.has_key  # new rows never replace existing ones
        if self._definition.mode == CONTINUOUS and is_append_only and query.takes_rows_alone(found):
            return _Step(INCREMENTAL, why, before)
        return _Step(FULL, why)

    def _partitions(self, chosen: PartitionChoice, why: str, *, scheduled: bool, dry_run: bool) -> RefreshResult:
        """Refresh some partitions fully."""
        step = _Step(FULL, why)
        if dry_run:
            return RefreshResult(FULL, chosen.shown, None, None, 0.0, why)
        refreshed = current_millis() if scheduled else self._state.refreshed if self._state else None
        state = RefreshState(self._definition.digest, refreshed, FULL)
        frame = self._frame.filter(self._condition(chosen))
        result = self._write(step, frame, Overwrite(chosen.predicate), state)
        return replace(result, partitions=chosen.shown)

    def _condition(self, chosen: PartitionChoice) -> Column:
        kinds = {s.name: s.dataType for s in StructType.fromJson(row_struct(self._table.schema.fields)).fields}
        found = f.lit(False)
        for values in chosen.values:
            one = f.lit(True)
            for name, value in values.items():
                one = one & f.col(quote_name(name)).eqNullSafe(f.lit(value).cast(kinds[name]))
            found = found | one
        return found

    def _new_state(self, mode: str) -> RefreshState:
        known = self._query.untracked is None and not self._query.changes_by_itself
        return RefreshState(
            self._definition.digest, current_millis(), mode, self._now if known else None, self._query.views
        )

    def _write(self, step: _Step, frame: DataFrame, overwrite: Overwrite | None, state: RefreshState) -> RefreshResult:
        operation = Operation.WRITE if overwrite is None else Operation.OVERWRITE
        with Transaction(
            self._table, operation, base=self._base, properties=state.properties(), validations=[_SAME_ROWS]
        ) as transaction:
            with one_error(f"The rows of {self._table.name} cannot be computed"):
                written = run_write(self._session.jvm, transaction, frame, overwrite)
            snapshot = written.snapshot or operations.annotate(transaction)
        return RefreshResult(step.mode, None, written.rows, snapshot.id, 0.0, step.why)


def _check_rows(proposal: Proposal) -> None:
    table = proposal.table
    if any(not keeps_rows(s) for s in changes_since(table, proposal.base, proposal.latest)):
        raise CommitConflictError(f"{table.name} was changed while it was being refreshed.", remedy="Refresh it again.")


_SAME_ROWS = Validation("the table has the rows that it had when the refresh began", _check_rows)


_TIME = "java.time"
_QUOTED = re.compile(r"'[^']*'")
_PERIODS = ((set("sSnNA"), 1_000), (set("m"), 60_000), (set("HhkKa"), 3_600_000))
_DAY = 86_400_000
_MAX_STEPS = 10_000


class Periods:
    """The partitions of points in time.

    Args:
        session: the session: its JVM evaluates the patterns, in its time zone.
        schema: the table's schema.
        formatters: the pattern of each column.

    Raises:
        InvalidOptionError: a column is not a partition column of strings.
        InvalidInputError: a pattern is invalid.
    """

    def __init__(self, session: JvmSession, schema: TableSchema, formatters: Mapping[str, str]) -> None:
        self._jvm = jvm = session.jvm
        self._zone = jvm.cls(f"{_TIME}.ZoneId").of(session.state.conf().sessionLocalTimeZone())
        self._patterns = {}
        for column, pattern in formatters.items():
            key = PARTITION_FIELDS_DATE_FORMATTER.for_name(column)
            if column not in schema.partition_keys or not isinstance(schema.field(column).type, CharType | VarCharType):
                raise InvalidOptionError(
                    f"The option '{key}' requires a partition column of strings, which {column} is not.", key=key
                )
            with one_error(f"Invalid value '{pattern}' of option '{key}'"):
                self._patterns[column] = jvm.cls(f"{_TIME}.format.DateTimeFormatter").ofPattern(pattern)
        letters = set("".join(_QUOTED.sub("", pattern) for pattern in formatters.values()))
        length = next((millis for signs, millis in _PERIODS if letters & signs), _DAY)
        self._step = length // 2  # so that a change of daylight saving time cannot skip a period

    def between(self, start: int, end: int) -> list[dict[str, str]] | None:
        """The partition specs from one time to another, both included; None if there are too many.

        Args:
            start: milliseconds since 1970.
            end: milliseconds since 1970.
        """
        if (end - start) // self._step > _MAX_STEPS:
            return None
        times = [*range(start, end, self._step), end]
        found = {tuple(self._at(time).items()): None for time in times}
        return [dict(items) for items in found]

    def _at(self, millis: int) -> dict[str, str]:
        moment = self._jvm.cls(f"{_TIME}.Instant").ofEpochMilli(self._jvm.new("java.lang.Long", str(millis)))
        clock = moment.atZone(self._zone)
        return {column: str(clock.format(pattern)) for column, pattern in self._patterns.items()}


_STORED = (
    "spark.sql.ansi.enabled",
    "spark.sql.caseSensitive",
    "spark.sql.legacy.timeParserPolicy",
    "spark.sql.session.timeZone",
)


def stored_settings(session: JvmSession) -> dict[str, str]:
    """The values of these settings in a session."""
    return {key: session.conf.get(key) for key in _STORED}


def with_settings(session: JvmSession, settings: Mapping[str, str]) -> AbstractContextManager[None]:
    """Apply settings to a session during the block."""
    changed = {k: v for k, v in settings.items() if k in _STORED and session.conf.get(k) != v}
    return changed_settings(session.state.conf(), changed)
