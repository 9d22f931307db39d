"""A Paimon table as Spark's ``Table``: its columns, properties and what can be done with it."""

from __future__ import annotations

from typing import Any

from paimon_sql.catalog.kinds import taking_rows
from paimon_sql.errors import InvalidInputError
from paimon_sql.spark.hidden_column import hidden_columns
from paimon_sql.spark.java import CATALOG, Jvm
from paimon_sql.spark.partitions import PartitionManagement
from paimon_sql.spark.read_options import given_options, under_options
from paimon_sql.spark.scan_builder import ScanBuilderProxy
from paimon_sql.spark.schema_table import SchemaTable
from paimon_sql.spark.without_push_down import under_push_down
from paimon_sql.spark.write import WriteBuilderProxy
from paimon_sql.storage.read.hidden_columns import hidden_fields
from paimon_sql.storage.table import Table


class TableProxy(SchemaTable, PartitionManagement):
    """A table, or one of its branches, as one statement sees it.

    Attributes:
        written: what a write goes to: the newest state, also where Spark did not say that it would write and reads
            were to see an older one.
    """

    abilities = (
        *("BATCH_READ", "MICRO_BATCH_READ", "V1_BATCH_WRITE", "BATCH_WRITE", "STREAMING_WRITE"),
        *("OVERWRITE_BY_FILTER", "OVERWRITE_DYNAMIC", "TRUNCATE"),
    )
    table: Table

    def __init__(self, jvm: Jvm, table: Table, session: Any) -> None:
        super().__init__(jvm, table, session)
        self.written = table

    def metadataColumns(self) -> Any:
        return hidden_columns(self.jvm, hidden_fields(self.table.schema))

    def canRenameConflictingMetadataColumns(self) -> bool:
        return False

    def newScanBuilder(self, options: Any) -> Any:
        table = under_options(self.jvm, self.session, self.table, given_options(options))
        return under_push_down(
            self.jvm, table.options, ScanBuilderProxy(self.jvm, table, self.session), table.schema.fields
        )

    def newWriteBuilder(self, info: Any) -> WriteBuilderProxy:
        return WriteBuilderProxy(self.jvm, taking_rows(self._newest()), self.session, info)

    def _newest(self) -> Table:
        """The table that a write goes to; its columns must be those by which Spark has checked the rows."""
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
