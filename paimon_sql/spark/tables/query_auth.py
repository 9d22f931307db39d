"""Tables with query authorization: the catalog's server decides which rows and values a reader sees.

Predicates, aggregates, limits and orders are not pushed down: all of them would leak values hidden from the reader.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar

from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.jvm.gateway import CONNECTOR, JavaObject, Jvm
from paimon_sql.spark.options.read import read_options, with_read_options
from paimon_sql.spark.scan.path import describe
from paimon_sql.spark.scan.proxies.python import PythonScanProxy
from paimon_sql.spark.scan.reporting.split_size import split_size
from paimon_sql.spark.tables.base import SchemaTable
from paimon_sql.spark.tables.data_table import TableProxy
from paimon_sql.storage.read.query_auth import QueryAuthTask, check_query_auth
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.table.table import Table


class QueryAuthTableProxy(TableProxy):
    """A table with query authorization in one statement."""

    capability_names: ClassVar[tuple[str, ...]] = tuple(
        ability for ability in TableProxy.capability_names if ability != "MICRO_BATCH_READ"
    )

    def _is_like(self, other: SchemaTable) -> bool:
        return False  # the rights may have changed

    def metadataColumns(self) -> Any:
        return self.jvm.array(f"{CONNECTOR}.catalog.MetadataColumn")

    def newScanBuilder(self, options: Any) -> Any:
        table = with_read_options(self.jvm, self.session, self.table, read_options(self.jvm, options))
        return QueryAuthScanBuilder(self.jvm, table, self._note)


class QueryAuthScanBuilder(JavaObject):
    """Builder of one scan, of the columns of the query."""

    def __init__(self, jvm: Jvm, table: Table, note: Callable[[Snapshot | None], None]) -> None:
        super().__init__(jvm)
        self._table = table
        self._columns: tuple[DataField, ...] = table.schema.fields
        self._note = note

    def pruneColumns(self, struct: Any) -> None:
        known = {f.name: f for f in self._table.schema.fields}
        # Batches without columns would lose the number of rows, so one column is read.
        self._columns = tuple(known[f["name"]] for f in json.loads(struct.json())["fields"]) or self._columns[:1]

    def build(self) -> PythonScanProxy:
        table, names = self._table, tuple(f.name for f in self._columns)
        assert table.query_auth is not None
        rights = table.query_auth.authorize(names)
        check_query_auth(table, rights)
        parallelism = self.jvm.context.defaultParallelism
        plan = plan_scan(table, parallelism=parallelism, split_size=split_size(self.jvm, table))
        self._note(plan.snapshot)
        tasks = [QueryAuthTask(table, split, names, rights) for split in plan.splits]
        return PythonScanProxy(self.jvm, [[t] for t in tasks], self._columns, describe(table, plan, None), plan)

    class Java:
        implements = [f"{CONNECTOR}.read.SupportsPushDownRequiredColumns"]
