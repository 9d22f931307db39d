"""A Paimon table as Spark's ``Table``: its columns, properties and what can be done with it."""

from __future__ import annotations

from typing import Any

from paimon_sql.spark.hidden_column import hidden_columns
from paimon_sql.spark.java import CATALOG, Jvm
from paimon_sql.spark.partitions import PartitionManagement
from paimon_sql.spark.read_options import given_options, under_options
from paimon_sql.spark.scan_builder import ScanBuilderProxy
from paimon_sql.spark.schema_table import SchemaTable
from paimon_sql.spark.write import WriteBuilderProxy
from paimon_sql.storage.read.hidden_columns import hidden_fields
from paimon_sql.storage.table import Table


class TableProxy(SchemaTable, PartitionManagement):
    """A table, or one of its branches, as one statement sees it."""

    abilities = (
        *("BATCH_READ", "MICRO_BATCH_READ", "V1_BATCH_WRITE", "BATCH_WRITE", "STREAMING_WRITE"),
        *("OVERWRITE_BY_FILTER", "OVERWRITE_DYNAMIC", "TRUNCATE"),
    )
    table: Table

    def __init__(self, jvm: Jvm, table: Table, session: Any) -> None:
        super().__init__(jvm, table, session)

    def metadataColumns(self) -> Any:
        return hidden_columns(self.jvm, hidden_fields(self.table.schema))

    def canRenameConflictingMetadataColumns(self) -> bool:
        return False

    def newScanBuilder(self, options: Any) -> ScanBuilderProxy:
        return ScanBuilderProxy(
            self.jvm, under_options(self.jvm, self.session, self.table, given_options(options)), self.session
        )

    def newWriteBuilder(self, info: Any) -> WriteBuilderProxy:
        return WriteBuilderProxy(self.jvm, self.table, self.session, info)

    class Java:
        implements = [
            f"{CATALOG}.SupportsRead",
            f"{CATALOG}.SupportsWrite",
            f"{CATALOG}.SupportsAtomicPartitionManagement",
            f"{CATALOG}.TruncatableTable",
            f"{CATALOG}.SupportsMetadataColumns",
        ]
