"""Scan builder of format tables: selects the partitions, whose files Spark's own source lists and reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa

from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.conversion.internal_rows import internal_rows
from paimon_sql.spark.conversion.types import spark_struct
from paimon_sql.spark.expressions.predicates import translate_all
from paimon_sql.spark.expressions.serialized import expression_text
from paimon_sql.spark.java.catalyst import Expression
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.java.scala import Seq
from paimon_sql.spark.java.types import InternalRow, StructType
from paimon_sql.spark.jvm.gateway import CONNECTOR, EXECUTION
from paimon_sql.spark.jvm.hadoop_files import check_table, hadoop_path, hadoop_settings
from paimon_sql.spark.jvm.proxy import Proxy
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.spark.tables.format_tables.formats import FORMATS
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.expressions.predicates import Predicate, all_of
from paimon_sql.storage.file_io.paths import store_of
from paimon_sql.storage.format_tables import FormatTable, Partition, chosen_partitions
from paimon_sql.storage.format_tables.partitions import folders_of, partition_columns

_SOURCES = f"{EXECUTION}.datasources"


class FormatScanBuilder(Proxy):
    """Builder of one scan: Spark's own builder of the format, over the partitions that match the filters.

    Spark's builder takes the directories at its creation, so it is created after the filters are pushed.
    """

    def __init__(self, session: JvmSession, table: FormatTable) -> None:
        super().__init__(session.jvm)
        self.table = table
        self.session = session
        self._builder: JavaObject | None = None

    def pushFilters(self, expressions: Seq[Expression]) -> Seq[Expression]:
        types = {f.name: f.type for f in self.table.partition_fields}
        found = translate_all(expression_text(self.jvm, expressions), types) if types else []
        self._builder = self._create_builder(all_of([p for p in found if p is not None]))
        return self._builder.pushFilters(expressions)

    def pushedFilters(self) -> JavaObject:
        return self._spark_builder().pushedFilters()

    def pruneColumns(self, struct: StructType) -> None:
        self._spark_builder().pruneColumns(struct)

    def build(self) -> JavaObject:
        return self._spark_builder().build()

    def _spark_builder(self) -> JavaObject:
        """Spark's builder."""
        if self._builder is None:
            self._builder = self._create_builder(None)
        return self._builder

    def _create_builder(self, predicate: Predicate | None) -> JavaObject:
        jvm, table, kind = self.jvm, self.table, FORMATS[self.table.format]
        check_table(self.session, table)
        settings = hadoop_settings(table.file_io.options, [store_of(table.location)])
        options = jvm.java_map({**settings, **kind.read_options(table)})
        data, keys = self._struct(table.data_fields), self._struct(table.partition_fields)
        return jvm.new(
            kind.scan_builder,
            self.session.java,
            self._index(chosen_partitions(table, predicate), keys, options),
            self._struct((*table.data_fields, *table.partition_fields)),
            data,
            jvm.new("org.apache.spark.sql.util.CaseInsensitiveStringMap", options),
        )

    def _index(self, partitions: list[Partition], keys: StructType, options: Mapping[str, str]) -> JavaObject:
        """Spark's file index over the directories of partitions, with the partition values of each."""
        jvm = self.jvm
        found = map_in_threads(partial(folders_of, self.table), partitions, self.table.threads)
        directories = [Partition(path, p.texts) for p, below in zip(partitions, found, strict=True) for path in below]
        paths = [hadoop_path(jvm, d.path) for d in directories]
        specs = []
        if self.table.partition_fields:
            rows = self._rows(directories)
            specs = [jvm.new(f"{_SOURCES}.PartitionPath", rows[i], path) for i, path in enumerate(paths)]
        return jvm.new(
            f"{_SOURCES}.InMemoryFileIndex",
            self.session.java,
            jvm.seq(paths),
            jvm.scala_map(options),
            jvm.none,
            jvm.singleton(f"{_SOURCES}.NoopCache"),
            jvm.some(jvm.new(f"{_SOURCES}.PartitionSpec", keys, jvm.seq(specs))),
            jvm.none,
        )

    def _rows(self, partitions: list[Partition]) -> Sequence[InternalRow]:
        """The values of partitions."""
        fields = self.table.partition_fields
        columns = partition_columns(self.table, partitions)
        table = pa.table([columns[f.name] for f in fields], names=[f.name for f in fields])
        return internal_rows(self.session, table, fields)

    def _struct(self, fields: tuple[DataField, ...]) -> StructType:
        """Columns as Spark reads them from files: nullable, and strings without length."""
        # Other programs write files as well, so the constraints of the table may not hold in them.
        text = json.dumps(spark_struct(replace(f, type=f.type.as_nullable()) for f in fields))
        types = self.jvm.singleton("org.apache.spark.sql.catalyst.util.CharVarcharUtils")
        return types.replaceCharVarcharWithStringInSchema(self.jvm.struct(text))

    class Java:
        implements = [
            f"{CONNECTOR}.read.SupportsPushDownRequiredColumns",
            "org.apache.spark.sql.internal.connector.SupportsPushDownCatalystFilters",
        ]
