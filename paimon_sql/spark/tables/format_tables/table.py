"""Proxy of a format table (Spark: ``Table``)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from paimon_sql.errors import WrongKindError
from paimon_sql.format.layout.partitions import DEFAULT_NAME_KEY
from paimon_sql.format.options import Scope, canonical, validate
from paimon_sql.format.options.operations.commit import METASTORE_PARTITIONED_TABLE
from paimon_sql.format.options.table.data_file import FILE_FORMAT
from paimon_sql.format.options.table.format_table import FORMAT_TABLE_PARTITION_PATH_ONLY_VALUE
from paimon_sql.format.options.table.table import PARTITION, PATH, PRIMARY_KEY, TYPE
from paimon_sql.spark.conversion.types import spark_struct
from paimon_sql.spark.jvm.gateway import CATALOG, Jvm
from paimon_sql.spark.options.read import read_options
from paimon_sql.spark.scan.pushdown.disabled import under_push_down
from paimon_sql.spark.tables.base import SchemaTable
from paimon_sql.spark.tables.format_tables.empty_partitions import EmptyPartitionsAsNull
from paimon_sql.spark.tables.format_tables.formats import Json
from paimon_sql.spark.tables.format_tables.partitions import FormatPartitions
from paimon_sql.spark.tables.format_tables.quoted_values import ReadQuotedValues
from paimon_sql.spark.tables.format_tables.scan import FormatScanBuilder
from paimon_sql.spark.tables.format_tables.write import FormatWriteBuilder
from paimon_sql.storage.format_tables import FormatTable
from paimon_sql.storage.table.time_travel.resolve import TRAVEL_KEYS

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
            f"{table.name} is a format table, which has no snapshots: '{travel_options[0]}' cannot be given for it.",
            remedy="Read it as it is.",
        )
    return table.with_options({k: v for k, v in options.items() if k not in _CREATION_OPTIONS})


class FormatTableProxy(SchemaTable, FormatPartitions):
    """A format table in one statement.

    Args:
        jvm: the JVM.
        table: the table.
        session: the JVM's session.
        writes: whether the statement writes into it: NOT NULL holds for written rows, but not for rows of the files.
    """

    capability_names = ("BATCH_READ", "BATCH_WRITE", "OVERWRITE_BY_FILTER", "OVERWRITE_DYNAMIC", "TRUNCATE")
    table: FormatTable

    def __init__(self, jvm: Jvm, table: FormatTable, session: Any, *, writes: bool = False) -> None:
        super().__init__(jvm, table, session)
        self._writes = writes
        if table.format == Json.name and not writes:
            ReadQuotedValues.ensure(jvm, session)
        if table.partition_fields and writes:
            EmptyPartitionsAsNull.ensure(jvm, session)

    @cached_property
    def _struct(self) -> str:
        fields = self.table.schema.fields
        if not self._writes:
            fields = tuple(replace(f, type=f.type.as_nullable()) for f in fields)
        return json.dumps(spark_struct(fields))

    def _own_properties(self) -> dict[str, str]:
        known = {"provider": self.table.format, "location": self.table.location}
        if self.table.is_external:
            return {**known, "external": "true"}
        return {**known, "is_managed_location": "true"}

    def newScanBuilder(self, options: Any) -> Any:
        table = self._under(options)
        builder = FormatScanBuilder(self.jvm, table, self.session)
        return under_push_down(self.jvm, table.options, builder, table.schema.fields)

    def newWriteBuilder(self, info: Any) -> FormatWriteBuilder:
        return FormatWriteBuilder(self.jvm, self._under(info.options()), self.session, info)

    def _under(self, options: Any) -> FormatTable:
        """The table with the options of one read or write, including Spark's own."""
        given = read_options(self.jvm, options)
        validate(given, Scope.TABLE)
        return under_format_options(self.table, canonical(given))

    class Java:
        implements = [
            f"{CATALOG}.SupportsRead",
            f"{CATALOG}.SupportsWrite",
            f"{CATALOG}.SupportsAtomicPartitionManagement",
            f"{CATALOG}.TruncatableTable",
        ]
