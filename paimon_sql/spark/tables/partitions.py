"""Partition management of tables with snapshots: SHOW, ADD and DROP PARTITION, and TRUNCATE TABLE."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.catalog.table_types import writable
from paimon_sql.errors import UnsupportedError
from paimon_sql.format.layout.partitions import DEFAULT_NAME, DEFAULT_NAME_KEY, PartitionPaths
from paimon_sql.format.metadata.snapshot import Operation
from paimon_sql.format.schema.arrow_types import arrow_schema, arrow_type
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.connector import cached_tables
from paimon_sql.spark.connector.interfaces import PartitionInterface
from paimon_sql.spark.conversion.internal_rows import internal_rows
from paimon_sql.spark.conversion.rows import row_values
from paimon_sql.spark.conversion.types import spark_struct
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.data_files.live_files import filter_partitions, live_files, partition_values
from paimon_sql.storage.expressions.predicates import Comparison, IsNull, Or, Predicate, all_of
from paimon_sql.storage.operations import operations
from paimon_sql.storage.scan.branches.all import newest_entries
from paimon_sql.storage.staging.overwrite import Overwrite, overwritten
from paimon_sql.storage.table.table import Table


class PartitionManagement(PartitionInterface):
    """Partition methods of a table's proxy; a partition exists while it has live files."""

    jvm: Jvm
    table: Table
    session: Any

    def partitionSchema(self) -> Any:
        struct = spark_struct(self.table.schema.partition_fields)
        return self.jvm.cls("org.apache.spark.sql.types.DataType").fromJson(json.dumps(struct))

    def listPartitionIdentifiers(self, names: Any, row: Any) -> Any:
        fields = self.table.schema.partition_fields
        values = self._values(newest_entries(self.table), equal_to_row(self.table.schema, list(names), row))
        table = pa.Table.from_arrays([values[f.name] for f in fields], schema=arrow_schema(fields))
        return internal_rows(self.jvm, self.session, table, fields)

    def partitionExists(self, row: Any) -> bool:
        names = list(self.table.schema.partition_keys)
        return has_partition(self.table, equal_to_row(self.table.schema, names, row))

    def loadPartitionMetadata(self, row: Any) -> Any:
        names = list(self.table.schema.partition_keys)
        chosen = filter_partitions(self.table, newest_entries(self.table), equal_to_row(self.table.schema, names, row))
        if not len(chosen):
            return self.jvm.java_map({})
        figures = {
            "recordCount": pc.sum(chosen["row_count"]),
            "fileSizeInBytes": pc.sum(chosen["file_size"]),
            "fileCount": len(chosen),
            "lastFileCreationTime": pc.max(chosen["creation_time_millis"]),
        }
        return self.jvm.java_map({name: str(value) for name, value in figures.items()})

    def createPartitions(self, rows: Any, properties: Any) -> None:
        """Add partitions to the catalog's partition registry, if it has one; reads see a partition only by its rows."""
        if any(given.containsKey("location") for given in properties):
            raise UnsupportedError(
                f"{self.table.name}: a partition stands in the table's folder.", remedy="Leave LOCATION out."
            )
        if self.table.partition_registry is not None:
            paths = PartitionPaths.of(self.table.schema)
            types = [f.type for f in self.table.schema.partition_fields]
            self.table.partition_registry.add([paths.spec(row_values(row, types)) for row in rows])

    def truncatePartitions(self, rows: Any) -> bool:
        return self.dropPartitions(rows)

    def dropPartitions(self, rows: Any) -> bool:
        if len(rows):
            truncate_table(writable(self.table), any_of_rows(self.table.schema, rows))
            cached_tables.renew(self.jvm, self.session)
        return True

    def truncateTable(self, *options: Any) -> bool:
        truncate_table(writable(self.table), None)
        cached_tables.renew(self.jvm, self.session)
        return True

    def _values(self, entries: pa.Table, predicate: Predicate | None) -> dict[str, pa.Array]:
        chosen = filter_partitions(self.table, entries, predicate)["partition"].combine_chunks()
        return partition_values(self.table, pc.unique(chosen))


def has_partition(table: Table, partitions: Predicate | None) -> bool:
    """Whether a table has live files in a partition that matches a predicate."""
    entries = live_files(table, table.snapshots.latest()).entries
    return bool(len(filter_partitions(table, entries, partitions)))


def equal_to_row(schema: TableSchema, names: list[str], row: Any) -> Predicate | None:
    """The predicate that columns have the values of an ``InternalRow``; None without columns.

    The default partition name, which is null in paths, matches null as well.
    """
    fields = schema.select(names)
    values = row_values(row, [f.type for f in fields])
    default_name = schema.options.get(DEFAULT_NAME_KEY, DEFAULT_NAME)
    return all_of([_having(f, v, default_name) for f, v in zip(fields, values, strict=True)])


def _having(field: DataField, value: Any, default_name: str) -> Predicate:
    if value is None:
        return IsNull(field.name)
    equal = Comparison(field.name, "=", pa.scalar(value, arrow_type(field.type)))
    return Or((IsNull(field.name), equal)) if value == default_name else equal


def any_of_rows(schema: TableSchema, rows: Any) -> Predicate:
    """The predicate that the partition columns have the values of any of the rows."""
    names = list(schema.partition_keys)
    predicates = [p for p in (equal_to_row(schema, names, row) for row in rows) if p is not None]
    return predicates[0] if len(predicates) == 1 else Or(tuple(predicates))


def truncate_table(table: Table, partitions: Predicate | None) -> None:
    """Delete all rows, or those of the partitions that match a predicate; earlier snapshots stay readable."""
    with Transaction(table, Operation.TRUNCATE) as transaction:
        operations.overwrite(transaction, [], lambda latest: overwritten(table, latest, Overwrite(partitions), []))
