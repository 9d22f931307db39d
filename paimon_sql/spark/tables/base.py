"""Base classes of table proxies: those with a schema, those with partitions, and those that are read only."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.catalog.table_types import AnyTable, writable
from paimon_sql.format.layout.partitions import DEFAULT_NAME, DEFAULT_NAME_KEY, PartitionPaths
from paimon_sql.format.metadata.snapshot import Operation
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.spark import READ_PUSH_DOWN_ENABLED
from paimon_sql.format.options.table.table import PATH
from paimon_sql.format.schema.arrow_types import arrow_schema, arrow_type
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.connector import cached_tables
from paimon_sql.spark.connector.interfaces import CATALYST_FILTERS, PartitionInterface, TableInterface
from paimon_sql.spark.connector.lineage import lineage_properties
from paimon_sql.spark.conversion.references import partitioned_by, references_to
from paimon_sql.spark.conversion.rows import internal_rows, row_values
from paimon_sql.spark.conversion.types import FieldJson, StructJson, spark_struct, struct_json, struct_of
from paimon_sql.spark.expressions.predicates import expression_text, translate_all
from paimon_sql.spark.java.catalyst import Expression, InternalRow, StructType
from paimon_sql.spark.java.objects import JavaObject, Seq
from paimon_sql.spark.jvm.gateway import CATALOG, CONNECTOR, Jvm
from paimon_sql.spark.jvm.session import JvmSession, SessionProxy
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.data_files.live_files import filter_partitions, live_files, partition_values
from paimon_sql.storage.expressions.predicates import Comparison, IsNull, Or, Predicate, all_of
from paimon_sql.storage.operations import operations
from paimon_sql.storage.scan.layout import ScanLayout
from paimon_sql.storage.staging.proposal import Overwrite, overwritten
from paimon_sql.storage.table.table import Table

_CONSTRAINT = f"{CATALOG}.constraints.Constraint"


@dataclass(eq=False)
class SchemaTable(TableInterface):
    """A table of the catalog, of any kind, in one statement.

    Attributes:
        table: the table.
    """

    table: AnyTable

    def _is_like(self, other: SchemaTable) -> bool:
        mine, theirs = self.table, other.table
        return (mine.name, mine.path, mine.schema) == (theirs.name, theirs.path, theirs.schema)

    def _trait(self) -> Hashable:
        return type(self).__name__, self.table.path

    def name(self) -> str:
        return self.table.name

    @cached_property
    def _struct(self) -> StructJson:
        return spark_struct(self.table.schema.fields)

    def partitioning(self) -> Sequence[JavaObject]:
        return partitioned_by(self.jvm, self.table.schema.partition_keys)

    def properties(self) -> Mapping[str, str]:
        schema = self.table.schema
        known = {**schema.options, **self._own_properties()}
        known.pop(PATH.key, None)
        if schema.has_key:
            known["primary-key"] = ",".join(schema.primary_keys)
        if schema.comment is not None:
            known["comment"] = schema.comment
        return self.jvm.java_map({**known, **lineage_properties(self.jvm, self.table)})

    def constraints(self) -> Sequence[JavaObject]:
        schema = self.table.schema
        if not schema.has_key:
            return super().constraints()
        # Spark asks once for each statement that writes.
        return self.jvm.remember(f"key {schema.primary_keys}", lambda: _primary_key(self.jvm, schema.primary_keys))

    def _own_properties(self) -> dict[str, str]:
        """The properties that Spark reserves (Spark: ``TableCatalog.PROP_*``)."""
        return {"provider": "paimon", "location": self.table.path, "is_managed_location": "true"}


def _primary_key(jvm: Jvm, columns: Sequence[str]) -> Sequence[JavaObject]:
    """The constraint of a primary key, which Spark need not enforce: a write is an upsert."""
    key = jvm.cls(_CONSTRAINT).primaryKey("primary_key", references_to(jvm, columns)).enforced(False).build()
    return jvm.array(_CONSTRAINT, [key])


class PartitionManagement(PartitionInterface):
    """Partition methods of a table's proxy; a partition exists while it has live files."""

    table: Table

    def listPartitionIdentifiers(self, names: Sequence[str], row: InternalRow) -> Sequence[InternalRow]:
        fields = self.table.schema.partition_fields
        chosen = self._entries(list(names), row)["partition"].combine_chunks()
        values = partition_values(self.table, pc.unique(chosen))
        table = pa.Table.from_arrays([values[f.name] for f in fields], schema=arrow_schema(fields))
        return internal_rows(self.jvm, table, fields)

    def partitionExists(self, row: InternalRow) -> bool:
        names = list(self.table.schema.partition_keys)
        return has_partition(self.table, equal_to_row(self.table.schema, names, row))

    def loadPartitionMetadata(self, row: InternalRow) -> Mapping[str, str]:
        chosen = self._entries(list(self.table.schema.partition_keys), row)
        if not len(chosen):
            return self.jvm.java_map({})
        figures = {
            "recordCount": pc.sum(chosen["row_count"]),
            "fileSizeInBytes": pc.sum(chosen["file_size"]),
            "fileCount": len(chosen),
            "lastFileCreationTime": pc.max(chosen["creation_time_millis"]),
        }
        return self.jvm.java_map({name: str(value) for name, value in figures.items()})

    def _create(self, rows: Sequence[InternalRow]) -> None:
        """Add partitions to the catalog's partition registry, if it has one; reads see a partition only by its rows."""
        if self.table.partition_registry is not None:
            paths = PartitionPaths.of(self.table.schema)
            types = [f.type for f in self.table.schema.partition_fields]
            self.table.partition_registry.add([paths.spec(row_values(row, types)) for row in rows])

    def truncatePartitions(self, rows: Sequence[InternalRow]) -> bool:
        return self.dropPartitions(rows)

    def dropPartitions(self, rows: Sequence[InternalRow]) -> bool:
        if len(rows):
            truncate_table(writable(self.table), any_of_rows(self.table.schema, rows))
            cached_tables.renew(self.session)
        return True

    def truncateTable(self, *options: object) -> bool:
        truncate_table(writable(self.table), None)
        cached_tables.renew(self.session)
        return True

    def _entries(self, names: list[str], row: InternalRow) -> pa.Table:
        """The newest files of partitions whose columns have these values."""
        entries = ScanLayout.of(self.table).newest_entries(self.table)
        return filter_partitions(self.table, entries, equal_to_row(self.table.schema, names, row))


