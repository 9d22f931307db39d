"""Partition management of format tables: partitions are directories that Spark lists, creates, truncates and drops."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.types import string_type
from paimon_sql.spark.connector.interfaces import PartitionInterface
from paimon_sql.spark.conversion.internal_rows import internal_rows
from paimon_sql.spark.conversion.rows import row_values
from paimon_sql.spark.conversion.types import spark_struct
from paimon_sql.spark.jvm.gateway import CATALYST, Jvm, raise_java
from paimon_sql.spark.tables.partitions import any_of_rows, equal_to_row
from paimon_sql.storage.expressions.casts import cast
from paimon_sql.storage.format_tables import FormatTable, all_partitions, chosen_partitions
from paimon_sql.storage.format_tables.changes import add_partitions, drop_partitions, empty
from paimon_sql.storage.format_tables.partitions import partition_columns


class FormatPartitions(PartitionInterface):
    """Partition methods of a format table's proxy.

    A partition exists while its directory does, or while it is in the catalog's partition registry, if there is one.
    """

    jvm: Jvm
    table: FormatTable
    session: Any

    def partitionSchema(self) -> Any:
        return self.jvm.struct(json.dumps(spark_struct(self.table.partition_fields)))

    def listPartitionIdentifiers(self, names: Any, row: Any) -> Any:
        fields = self.table.partition_fields
        found = chosen_partitions(self.table, equal_to_row(self.table.schema, list(names), row))
        columns = partition_columns(self.table, found)
        table = pa.table([columns[f.name] for f in fields], names=[f.name for f in fields])
        # One partition may have several directories, such as h=7 and h=07.
        table = table.group_by(table.column_names, use_threads=False).aggregate([])
        return internal_rows(self.jvm, self.session, table, fields)

    def partitionExists(self, row: Any) -> bool:
        names = list(self.table.schema.partition_keys)[: row.numFields()]
        return bool(chosen_partitions(self.table, equal_to_row(self.table.schema, names, row)))

    def createPartitions(self, rows: Any, properties: Any) -> None:
        if any(given.containsKey("location") for given in properties):
            raise UnsupportedError(
                f"{self.table.name}: a partition stands in the table's folder.", remedy="Leave LOCATION out."
            )
        add_partitions(self.table, [self._directory_values(row) for row in rows])

    def dropPartitions(self, rows: Any) -> bool:
        drop_partitions(self.table, chosen_partitions(self.table, any_of_rows(self.table.schema, rows)))
        return True

    def truncatePartition(self, row: Any) -> bool:
        if not self.partitionExists(row):
            error = f"{CATALYST}.analysis.NoSuchPartitionException"
            raise_java(self.jvm.new(error, self.table.name, row, self.partitionSchema()))
        return super().truncatePartition(row)

    def truncatePartitions(self, rows: Any) -> bool:
        if len(rows):
            empty(self.table, chosen_partitions(self.table, any_of_rows(self.table.schema, rows)))
        return True

    def truncateTable(self, *options: Any) -> bool:
        empty(self.table, all_partitions(self.table))
        return True

    def _directory_values(self, row: Any) -> list[str | None]:
        """The values of a row as strings for directory names."""
        fields = self.table.partition_fields
        values = row_values(row, [f.type for f in fields])
        return [
            cast(pa.array([value], arrow_type(f.type)), f.type, string_type())[0].as_py()
            for f, value in zip(fields, values, strict=True)
        ]
