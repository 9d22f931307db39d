"""Tables of which the catalog's server says which rows and values are shown, as Spark sees them.

No condition, count or order of a query reaches the files: all of them would tell of what is not shown.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar

from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.jvm.gateway import CONNECTOR, JavaObject, Jvm
from paimon_sql.spark.options.read import given_options, under_options
from paimon_sql.spark.scan.path import describe
from paimon_sql.spark.scan.proxies.python import PythonScanProxy
from paimon_sql.spark.scan.reporting.split_size import split_size
from paimon_sql.spark.tables.base import SchemaTable
from paimon_sql.spark.tables.data_table import TableProxy
from paimon_sql.storage.read.query_auth import QueryAuthTask, check_query_auth
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.table.table import Table


class QueryAuthTableProxy(TableProxy):
    """Such a table as one statement sees it."""

    abilities: ClassVar[tuple[str, ...]] = tuple(
        ability for ability in TableProxy.abilities if ability != "MICRO_BATCH_READ"
    )

    def _is_like(self, other: SchemaTable) -> bool:
        return False  # the server may tell other rights by now

    def metadataColumns(self) -> Any:
        return self.jvm.array(f"{CONNECTOR}.catalog.MetadataColumn")

    def newScanBuilder(self, options: Any) -> Any:
        table = under_options(self.jvm, self.session, self.table, given_options(self.jvm, options))
        return QueryAuthScanBuilder(self.jvm, table, self._note)


class QueryAuthScanBuilder(JavaObject):
    """Builds one scan, of the columns that the query names."""

    def __init__(self, jvm: Jvm, table: Table, note: Callable[[Snapshot | None], None]) -> None:
        super().__init__(jvm)
        self._table = table
        self._columns: tuple[DataField, ...] = table.schema.fields
        self._note = note

    def pruneColumns(self, struct: Any) -> None:
        known = {f.name: f for f in self._table.schema.fields}
        # Rows without columns could not be counted on their way; one column is the least.
        self._columns = tuple(known[f["name"]] for f in json.loads(struct.json())["fields"]) or self._columns[:1]

    def build(self) -> PythonScanProxy:
        table, names = self._table, tuple(f.name for f in self._columns)
        assert table.guard is not None
        rights = table.guard.rights(names)
        check_query_auth(table, rights)
        parallelism = self.jvm.context.defaultParallelism
        plan = plan_scan(table, parallelism=parallelism, split_size=split_size(self.jvm, table))
        self._note(plan.snapshot)
        tasks = [QueryAuthTask(table, split, names, rights) for split in plan.splits]
        return PythonScanProxy(self.jvm, [[t] for t in tasks], self._columns, describe(table, plan, None), plan)

    class Java:
        implements = [f"{CONNECTOR}.read.SupportsPushDownRequiredColumns"]
