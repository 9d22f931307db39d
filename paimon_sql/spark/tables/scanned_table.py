"""System tables that return data rows: read by tasks in Python workers, or as a view of the table."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from typing import Any

from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.conversion.references import partitioned_by
from paimon_sql.spark.expressions.predicates import translate_all
from paimon_sql.spark.expressions.serialized import expression_text
from paimon_sql.spark.jvm.gateway import CATALOG, CONNECTOR, JavaObject, Jvm
from paimon_sql.spark.options.read import read_options, with_read_options
from paimon_sql.spark.scan.builder import ScanBuilderProxy
from paimon_sql.spark.scan.path import describe
from paimon_sql.spark.scan.proxies.micro_batches import MicroBatchStreamProxy
from paimon_sql.spark.scan.proxies.python import PythonScanProxy
from paimon_sql.spark.scan.pushdown.disabled import under_push_down
from paimon_sql.spark.scan.reporting.split_size import split_size
from paimon_sql.spark.tables.read_only import ReadOnlyTable
from paimon_sql.storage.expressions.predicates import Predicate, all_of
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.streams.source import StreamSource
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables import ScannedTable, TableView


class DerivedTableProxy(ReadOnlyTable):
    """A system table that returns data rows."""

    def __init__(self, jvm: Jvm, table: Table, kind: ScannedTable | TableView, session: Any) -> None:
        super().__init__(jvm)
        self.table = table
        self.kind = kind
        self.session = session
        self.reads = ("BATCH_READ", "MICRO_BATCH_READ") if isinstance(kind, ScannedTable) else ("BATCH_READ",)

    def _is_like(self, other: DerivedTableProxy) -> bool:
        mine, theirs = self.table, other.table
        seen, same = (mine.path, mine.branch, mine.schema), (theirs.path, theirs.branch, theirs.schema)
        return self.name() == other.name() and seen == same

    def _trait(self) -> Hashable:
        return self.name()

    def name(self) -> str:
        return f"{self.table.name}${self.kind.name}"

    def fields(self) -> Sequence[DataField]:
        return self.kind.fields(self.table) if isinstance(self.kind, ScannedTable) else self.table.schema.fields

    def partitioning(self) -> Any:
        return partitioned_by(self.jvm, self.table.schema.partition_keys)

    def newScanBuilder(self, options: Any) -> Any:
        table = with_read_options(self.jvm, self.session, self.table, read_options(self.jvm, options))
        if isinstance(self.kind, TableView):
            viewed = ScanBuilderProxy(self.jvm, self.kind.of(table), self.session)
            return under_push_down(self.jvm, table.options, viewed, table.schema.fields)
        scanned = ScannedBuilderProxy(self.jvm, table, self.kind)
        return under_push_down(self.jvm, table.options, scanned, self.kind.fields(table))

    class Java:
        implements = [f"{CATALOG}.SupportsRead"]


class ScannedBuilderProxy(JavaObject):
    """Builder of the scan of a system table that tasks read."""

    def __init__(self, jvm: Jvm, table: Table, kind: ScannedTable) -> None:
        super().__init__(jvm)
        self._table = table
        self._kind = kind
        self._columns = kind.fields(table)
        self._predicates: list[Predicate] = []

    def pruneColumns(self, struct: Any) -> None:
        known = {f.name: f for f in self._kind.fields(self._table)}
        wanted = tuple(known[f["name"]] for f in json.loads(struct.json())["fields"])
        # Batches without columns would lose the number of rows, so one column is read.
        self._columns = wanted or self._kind.fields(self._table)[:1]

    def pushFilters(self, expressions: Any) -> Any:
        types = {f.name: f.type for f in self._kind.shared(self._table)}
        found = translate_all(expression_text(self.jvm, expressions), types)
        self._predicates.extend(p for p in found if p is not None)
        return expressions

    def pushedFilters(self) -> Any:
        return self.jvm.array(f"{CONNECTOR}.expressions.filter.Predicate")

    def build(self) -> PythonScanProxy:
        predicate, names = all_of(self._predicates), [f.name for f in self._columns]
        size, parallelism = split_size(self.jvm, self._table), self.jvm.context.defaultParallelism
        plan = plan_scan(self._table, predicate, parallelism=parallelism, split_size=size)
        tasks = [self._kind.task(self._table, split, names, predicate) for split in plan.splits]
        what = describe(self._table, plan, predicate).replace(
            self._table.name, f"{self._table.name}${self._kind.name}", 1
        )
        scan = PythonScanProxy(self.jvm, [[t] for t in tasks], self._columns, what, plan)
        scan.stream = self._stream
        return scan

    def _stream(self) -> MicroBatchStreamProxy:
        kind, table, predicate = self._kind, self._table, all_of(self._predicates)
        names = [f.name for f in self._columns]
        source = StreamSource(table, predicate)
        return MicroBatchStreamProxy(
            self.jvm, source, self._columns, lambda split: kind.task(table, split, names, predicate)
        )

    class Java:
        implements = [
            f"{CONNECTOR}.read.SupportsPushDownRequiredColumns",
            "org.apache.spark.sql.internal.connector.SupportsPushDownCatalystFilters",
        ]
