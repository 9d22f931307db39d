"""A scan that Spark's own Parquet reader carries out, over files that were planned here.

Python decides which files, and which byte ranges of them, make up each partition; reading, decoding and filtering stay
in the JVM, columnar and compiled.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from paimon_sql.format.types import DataField
from paimon_sql.spark.java import CONNECTOR, EXECUTION, Jvm
from paimon_sql.spark.planned_scan import PlannedScanProxy
from paimon_sql.spark.types import spark_struct
from paimon_sql.storage.scan.plan import ScanPlan

_DATASOURCES = f"{EXECUTION}.datasources"


@dataclass(frozen=True)
class FileRange:
    """Some bytes of a file; the row groups that begin in them are read."""

    path: str
    start: int
    length: int
    file_size: int


class NativeScanProxy(PlannedScanProxy):
    """A Parquet scan over planned file ranges.

    Args:
        jvm: the JVM.
        session: the JVM's session.
        partitions: the ranges of each Spark partition.
        fields: the columns, by whose names the files are read.
        filters: Catalyst expressions that the reader may use to leave out row groups and pages.
        what: a description for EXPLAIN.
    """

    def __init__(
        self,
        jvm: Jvm,
        session: Any,
        partitions: Sequence[Sequence[FileRange]],
        fields: Sequence[DataField],
        filters: Any,
        what: str,
        plan: ScanPlan,
    ) -> None:
        super().__init__(jvm, what, plan)
        self._session = session
        self._partitions = partitions
        self._fields = fields
        self._filters = filters

    def readSchema(self) -> Any:
        return self.jvm.struct(json.dumps(spark_struct(self._fields)))

    # Spark plans a query more than once, and each reader factory sends Hadoop's configuration to all executors.

    def planInputPartitions(self) -> Any:
        return self._input_partitions

    def createReaderFactory(self) -> Any:
        return self._reader_factory

    @cached_property
    def _input_partitions(self) -> Any:
        made = [
            self.jvm.new(f"{_DATASOURCES}.FilePartition", i, self._files(ranges))
            for i, ranges in enumerate(self._partitions)
        ]
        return self.jvm.array(f"{CONNECTOR}.read.InputPartition", made)

    @cached_property
    def _reader_factory(self) -> Any:
        return self._parquet_scan().createReaderFactory()

    def _files(self, ranges: Sequence[FileRange]) -> Any:
        no_values = self.jvm.constant(
            "empty InternalRow", lambda: self.jvm.singleton("org.apache.spark.sql.catalyst.InternalRow").empty()
        )
        no_hosts, nothing = self.jvm.strings(), self.jvm.empty_map()
        path_of = self.jvm.singleton("org.apache.spark.paths.SparkPath")
        made = [
            self.jvm.new(
                f"{_DATASOURCES}.PartitionedFile",
                no_values,
                path_of.fromUrlString(to_url(r.path)),
                r.start,
                r.length,
                no_hosts,
                0,
                r.file_size,
                nothing,
            )
            for r in ranges
        ]
        return self.jvm.array(f"{_DATASOURCES}.PartitionedFile", made)

    def _parquet_scan(self) -> Any:
        jvm, struct = self.jvm, self.readSchema()
        index = jvm.new(
            f"{_DATASOURCES}.InMemoryFileIndex",
            self._session,
            jvm.seq([]),
            jvm.empty_map(),
            jvm.none,
            jvm.singleton(f"{_DATASOURCES}.NoopCache"),
            jvm.none,
            jvm.none,
        )
        options = jvm.constant(
            "no options",
            lambda: jvm.new("org.apache.spark.sql.util.CaseInsensitiveStringMap", jvm.java_map({})),
        )
        builder = jvm.new(
            f"{_DATASOURCES}.v2.parquet.ParquetScanBuilder", self._session, index, struct, struct, options
        )
        if self._filters is not None:
            builder.pushFilters(self._filters)
        return builder.build()


def to_url(path: str) -> str:
    """A path as the URL that Spark's readers take."""
    return Path(os.path.normpath(path)).as_uri() if path.startswith("/") else path
