"""Proxies of format tables (Spark: ``Table``), with partition management, and staged ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import pyarrow as pa

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import WrongKindError
from paimon_sql.format.layout.partitions import DEFAULT_NAME_KEY
from paimon_sql.format.options import Scope, canonical, validate
from paimon_sql.format.options.operations.commit import METASTORE_PARTITIONED_TABLE
from paimon_sql.format.options.table.data_file import FILE_FORMAT
from paimon_sql.format.options.table.format_table import FORMAT_TABLE_PARTITION_PATH_ONLY_VALUE
from paimon_sql.format.options.table.table import PARTITION, PATH, PRIMARY_KEY, TYPE
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.types import string_type
from paimon_sql.spark.connector import cached_tables
from paimon_sql.spark.connector.interfaces import PartitionInterface
from paimon_sql.spark.conversion.rows import internal_rows, row_values
from paimon_sql.spark.conversion.types import StructJson, spark_struct
from paimon_sql.spark.java.catalyst import InternalRow
from paimon_sql.spark.java.connector import StringMap, WriteInfo
from paimon_sql.spark.jvm.gateway import CATALOG, CATALYST
from paimon_sql.spark.jvm.proxy import raise_java
from paimon_sql.spark.options import read_options
from paimon_sql.spark.rules.optimizer import ensure_rule
from paimon_sql.spark.tables.base import ScanBuilder, SchemaTable, any_of_rows, equal_to_row, under_push_down
from paimon_sql.spark.tables.format_tables.formats import Json
from paimon_sql.spark.tables.format_tables.proxies import (
    EmptyPartitionsAsNull,
    FormatScanBuilder,
    FormatWrite,
    ReadQuotedValues,
)
from paimon_sql.spark.tables.staged_table import Successor
from paimon_sql.storage.expressions.casts import cast
from paimon_sql.storage.format_tables import FormatTable
from paimon_sql.storage.format_tables.changes import add_partitions, discard, drop_partitions, empty, replace_table
from paimon_sql.storage.format_tables.partitions import all_partitions, chosen_partitions, partition_columns
from paimon_sql.storage.table.time_travel.resolve import TRAVEL_KEYS


class FormatPartitions(PartitionInterface):
    """Partition methods of a format table's proxy.

    A partition exists while its directory does, or while it is in the catalog's partition registry, if there is one.
    """

    table: FormatTable

    def listPartitionIdentifiers(self, names: Sequence[str], row: InternalRow) -> Sequence[InternalRow]:
        fields = self.table.partition_fields
        found = chosen_partitions(self.table, equal_to_row(self.table.schema, list(names), row))
        columns = partition_columns(self.table, found)
        table = pa.table([columns[f.name] for f in fields], names=[f.name for f in fields])
        # One partition may have several directories, such as h=7 and h=07.
        table = table.group_by(table.column_names, use_threads=False).aggregate([])
        return internal_rows(self.jvm, table, fields)

    def partitionExists(self, row: InternalRow) -> bool:
        names = list(self.table.schema.partition_keys)[: row.numFields()]
        return bool(chosen_partitions(self.table, equal_to_row(self.table.schema, names, row)))

    def _create(self, rows: Sequence[InternalRow]) -> None:
        add_partitions(self.table, [self._directory_values(row) for row in rows])

    def dropPartitions(self, rows: Sequence[InternalRow]) -> bool:
        drop_partitions(self.table, chosen_partitions(self.table, any_of_rows(self.table.schema, rows)))
        return True

    def truncatePartition(self, row: InternalRow) -> bool:
        if not self.partitionExists(row):
            error = f"{CATALYST}.analysis.NoSuchPartitionException"
            raise_java(self.jvm.new(error, self.table.name, row, self.partitionSchema()))
        return super().truncatePartition(row)

    def truncatePartitions(self, rows: Sequence[InternalRow]) -> bool:
        if len(rows):
            empty(self.table, chosen_partitions(self.table, any_of_rows(self.table.schema, rows)))
        return True

    def truncateTable(self, *options: object) -> bool:
        empty(self.table, all_partitions(self.table))
        return True

    def _directory_values(self, row: InternalRow) -> list[str | None]:
        """The values of a row as strings for directory names."""
        fields = self.table.partition_fields
        values = row_values(row, [f.type for f in fields])
        return [
            cast(pa.array([value], arrow_type(f.type)), f.type, string_type())[0].as_py()
            for f, value in zip(fields, values, strict=True)
        ]


_CREATION_OPTIONS = frozenset(
    (
        *(option.key for option in (TYPE, PATH, PARTITION, PRIMARY_KEY, FILE_FORMAT)),
        *(FORMAT_TABLE_PARTITION_PATH_ONLY_VALUE.key, DEFAULT_NAME_KEY, METASTORE_PARTITIONED_TABLE.key),
    )
)


def under_format_options(table: FormatTable, options: Mapping[str, str]) -> FormatTable:
    """Return a format table with the options of a statement, except those that only its creation can set.

    Raises:
        WrongKindError: the options request time travel, which needs snapshots.
    """
    travel_options = sorted(TRAVEL_KEYS & options.keys())
    if travel_options:
        raise WrongKindError(
            f"{table.name} is a format table, which has no snapshots: '{travel_options[0]}' is not supported.",
            remedy="Read it without time travel.",
        )
    return table.with_options({k: v for k, v in options.items() if k not in _CREATION_OPTIONS})


@dataclass(eq=False)
class FormatTableProxy(SchemaTable, FormatPartitions):
    """A format table in one statement.

    Attributes:
        writes: whether the statement writes into it: NOT NULL holds for written rows, but not for rows of the files.
    """

    capability_names = ("BATCH_READ", "BATCH_WRITE", "OVERWRITE_BY_FILTER", "OVERWRITE_DYNAMIC", "TRUNCATE")
    table: FormatTable

    writes: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.table.format == Json.name and not self.writes:
            ensure_rule(self.session, ReadQuotedValues)
        if self.table.partition_fields and self.writes:
            ensure_rule(self.session, EmptyPartitionsAsNull)

    @cached_property
    def _struct(self) -> StructJson:
        fields = self.table.schema.fields
        if not self.writes:
            fields = tuple(replace(f, type=f.type.as_nullable()) for f in fields)
        return spark_struct(fields)

    def _own_properties(self) -> dict[str, str]:
        known = {"provider": self.table.format, "location": self.table.location}
        if self.table.is_external:
            return {**known, "external": "true"}
        return {**known, "is_managed_location": "true"}

    def newScanBuilder(self, options: StringMap) -> ScanBuilder:
        table = self._under(options)
        return under_push_down(FormatScanBuilder(self.session, table), table.options, table.schema.fields)

    def newWriteBuilder(self, info: WriteInfo) -> FormatWrite:
        return FormatWrite(self.session, self._under(info.options()), info)

    def _under(self, options: StringMap) -> FormatTable:
        """The table with the options of one read or write, including Spark's own."""
        given = read_options(self.jvm, options)
        validate(given, Scope.TABLE)
        return under_format_options(self.table, canonical(given))


