"""Spark's queries of changes (``CHANGES FROM VERSION 1 TO VERSION 3``): one split per change of each commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.schema.system_fields import ROW_ID, SEQUENCE_NUMBER, TRACKED
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.conversion.references import reference_to, references_to
from paimon_sql.spark.conversion.types import spark_struct
from paimon_sql.spark.java.connector import ChangelogRange, ConnectorExpression, StringMap
from paimon_sql.spark.java.objects import JavaObject, Optional
from paimon_sql.spark.jvm.compat import HAS_CHANGE_QUERIES, v2_columns
from paimon_sql.spark.jvm.gateway import CATALOG
from paimon_sql.spark.jvm.session import JvmSession, SessionProxy
from paimon_sql.spark.options import read_options, with_read_options
from paimon_sql.spark.scan.path import describe, split_size
from paimon_sql.spark.scan.proxies.planned import PythonScanProxy
from paimon_sql.spark.tables.base import FilteredScanBuilder, ScanBuilder, under_push_down
from paimon_sql.storage.read.metadata_columns import is_tracked
from paimon_sql.storage.read.task import CHANGE_FIELDS, CommitTask
from paimon_sql.storage.scan.changes.plan import plan_commits, rewrites_rows
from paimon_sql.storage.scan.plan import ScanPlan
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.change_range import Bound, commits_between
from paimon_sql.storage.write.buckets.base import bound_partition_keys

_SPARK_OPTIONS = frozenset(
    (
        *("startingversion", "endingversion", "startingtimestamp", "endingtimestamp"),
        *("startingboundinclusive", "endingboundinclusive", "deduplicationmode", "computeupdates"),
    )
)
"""The options of a query of changes that Spark evaluates."""


@dataclass(eq=False)
class ChangelogProxy(SessionProxy):
    """The changes of a table between two commits as Spark's ``Changelog``.

    The primary key identifies a row, or its row id if the table tracks rows; other tables have no identity of rows.
    """

    implements = [f"{CATALOG}.Changelog"] if HAS_CHANGE_QUERIES else []
    table: Table
    commits: range

    def name(self) -> str:
        return self.table.name

    def toString(self) -> str:
        return f"the changes of {self.table.name}"

    def columns(self) -> Sequence[JavaObject]:
        return v2_columns(self.jvm, self.jvm.struct(spark_struct(self._fields)))

    @cached_property
    def _fields(self) -> tuple[DataField, ...]:
        tracked = [f for f in TRACKED if self._is_tracked and f.name not in self.table.schema.names]
        return (*self.table.schema.fields, *tracked, *CHANGE_FIELDS)

    @property
    def _is_tracked(self) -> bool:
        return is_tracked(self.table.schema) and not self.table.schema.has_key

    def containsCarryoverRows(self) -> bool:
        return self._is_tracked

    def containsIntermediateChanges(self) -> bool:
        return self.table.schema.has_key or self._is_tracked

    def representsUpdateAsDeleteAndInsert(self) -> bool:
        return self._is_tracked

    def rowId(self) -> Sequence[ConnectorExpression]:
        schema = self.table.schema
        key = (*schema.primary_keys, *bound_partition_keys(schema)) or ((ROW_ID.name,) if self._is_tracked else ())
        return references_to(self.jvm, key)

    def rowVersion(self) -> ConnectorExpression:
        if not self._is_tracked:
            raise UnsupportedError(f"{self.table.name} has no row versions.", remedy="Enable 'row-tracking.enabled'.")
        return reference_to(self.jvm, SEQUENCE_NUMBER.name)

    def newScanBuilder(self, options: StringMap) -> ScanBuilder:
        builder = ChangesBuilderProxy(self.session, self._fields, self.table, self.commits)
        return under_push_down(builder, self.table.options, self._fields)


@dataclass(eq=False)
class ChangesBuilderProxy(FilteredScanBuilder):
    """Builder of the scan of changes."""

    table: Table
    commits: range

    @property
    def _spare(self) -> DataField:
        return CHANGE_FIELDS[0]

    @property
    def _filtered(self) -> Sequence[DataField]:
        return self.table.schema.fields

    def build(self) -> PythonScanProxy:
        table, commits, predicate, names = self.table, self.commits, self._predicate, self._names
        changes, metrics = plan_commits(table, commits, predicate, split_size(self.jvm, table).target)
        plan = ScanPlan(table, None, [change.split for change in changes], metrics)
        tasks = [[CommitTask(table, change, names, predicate)] for change in changes]
        ends = f"commits {commits.start} to {commits.stop - 1}" if commits else "no commits"
        what = describe(table, plan, predicate).replace("no snapshot", ends, 1)
        return PythonScanProxy(self.session, self._columns, what, plan, lambda plan: tasks)


def load_changelog(session: JvmSession, table: Table, context: JavaObject, options: StringMap) -> ChangelogProxy:
    """Return the changes of a table that a query requests.

    Args:
        session: the session.
        table: the table.
        context: Spark's ``ChangelogContext``: the range, and how Spark post-processes the changes.
        options: the options of the query.

    Raises:
        InvalidInputError: the range ends before it begins.
        NoSuchSnapshotError: a version is not retained.
        UnsupportedError: commits moved rows that cannot be distinguished from those that they changed.
    """
    given = {k: v for k, v in read_options(session.jvm, options).items() if k.lower() not in _SPARK_OPTIONS}
    table = with_read_options(session, table, given)
    commits = commits_between(table, *_bounds(context.range()))
    identifies_rows = table.schema.has_key or is_tracked(table.schema)
    if not identifies_rows and context.deduplicationMode().name() != "NONE" and rewrites_rows(table, commits):
        raise UnsupportedError(
            f"{table.name}: a commit of {commits.start} to {commits.stop - 1} rewrote rows that it did not change,"
            " which cannot be distinguished without row ids.",
            remedy="Use WITH ('deduplicationMode' = 'none') to read them, or enable 'row-tracking.enabled'.",
        )
    return ChangelogProxy(session, table, commits)


def _bounds(changes: ChangelogRange) -> tuple[Bound | None, Bound | None]:
    """The ends of a range of changes."""
    kind = changes.getClass().getSimpleName()
    if kind == "UnboundedRange":
        return None, None
    first: str | int = changes.startingVersion() if kind == "VersionRange" else changes.startingTimestamp()
    last: Optional[str | int] = changes.endingVersion() if kind == "VersionRange" else changes.endingTimestamp()
    end = Bound(last.get(), changes.endingBoundInclusive()) if last.isPresent() else None
    return Bound(first, changes.startingBoundInclusive()), end
