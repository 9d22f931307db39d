"""Reads without push-down (``read.push-down.enabled`` = ``false``): all rows and columns; Spark computes the rest."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Protocol, TypeVar

from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.engines.spark import READ_PUSH_DOWN_ENABLED
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.conversion.types import spark_struct, struct_json, struct_of
from paimon_sql.spark.java.catalyst import StructType
from paimon_sql.spark.jvm.gateway import CONNECTOR, Jvm
from paimon_sql.spark.jvm.proxy import Proxy


class ScanBuilder(Protocol):
    """The common methods of scan builders."""

    def pruneColumns(self, struct: StructType) -> None:
        """Set the columns to read."""

    def build(self) -> object:
        """The scan."""


BuilderT = TypeVar("BuilderT", bound=ScanBuilder)


def under_push_down(
    jvm: Jvm, options: TableOptions, builder: BuilderT, columns: Sequence[DataField]
) -> BuilderT | PlainScanBuilderProxy:
    """A scan builder by a read's options: the builder itself, or one without push-down.

    Args:
        jvm: the JVM.
        options: the options of the read.
        builder: a new builder.
        columns: the table's columns, all of which a scan without push-down reads.
    """
    return builder if options.get(READ_PUSH_DOWN_ENABLED) else PlainScanBuilderProxy(jvm, builder, columns)


class PlainScanBuilderProxy(Proxy):
    """Builder of a scan of all rows and columns: Spark can push no predicate, limit, order or aggregate into it.

    Metadata columns are read if a query names them.
    """

    implements = [f"{CONNECTOR}.read.SupportsPushDownRequiredColumns"]

    def __init__(self, jvm: Jvm, builder: ScanBuilder, columns: Sequence[DataField]) -> None:
        super().__init__(jvm)
        self._builder = builder
        self._own = spark_struct(columns)["fields"]

    def pruneColumns(self, struct: StructType) -> None:
        names = {field["name"] for field in self._own}
        hidden = [field for field in struct_json(struct)["fields"] if field["name"] not in names]
        self._builder.pruneColumns(self.jvm.struct(json.dumps(struct_of([*self._own, *hidden]))))

    def build(self) -> object:
        return self._builder.build()
