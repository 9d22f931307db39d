"""Proxies of tables with snapshots, for reads and writes (Spark: ``Table``), also with query authorization."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from paimon_sql.catalog.table_types import writable
from paimon_sql.errors import InvalidInputError, PaimonError
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.spark.conversion.references import hidden_columns
from paimon_sql.spark.java.connector import StringMap, WriteInfo
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.jvm.gateway import CATALOG, CONNECTOR
from paimon_sql.spark.jvm.proxy import answers_of, knowing
from paimon_sql.spark.options import also_read, read_options, with_read_options
from paimon_sql.spark.scan.builder import ScanBuilderProxy
from paimon_sql.spark.scan.path import describe, split_size
from paimon_sql.spark.scan.proxies.planned import PythonScanProxy
from paimon_sql.spark.tables.base import (
    ColumnScanBuilder,
    PartitionManagement,
    ScanBuilder,
    SchemaTable,
    under_push_down,
)
from paimon_sql.spark.write.proxies import WriteProxy
from paimon_sql.storage.read.metadata_columns import metadata_fields
from paimon_sql.storage.read.query_auth import QueryAuthTask, check_query_auth
from paimon_sql.storage.scan.plan import ScanPlan, plan_scan
from paimon_sql.storage.scan.read_state import sees_one_branch, snapshot_to_read
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import TRAVEL_KEYS

_WRITES: tuple[str, ...] = (
    "V1_BATCH_WRITE",
    "BATCH_WRITE",
    "STREAMING_WRITE",
    "OVERWRITE_BY_FILTER",
    "OVERWRITE_DYNAMIC",
    "TRUNCATE",
)


class _Unknown(Enum):
    """Values of `TableProxy._planned` that are not snapshots."""

    NOT_PLANNED = 1
    UNDETERMINED = 2


@dataclass(eq=False)
class TableProxy(SchemaTable, PartitionManagement):
    """A table, or one of its branches, in one statement.

    Attributes:
        written: the target of writes: the newest state, even if reads time travel because Spark did not announce a
            write when it loaded the table; by default the table itself.
    """

    implements = [*PartitionManagement.implements, f"{CATALOG}.SupportsMetadataColumns"]

    capability_names = ("BATCH_READ", "MICRO_BATCH_READ", *_WRITES)
    table: Table

    _planned: Snapshot | _Unknown | None = field(default=_Unknown.NOT_PLANNED, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.written = self.table

    def in_jvm(self) -> JavaObject:
        # Spark asks these about twenty times for each statement.
        schema, caller = self.table.schema, type(self).__name__
        key = f"{caller} {self.name()} {schema.partition_keys} {schema.primary_keys} {json.dumps(self._struct)}"
        return knowing(self, self.jvm.remember(key, self._known))

    def _known(self) -> Mapping[str, object]:
        methods = (self.name, self.toString, self.capabilities, self.columns, self.constraints, self.partitioning)
        return answers_of(self.jvm, *methods)

    def _is_like(self, other: SchemaTable) -> bool:
        # The plan of the other table may be cached; it must have the snapshot that this table would read now.
        assert isinstance(other, TableProxy)
        mine, theirs = self.table, other.table
        if (mine.branch, mine.read_optimized) != (theirs.branch, theirs.read_optimized) or not super()._is_like(other):
            return False
        return other._planned is _Unknown.NOT_PLANNED or other._planned == self._current_snapshot()

    @property
    def is_planned(self) -> bool:
        """Whether a scan was built, so that a cached plan may reference the table."""
        return self._planned is not _Unknown.NOT_PLANNED

    def has_changed(self) -> bool:
        if self._planned is _Unknown.NOT_PLANNED:
            return False
        return self._planned != self._current_snapshot() or self._has_other_columns()

    def _has_other_columns(self) -> bool:
        if not TRAVEL_KEYS.isdisjoint(self.table.schema.options):
            return False  # time travel: the columns are those of an older schema
        latest = self.table.schemas.latest()
        return latest is None or latest.id != self.table.schema.id

    def _current_snapshot(self) -> Snapshot | _Unknown | None:
        """The snapshot that a read would use now."""
        try:
            table = with_read_options(self.session, self.table, {})
            return snapshot_to_read(table) if sees_one_branch(table) else _Unknown.UNDETERMINED
        except (PaimonError, OSError):
            return _Unknown.UNDETERMINED

    def metadataColumns(self) -> Sequence[JavaObject]:
        return hidden_columns(self.jvm, metadata_fields(self.table.schema))

    def canRenameConflictingMetadataColumns(self) -> bool:
        return False

    def read_as(self, table: Table) -> None:
        """Let the scans that Spark will request read another state of the table."""
        self.table = table

    def newScanBuilder(self, options: StringMap) -> ScanBuilder:
        seen = self.table.reopened() if self.is_planned else self.table
        given = None if options.isEmpty() else options
        table = with_read_options(self.session, seen, read_options(self.jvm, given))
        builder = ScanBuilderProxy(self.session, table, self._note, also_read(given))
        return under_push_down(builder, table.options, table.schema.fields)

    def _note(self, snapshot: Snapshot | None) -> None:
        self._planned = snapshot

    def newWriteBuilder(self, info: WriteInfo) -> WriteProxy:
        return WriteProxy(self.session, writable(self._newest()), info, self.qualified_name)

    def _newest(self) -> Table:
        """Return the target of a write; its columns must be those against which Spark validated the rows."""
        seen, written = ([(f.name, f.type) for f in t.schema.fields] for t in (self.table, self.written))
        if seen != written:
            raise InvalidInputError(
                f"{self.table.name} cannot be written to: its time travel option selects a schema with other columns.",
                remedy="Leave the option out of the write, or RESET it in the session.",
            )
        return self.written


class QueryAuthTableProxy(TableProxy):
    """A table with query authorization in one statement."""

    capability_names = ("BATCH_READ", *_WRITES)

    def _is_like(self, other: SchemaTable) -> bool:
        return False  # the rights may have changed

    def metadataColumns(self) -> Sequence[JavaObject]:
        return self.jvm.array(f"{CONNECTOR}.catalog.MetadataColumn")

    def newScanBuilder(self, options: StringMap) -> ScanBuilder:
        table = with_read_options(self.session, self.table, read_options(self.jvm, options))
        return QueryAuthScanBuilder(self.session, table.schema.fields, table, self._note)


@dataclass(eq=False)
class QueryAuthScanBuilder(ColumnScanBuilder):
    """Builder of the scan of a table with query authorization.

    Predicates, aggregates, limits and orders are not pushed down: all of them would leak values hidden from the reader.
    """

    table: Table
    note: Callable[[Snapshot | None], None]

    def build(self) -> PythonScanProxy:
        table, names = self.table, tuple(f.name for f in self._columns)
        assert table.query_auth is not None
        rights = table.query_auth.authorize(names)
        check_query_auth(table, rights)
        plan = plan_scan(table, parallelism=self.jvm.parallelism, split_size=split_size(self.jvm, table))
        self.note(plan.snapshot)

        def partitions_of(plan: ScanPlan) -> list[list[QueryAuthTask]]:
            return [[QueryAuthTask(table, split, names, rights)] for split in plan.splits]

        return PythonScanProxy(self.session, self._columns, describe(table, plan, None), plan, partitions_of)