def has_partition(table: Table, partitions: Predicate | None) -> bool:
    """Whether a table has live files in a partition that matches a predicate."""
    entries = live_files(table, table.snapshots.latest()).entries
    return bool(len(filter_partitions(table, entries, partitions)))


def equal_to_row(schema: TableSchema, names: list[str], row: InternalRow) -> Predicate | None:
    """The predicate that columns have the values of an ``InternalRow``; None without columns.

    The default partition name, which is null in paths, matches null as well.
    """
    fields = schema.select(names)
    values = row_values(row, [f.type for f in fields])
    default_name = schema.options.get(DEFAULT_NAME_KEY, DEFAULT_NAME)
    return all_of([_having(f, v, default_name) for f, v in zip(fields, values, strict=True)])


def _having(field: DataField, value: object, default_name: str) -> Predicate:
    if value is None:
        return IsNull(field.name)
    equal = Comparison(field.name, "=", pa.scalar(value, arrow_type(field.type)))
    return Or((IsNull(field.name), equal)) if value == default_name else equal


def any_of_rows(schema: TableSchema, rows: Sequence[InternalRow]) -> Predicate:
    """The predicate that the partition columns have the values of any of the rows."""
    names = list(schema.partition_keys)
    predicates = [p for p in (equal_to_row(schema, names, row) for row in rows) if p is not None]
    return predicates[0] if len(predicates) == 1 else Or(tuple(predicates))


def truncate_table(table: Table, partitions: Predicate | None) -> None:
    """Delete all rows, or those of the partitions that match a predicate; earlier snapshots stay readable."""
    with Transaction(table, Operation.TRUNCATE) as transaction:
        operations.overwrite(transaction, [], lambda latest: overwritten(table, latest, Overwrite(partitions), []))


