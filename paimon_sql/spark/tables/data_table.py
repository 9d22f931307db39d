"""Proxy of a table with snapshots, for reads and writes (Spark: ``Table``)."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Any, ClassVar

from paimon_sql.catalog.table_types import writable
from paimon_sql.errors import InvalidInputError, PaimonError
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.spark.conversion.metadata_column import hidden_columns
from paimon_sql.spark.jvm.gateway import CATALOG, Jvm
from paimon_sql.spark.options.read import also_read, read_options, with_read_options
from paimon_sql.spark.scan.builder import ScanBuilderProxy
from paimon_sql.spark.scan.pushdown.disabled import under_push_down
from paimon_sql.spark.tables.base import SchemaTable
from paimon_sql.spark.tables.partitions import PartitionManagement
from paimon_sql.spark.write.builder import WriteBuilderProxy
from paimon_sql.storage.read.metadata_columns import metadata_fields
from paimon_sql.storage.scan.snapshot_to_read import sees_one_branch, snapshot_to_read
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.resolve import TRAVEL_KEYS


class _Unknown(Enum):
    """Values of `TableProxy._planned` that are not snapshots."""

    NOT_PLANNED = 1
    UNDETERMINED = 2


class TableProxy(SchemaTable, PartitionManagement):
    """A table, or one of its branches, in one statement.

    Attributes:
        written: the target of writes: the newest state, even if reads time travel because Spark did not announce a
            write when it loaded the table.
    """

    capability_names: ClassVar[tuple[str, ...]] = (
        *("BATCH_READ", "MICRO_BATCH_READ", "V1_BATCH_WRITE", "BATCH_WRITE", "STREAMING_WRITE"),
        *("OVERWRITE_BY_FILTER", "OVERWRITE_DYNAMIC", "TRUNCATE"),
    )
    table: Table

    def __init__(self, jvm: Jvm, table: Table, session: Any) -> None:
        super().__init__(jvm, table, session)
        self.written = table
        self._planned: Snapshot | _Unknown | None = _Unknown.NOT_PLANNED

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
        latest = replace(self.table).schemas.latest()
        return latest is None or latest.id != self.table.schema.id

    def _current_snapshot(self) -> Snapshot | _Unknown | None:
        """The snapshot that a read would use now."""
        try:
            # A copy, since a table caches its metadata.
            table = with_read_options(self.jvm, self.session, replace(self.table), {})
            return snapshot_to_read(table) if sees_one_branch(table) else _Unknown.UNDETERMINED
        except (PaimonError, OSError):
            return _Unknown.UNDETERMINED

    def metadataColumns(self) -> Any:
        return hidden_columns(self.jvm, metadata_fields(self.table.schema))

    def canRenameConflictingMetadataColumns(self) -> bool:
        return False

    def newScanBuilder(self, options: Any) -> Any:
        seen = self.table if self._planned is _Unknown.NOT_PLANNED else replace(self.table)  # without cached metadata
        table = with_read_options(self.jvm, self.session, seen, read_options(self.jvm, options))
        builder = ScanBuilderProxy(self.jvm, table, self.session, self._note, also_read(options))
        return under_push_down(self.jvm, table.options, builder, table.schema.fields)

    def _note(self, snapshot: Snapshot | None) -> None:
        self._planned = snapshot

    def newWriteBuilder(self, info: Any) -> WriteBuilderProxy:
        return WriteBuilderProxy(self.jvm, writable(self._newest()), self.session, info, self.qualified_name)

    def _newest(self) -> Table:
        """Return the target of a write; its columns must be those against which Spark validated the rows."""
        seen, written = ([(f.name, f.type) for f in t.schema.fields] for t in (self.table, self.written))
        if seen != written:
            raise InvalidInputError(
                f"{self.table.name} cannot be written to: the option that reads it as of another time shows other"
                " columns.",
                remedy="Leave the option out of the write, or RESET it in the session.",
            )
        return self.written

    class Java:
        implements = [
            f"{CATALOG}.SupportsRead",
            f"{CATALOG}.SupportsWrite",
            f"{CATALOG}.SupportsAtomicPartitionManagement",
            f"{CATALOG}.TruncatableTable",
            f"{CATALOG}.SupportsMetadataColumns",
        ]