@dataclass(eq=False)
class StagedFormatTable(FormatTableProxy):
    """A format table that is created or replaced together with its rows."""

    implements = [*FormatTableProxy.implements, f"{CATALOG}.StagedTable"]
    writes: bool = field(default=True, init=False)


@dataclass(eq=False)
class CreatedFormatTable(StagedFormatTable):
    """A format table that this statement has created, and drops if the statement fails.

    Attributes:
        catalog: the table's catalog.
        identifier: its name.
        successor: replaces another table by this one after the rows are written.
    """

    catalog: Catalog
    identifier: Identifier
    successor: Successor | None

    def commitStagedChanges(self) -> None:
        if self.successor is not None:
            self.successor.commit()
            cached_tables.renew(self.session)

    def abortStagedChanges(self) -> None:
        if self.successor is not None:
            self.successor.abort()
        else:
            self.catalog.drop_table(self.identifier)


@dataclass(eq=False)
class ReplacedFormatTable(StagedFormatTable):
    """A format table whose definition and files are replaced; readers see no change before the commit.

    Attributes:
        old: the existing table.
    """

    old: FormatTable
    _staged: list[str] = field(default_factory=list, init=False)

    def newWriteBuilder(self, info: WriteInfo) -> FormatWrite:
        return FormatWrite(self.session, self._under(info.options()), info, self._staged)

    def commitStagedChanges(self) -> None:
        try:
            replace_table(self.old, self.table, self._staged[0] if self._staged else None)
        except BaseException:
            self.abortStagedChanges()
            raise

    def abortStagedChanges(self) -> None:
        for staging in self._staged:
            discard(self.table, staging)