@dataclass(eq=False)
class ColumnScanBuilder(SessionProxy):
    """Builder of the scan of some columns.

    Attributes:
        fields: all columns.
    """

    implements = [f"{CONNECTOR}.read.SupportsPushDownRequiredColumns"]
    fields: tuple[DataField, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        self._columns = self.fields

    @property
    def _spare(self) -> DataField:
        """The column to read for a query that needs none: batches without columns would lose the number of rows."""
        return self.fields[0]

    def pruneColumns(self, struct: StructType) -> None:
        known = {f.name: f for f in self.fields}
        self._columns = tuple(known[f["name"]] for f in struct_json(struct)["fields"]) or (self._spare,)


@dataclass(eq=False)
class FilteredScanBuilder(ColumnScanBuilder):
    """Builder of a scan that uses filters to read less; Spark evaluates all of them again."""

    implements = [*ColumnScanBuilder.implements, CATALYST_FILTERS]
    _predicates: list[Predicate] = field(default_factory=list, init=False)

    @property
    def _filtered(self) -> Sequence[DataField]:
        """The columns on which filters are used."""
        return self.fields

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(f.name for f in self._columns)

    @property
    def _predicate(self) -> Predicate | None:
        """The conjunction of the filters that could be translated."""
        return all_of(self._predicates)

    def pushFilters(self, expressions: Seq[Expression]) -> Seq[Expression]:
        found = translate_all(expression_text(self.jvm, expressions), {f.name: f.type for f in self._filtered})
        self._predicates += [p for p in found if p is not None]
        return expressions

    def pushedFilters(self) -> Sequence[JavaObject]:
        return self.jvm.array(f"{CONNECTOR}.expressions.filter.Predicate")


class ScanBuilder(Protocol):
    """The common methods of scan builders."""

    session: JvmSession

    def pruneColumns(self, struct: StructType) -> None:
        """Set the columns to read."""

    def build(self) -> object:
        """The scan."""


def under_push_down(builder: ScanBuilder, options: TableOptions, columns: Sequence[DataField]) -> ScanBuilder:
    """A scan builder by a read's options: the builder itself, or one without push-down.

    Args:
        builder: a new builder.
        options: the options of the read.
        columns: the table's columns, all of which a scan without push-down reads.
    """
    if options.get(READ_PUSH_DOWN_ENABLED):
        return builder
    return PlainScanBuilderProxy(builder.session, builder, spark_struct(columns)["fields"])


@dataclass(eq=False)
class PlainScanBuilderProxy(SessionProxy):
    """Builder of a scan of all rows and columns: Spark can push no predicate, limit, order or aggregate into it.

    It is that of reads without push-down (``read.push-down.enabled`` = ``false``): Spark computes the rest. Metadata
    columns are read if a query names them.
    """

    implements = [f"{CONNECTOR}.read.SupportsPushDownRequiredColumns"]
    builder: ScanBuilder
    own: Sequence[FieldJson]

    def pruneColumns(self, struct: StructType) -> None:
        names = {f["name"] for f in self.own}
        hidden = [f for f in struct_json(struct)["fields"] if f["name"] not in names]
        self.builder.pruneColumns(self.jvm.struct(struct_of([*self.own, *hidden])))

    def build(self) -> object:
        return self.builder.build()


class ReadOnlyTable(TableInterface):
    """A table that can only be scanned (Spark: ``Table``)."""

    implements = [f"{CATALOG}.SupportsRead"]

    @abstractmethod
    def fields(self) -> Sequence[DataField]:
        """The table's columns."""

    def _trait(self) -> Hashable:
        return self.name()

    def partitioning(self) -> Sequence[JavaObject]:
        return self.jvm.array(f"{CONNECTOR}.expressions.Transform")

    def properties(self) -> Mapping[str, str]:
        return self.jvm.java_map({"provider": "paimon"})

    @cached_property
    def _struct(self) -> StructJson:
        # Columns of the Java connector's system tables have no comments, and tools compare schemas.
        return spark_struct(replace(f, description=None) for f in self.fields())
