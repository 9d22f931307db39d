"""A system table as Spark's ``Table``: read only, its rows worked out on the driver."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from paimon_sql.spark.compat import v2_columns
from paimon_sql.spark.expressions import translate
from paimon_sql.spark.interfaces import TableInterface
from paimon_sql.spark.java import CATALOG, CONNECTOR, JavaObject, Jvm
from paimon_sql.spark.local_scan import LocalScanProxy
from paimon_sql.spark.read_options import given_options, under_options
from paimon_sql.spark.types import spark_struct
from paimon_sql.storage.predicates import Predicate, all_of
from paimon_sql.storage.table import Table
from paimon_sql.system_tables import SystemTable


class SystemTableProxy(TableInterface):
    """``t$name`` of one data table."""

    def __init__(self, jvm: Jvm, table: Table, system_table: SystemTable, session: Any) -> None:
        super().__init__(jvm)
        self.table = table
        self.system_table = system_table
        self.session = session

    def toString(self) -> str:
        return self.name()

    def name(self) -> str:
        return f"{self.table.name}${self.system_table.name}"

    @cached_property
    def _struct(self) -> Any:
        # The connector's system tables have no comments, and tools compare descriptions.
        struct = spark_struct(replace(f, description=None) for f in self.system_table.columns)
        return self.jvm.cls("org.apache.spark.sql.types.DataType").fromJson(json.dumps(struct))

    def schema(self) -> Any:
        return self._struct

    def columns(self) -> Any:
        return v2_columns(self.jvm, self._struct)

    def partitioning(self) -> Any:
        return self.jvm.array(f"{CONNECTOR}.expressions.Transform")

    def properties(self) -> Any:
        return self.jvm.java_map({"provider": "paimon"})

    def capabilities(self) -> Any:
        return self.jvm.java_set([self.jvm.enum(f"{CATALOG}.TableCapability", "BATCH_READ")])

    def newScanBuilder(self, options: Any) -> SystemScanBuilderProxy:
        table = under_options(self.jvm, self.session, self.table, given_options(options))
        return SystemScanBuilderProxy(self.jvm, table, self.system_table, self.session)

    class Java:
        implements = [f"{CATALOG}.SupportsRead"]


class SystemScanBuilderProxy(JavaObject):
    """Builds the scan of a system table."""

    def __init__(self, jvm: Jvm, table: Table, system_table: SystemTable, session: Any) -> None:
        super().__init__(jvm)
        self._table = table
        self._system_table = system_table
        self._session = session
        self._columns = system_table.columns
        self._predicates: list[Predicate] = []

    def pruneColumns(self, struct: Any) -> None:
        by_name = {f.name: f for f in self._system_table.columns}
        self._columns = tuple(by_name[f["name"]] for f in json.loads(struct.json())["fields"])

    def pushFilters(self, expressions: Any) -> Any:
        types = {f.name: f.type for f in self._system_table.columns}
        found = (translate(e.toJSON(), types) for e in self.jvm.items(expressions))
        self._predicates.extend(p for p in found if p is not None)
        return expressions

    def pushedFilters(self) -> Any:
        return self.jvm.array(f"{CONNECTOR}.expressions.filter.Predicate")

    def build(self) -> LocalScanProxy:
        predicate, names = all_of(self._predicates), [f.name for f in self._columns]

        def rows() -> pa.Table:
            return self._system_table.rows(self._table, predicate).select(names)

        what = f"paimon {self._table.name}${self._system_table.name}"
        return LocalScanProxy(self.jvm, self._session, self._columns, rows, what)

    class Java:
        implements = [
            f"{CONNECTOR}.read.SupportsPushDownRequiredColumns",
            "org.apache.spark.sql.internal.connector.SupportsPushDownCatalystFilters",
        ]
