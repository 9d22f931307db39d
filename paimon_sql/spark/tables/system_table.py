"""System tables (Spark: ``Table``): rows computed on the driver, or data rows read by Python workers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.catalog.identifier import SYSTEM_DATABASE
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.connector.lineage import lineage_properties
from paimon_sql.spark.conversion.references import partitioned_by
from paimon_sql.spark.java.connector import StringMap
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.jvm.gateway import CONNECTOR
from paimon_sql.spark.options import read_options, with_read_options
from paimon_sql.spark.scan.builder import ScanBuilderProxy
from paimon_sql.spark.scan.path import describe, split_size
from paimon_sql.spark.scan.proxies.local import LocalScanProxy
from paimon_sql.spark.scan.proxies.planned import MicroBatchStreamProxy, PlannedTraits, PythonScanProxy, Task
from paimon_sql.spark.scan.proxies.spread import SpreadScanProxy
from paimon_sql.spark.tables.base import FilteredScanBuilder, ReadOnlyTable, ScanBuilder, under_push_down
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.scan.plan import ScanPlan, plan_scan
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.streams.source import StreamSource
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables import CatalogTable, ScannedTable, SystemTable, TableView
from paimon_sql.system_tables.base import View
from paimon_sql.system_tables.formatting import one_chunk

_MAX_LOCAL_ROWS = 200_000
"""Spark holds all rows of a local scan."""


@dataclass(frozen=True)
class Rows:
    """The rows of a system table under the options of a read.

    Attributes:
        compute: computes some columns; may return only rows that match the predicate.
        estimate: the approximate number of rows, if there may be very many.
    """

    compute: Callable[[Sequence[str], Predicate | None], pa.Table]
    estimate: Callable[[], int] = lambda: 0


@dataclass(eq=False)
class MetadataTableProxy(ReadOnlyTable):
    """A table whose rows are computed on the driver."""

    @abstractmethod
    def rows_under(self, options: Mapping[str, str]) -> Rows:
        """The rows with the options of a read."""

    def newScanBuilder(self, options: StringMap) -> ScanBuilder:
        rows = self.rows_under(read_options(self.jvm, options))
        return SystemScanBuilderProxy(self.session, tuple(self.fields()), self.name(), rows)


@dataclass(eq=False)
class SystemTableProxy(MetadataTableProxy):
    """A system table ``t$name`` of one table."""

    table: Table
    system_table: SystemTable

    def name(self) -> str:
        return f"{self.table.name}${self.system_table.name}"

    def fields(self) -> Sequence[DataField]:
        return self.system_table.columns

    def _is_like(self, other: SystemTableProxy) -> bool:
        return self.name() == other.name() and _state(self.table) == _state(other.table)

    def newScanBuilder(self, options: StringMap) -> ScanBuilder:
        return under_push_down(super().newScanBuilder(options), self.table.options, self.fields())

    def rows_under(self, options: Mapping[str, str]) -> Rows:
        table = with_read_options(self.session, self.table, options)
        system_table = self.system_table
        return Rows(partial(system_table.selected, table), partial(system_table.estimated_rows, table))


@dataclass(eq=False)
class CatalogTableProxy(MetadataTableProxy):
    """A system table ``sys.name`` of one catalog."""

    view: View
    catalog_table: CatalogTable

    def name(self) -> str:
        return f"{self.view.catalog.name}.{SYSTEM_DATABASE}.{self.catalog_table.name}"

    def fields(self) -> Sequence[DataField]:
        return self.catalog_table.columns

    def _is_like(self, other: CatalogTableProxy) -> bool:
        return self.name() == other.name()

    def rows_under(self, options: Mapping[str, str]) -> Rows:
        return Rows(lambda names, predicate: self.catalog_table.rows(self.view, predicate).select(list(names)))


@dataclass(eq=False)
class SystemScanBuilderProxy(FilteredScanBuilder):
    """Builder of the scan of a system table."""

    implements = [*FilteredScanBuilder.implements, f"{CONNECTOR}.read.SupportsPushDownLimit"]
    name: str
    found: Rows
    _limit: int | None = field(default=None, init=False)

    def pushLimit(self, limit: int) -> bool:
        self._limit = limit
        return True

    def isPartiallyPushed(self) -> bool:
        return True

    def build(self) -> LocalScanProxy | SpreadScanProxy:
        predicate, names, limit = self._predicate, self._names, self._limit

        def rows() -> pa.Table:
            found = self.found.compute(names, predicate)
            if predicate is not None:
                # Spark evaluates the filters again; this saves sending it rows that do not match.
                columns = {name: one_chunk(found[name]) for name in predicate.columns()}
                found = found.filter(pc.fill_null(predicate.evaluate(columns), False))
            return found.slice(0, limit)

        # Rows without columns, which are counted, are small.
        few = not names or (limit is not None and limit < _MAX_LOCAL_ROWS) or self.found.estimate() < _MAX_LOCAL_ROWS
        return (LocalScanProxy if few else SpreadScanProxy)(self.session, self._columns, f"paimon {self.name}", rows)


@dataclass(eq=False)
class DerivedTableProxy(ReadOnlyTable):
    """A system table that returns data rows."""

    table: Table
    kind: ScannedTable | TableView

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.kind, ScannedTable):
            self.capability_names = ("BATCH_READ", "MICRO_BATCH_READ")

    def _is_like(self, other: DerivedTableProxy) -> bool:
        return self.name() == other.name() and _state(self.table) == _state(other.table)

    def name(self) -> str:
        return f"{self.table.name}${self.kind.name}"

    def properties(self) -> Mapping[str, str]:
        return self.jvm.java_map({"provider": "paimon", **lineage_properties(self.jvm, self.table)})

    def fields(self) -> Sequence[DataField]:
        return self.kind.fields(self.table) if isinstance(self.kind, ScannedTable) else self.table.schema.fields

    def partitioning(self) -> Sequence[JavaObject]:
        return partitioned_by(self.jvm, self.table.schema.partition_keys)

    def newScanBuilder(self, options: StringMap) -> ScanBuilder:
        table = with_read_options(self.session, self.table, read_options(self.jvm, options))
        if isinstance(self.kind, TableView):
            viewed = ScanBuilderProxy(self.session, self.kind.of(table))
            return under_push_down(viewed, table.options, table.schema.fields)
        fields = self.kind.fields(table)
        return under_push_down(ScannedBuilderProxy(self.session, fields, table, self.kind), table.options, fields)


def _state(table: Table) -> tuple[object, ...]:
    """What a system table of a table depends on, besides its snapshots."""
    return table.path, table.branch, table.schema


@dataclass(eq=False)
class ScannedBuilderProxy(FilteredScanBuilder):
    """Builder of the scan of a system table that tasks read."""

    table: Table
    kind: ScannedTable

    @property
    def _filtered(self) -> Sequence[DataField]:
        return self.kind.shared(self.table)

    def build(self) -> PythonScanProxy:
        table, kind, predicate, names = self.table, self.kind, self._predicate, self._names
        size = split_size(self.jvm, table)
        plan = plan_scan(table, predicate, parallelism=self.jvm.parallelism, split_size=size)

        def task_of(split: Split) -> Task:
            return kind.task(table, split, names, predicate)

        def partitions_of(plan: ScanPlan) -> list[list[Task]]:
            return [[task_of(split)] for split in plan.splits]

        def stream() -> MicroBatchStreamProxy:
            return MicroBatchStreamProxy(self.jvm, StreamSource(table, predicate), self._columns, task_of)

        what = describe(table, plan, predicate).replace(table.name, f"{table.name}${kind.name}", 1)
        traits = PlannedTraits(stream)
        return PythonScanProxy(self.session, self._columns, what, plan, partitions_of, traits=traits)
