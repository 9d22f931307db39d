"""A Paimon table as Spark's ``Table``: its columns, properties and what can be done with it."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

from paimon_sql.format.options.table import PATH
from paimon_sql.spark.compat import v2_columns
from paimon_sql.spark.hidden_column import hidden_columns
from paimon_sql.spark.interfaces import TableInterface
from paimon_sql.spark.java import CATALOG, Jvm
from paimon_sql.spark.partitions import PartitionManagement
from paimon_sql.spark.read_options import given_options, under_options
from paimon_sql.spark.references import partitioned_by
from paimon_sql.spark.scan_builder import ScanBuilderProxy
from paimon_sql.spark.types import spark_struct
from paimon_sql.spark.write import WriteBuilderProxy
from paimon_sql.storage.read.hidden_columns import hidden_fields
from paimon_sql.storage.table import Table

PROVIDER = "paimon"
_CAPABILITIES = (
    "BATCH_READ", "MICRO_BATCH_READ", "V1_BATCH_WRITE", "BATCH_WRITE", "STREAMING_WRITE", "OVERWRITE_BY_FILTER",
    "OVERWRITE_DYNAMIC", "TRUNCATE",
)  # fmt: skip


class TableProxy(TableInterface, PartitionManagement):
    """A table, or one of its branches, as one statement sees it."""

    def __init__(self, jvm: Jvm, table: Table, session: Any) -> None:
        super().__init__(jvm)
        self.table = table
        self.session = session

    def toString(self) -> str:
        return self.table.name

    def name(self) -> str:
        return self.table.name

    @cached_property
    def _struct(self) -> str:
        return json.dumps(spark_struct(self.table.schema.fields))

    def schema(self) -> Any:
        return self.jvm.struct(self._struct)

    def columns(self) -> Any:
        return self._columns

    @cached_property
    def _columns(self) -> Any:
        return self.jvm.remember(f"columns {self._struct}", lambda: v2_columns(self.jvm, self.schema()))

    def partitioning(self) -> Any:
        return partitioned_by(self.jvm, self.table.schema.partition_keys)

    def properties(self) -> Any:
        schema = self.table.schema
        known = {**schema.options, "provider": PROVIDER, "location": self.table.path, "is_managed_location": "true"}
        known.pop(PATH.key, None)
        if schema.primary_keys:
            known["primary-key"] = ",".join(schema.primary_keys)
        if schema.comment:
            known["comment"] = schema.comment
        return self.jvm.java_map(known)

    def capabilities(self) -> Any:
        kind = f"{CATALOG}.TableCapability"
        return self.jvm.constant(
            "capabilities of a table", lambda: self.jvm.java_set(self.jvm.enum(kind, name) for name in _CAPABILITIES)
        )

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
