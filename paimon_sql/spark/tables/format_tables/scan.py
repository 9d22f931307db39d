"""Scan builder of format tables: selects the partitions, whose files Spark's own source lists and reads."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.conversion.internal_rows import internal_rows
from paimon_sql.spark.conversion.types import spark_struct
from paimon_sql.spark.expressions.predicates import translate_all
from paimon_sql.spark.expressions.serialized import expression_text
from paimon_sql.spark.jvm.gateway import CONNECTOR, EXECUTION, JavaObject, Jvm
from paimon_sql.spark.jvm.hadoop_files import check_table, hadoop_path, hadoop_settings
from paimon_sql.spark.tables.format_tables.formats import FORMATS
from paimon_sql.storage.execution.threads import map_in_threads
from paimon_sql.storage.expressions.predicates import Predicate, all_of
from paimon_sql.storage.file_io.paths import store_of
from paimon_sql.storage.format_tables import FormatTable, Partition, chosen_partitions
from paimon_sql.storage.format_tables.partitions import folders_of, partition_columns

_SOURCES = f"{EXECUTION}.datasources"


class FormatScanBuilder(JavaObject):
    """Builder of one scan: Spark's own builder of the format, over the partitions that match the filters.

    Spark's builder takes the directories at its creation, so it is created after the filters are pushed.
    """

    def __init__(self, jvm: Jvm, table: FormatTable, session: Any) -> None:
        super().__init__(jvm)
        self.table = table
        self.session = session
        self._builder: Any = None

    def pushFilters(self, expressions: Any) -> Any:
        types = {f.name: f.type for f in self.table.partition_fields}
        found = translate_all(expression_text(self.jvm, expressions), types) if types else []
        self._builder = self._create_builder(all_of([p for p in found if p is not None]))
        return self._builder.pushFilters(expressions)

    def pushedFilters(self) -> Any:
        return self._spark_builder().pushedFilters()

    def pruneColumns(self, struct: Any) -> None:
        self._spark_builder().pruneColumns(struct)

    def build(self) -> Any:
        return self._spark_builder().build()

    def _spark_builder(self) -> Any:
        """Spark's builder."""
        if self._builder is None:
            self._builder = self._create_builder(None)
        return self._builder

    def _create_builder(self, predicate: Predicate | None) -> Any:
        jvm, table, kind = self.jvm, self.table, FORMATS[self.table.format]
        check_table(jvm, self.session, table)
        settings = hadoop_settings(table.file_io.options, [store_of(table.location)])
        options = jvm.java_map({**settings, **kind.read_options(table)})
        data, keys = self._struct(table.data_fields), self._struct(table.partition_fields)
        return jvm.new(
            kind.scan_builder,
            self.session,
            self._index(chosen_partitions(table, predicate), keys, options),
            self._struct((*table.data_fields, *table.partition_fields)),
            data,
            jvm.new("org.apache.spark.sql.util.CaseInsensitiveStringMap", options),
        )

    def _index(self, partitions: list[Partition], keys: Any, options: Any) -> Any:
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
            self.session,
            jvm.seq(paths),
            jvm.scala_map(options),
            jvm.none,
            jvm.singleton(f"{_SOURCES}.NoopCache"),
            jvm.some(jvm.new(f"{_SOURCES}.PartitionSpec", keys, jvm.seq(specs))),
            jvm.none,
        )

    def _rows(self, partitions: list[Partition]) -> Any:
        """The values of partitions as ``InternalRow[]``."""
        fields = self.table.partition_fields
        columns = partition_columns(self.table, partitions)
        table = pa.table([columns[f.name] for f in fields], names=[f.name for f in fields])
        return internal_rows(self.jvm, self.session, table, fields)

    def _struct(self, fields: tuple[DataField, ...]) -> Any:
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
