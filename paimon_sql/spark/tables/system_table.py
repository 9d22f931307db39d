"""System tables (Spark: ``Table``): rows computed on the driver, or data rows read by Python workers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.catalog.identifier import SYSTEM_DATABASE
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.conversion.references import partitioned_by
from paimon_sql.spark.java.connector import StringMap
from paimon_sql.spark.java.objects import JavaObject
from paimon_sql.spark.jvm.gateway import CATALOG, CONNECTOR, Jvm
from paimon_sql.spark.jvm.proxy import Proxy
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.spark.options import read_options, with_read_options
from paimon_sql.spark.scan.builder import ScanBuilderProxy
from paimon_sql.spark.scan.path import describe
from paimon_sql.spark.scan.proxies.local import LocalScanProxy
from paimon_sql.spark.scan.proxies.planned import PlannedTraits
from paimon_sql.spark.scan.proxies.python import MicroBatchStreamProxy, PythonScanProxy
from paimon_sql.spark.scan.pushdown.disabled import PlainScanBuilderProxy, under_push_down
from paimon_sql.spark.scan.request import split_size
from paimon_sql.spark.tables.base import FilteredScanBuilder, ReadOnlyTable
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.streams.source import StreamSource
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables import CatalogTable, ScannedTable, SystemTable, TableView
from paimon_sql.system_tables.base import View
from paimon_sql.system_tables.formatting import one_chunk

Rows = Callable[[Sequence[str], Predicate | None], pa.Table]
"""Computes some columns of a system table; may return only rows that match the predicate."""


class MetadataTableProxy(ReadOnlyTable):
    """A table whose rows are computed on the driver."""

    def __init__(self, session: JvmSession, name: str, columns: tuple[DataField, ...]) -> None:
        super().__init__(session.jvm)
        self.session = session
        self._name = name
        self._columns = columns

    def name(self) -> str:
        return self._name

    @abstractmethod
    def rows_under(self, options: Mapping[str, str]) -> Rows:
        """The function that computes the rows with the options of a read."""

    def fields(self) -> Sequence[DataField]:
        return self._columns

    def newScanBuilder(self, options: StringMap) -> SystemScanBuilderProxy | PlainScanBuilderProxy:
        rows = self.rows_under(read_options(self.jvm, options))
        return SystemScanBuilderProxy(self.session, self._name, self._columns, rows)

    class Java:
        implements = [f"{CATALOG}.SupportsRead"]


class SystemTableProxy(MetadataTableProxy):
    """A system table ``t$name`` of one table."""

    def __init__(self, session: JvmSession, table: Table, system_table: SystemTable) -> None:
        super().__init__(session, f"{table.name}${system_table.name}", system_table.columns)
        self._table = table
        self._system_table = system_table

    def _is_like(self, other: SystemTableProxy) -> bool:
        return self._name == other._name and _state(self._table) == _state(other._table)

    def newScanBuilder(self, options: StringMap) -> SystemScanBuilderProxy | PlainScanBuilderProxy:
        return under_push_down(self.jvm, self._table.options, super().newScanBuilder(options), self._columns)

    def rows_under(self, options: Mapping[str, str]) -> Rows:
        table = with_read_options(self.session, self._table, options)
        return lambda names, predicate: self._system_table.selected(table, names, predicate)


class CatalogTableProxy(MetadataTableProxy):
    """A system table ``sys.name`` of one catalog."""

    def __init__(self, session: JvmSession, view: View, catalog_table: CatalogTable) -> None:
        name = f"{view.catalog.name}.{SYSTEM_DATABASE}.{catalog_table.name}"
        super().__init__(session, name, catalog_table.columns)
        self._view = view
        self._catalog_table = catalog_table

    def _is_like(self, other: CatalogTableProxy) -> bool:
        return self._name == other._name

    def rows_under(self, options: Mapping[str, str]) -> Rows:
        return lambda names, predicate: self._catalog_table.rows(self._view, predicate).select(list(names))


class SystemScanBuilderProxy(FilteredScanBuilder):
    """Builder of the scan of a system table."""

    def __init__(self, session: JvmSession, name: str, columns: tuple[DataField, ...], rows: Rows) -> None:
        super().__init__(session.jvm, columns, columns[0], columns)
        self._name = name
        self._rows = rows
        self._session = session
        self._limit: int | None = None

    def pushLimit(self, limit: int) -> bool:
        self._limit = limit
        return True

    def isPartiallyPushed(self) -> bool:
        return True

    def build(self) -> LocalScanProxy:
        predicate, names, limit = self._predicate, [f.name for f in self._columns], self._limit

        def rows() -> pa.Table:
            found = self._rows(names, predicate)
            if predicate is not None:
                # Spark evaluates the filters again; this saves sending it rows that do not match.
                columns = {name: one_chunk(found[name]) for name in predicate.columns()}
                found = found.filter(pc.fill_null(predicate.evaluate(columns), False))
            return found.slice(0, limit)

        return LocalScanProxy(self._session, self._columns, rows, f"paimon {self._name}")

    class Java:
        implements = [*FilteredScanBuilder.Java.implements, f"{CONNECTOR}.read.SupportsPushDownLimit"]


class DerivedTableProxy(ReadOnlyTable):
    """A system table that returns data rows."""

    def __init__(self, session: JvmSession, table: Table, kind: ScannedTable | TableView) -> None:
        super().__init__(session.jvm)
        self.table = table
        self.kind = kind
        self.session = session
        self.reads = ("BATCH_READ", "MICRO_BATCH_READ") if isinstance(kind, ScannedTable) else ("BATCH_READ",)

    def _is_like(self, other: DerivedTableProxy) -> bool:
        return self.name() == other.name() and _state(self.table) == _state(other.table)

    def name(self) -> str:
        return f"{self.table.name}${self.kind.name}"

    def fields(self) -> Sequence[DataField]:
        return self.kind.fields(self.table) if isinstance(self.kind, ScannedTable) else self.table.schema.fields

    def partitioning(self) -> Sequence[JavaObject]:
        return partitioned_by(self.jvm, self.table.schema.partition_keys)

    def newScanBuilder(self, options: StringMap) -> Proxy:
        table = with_read_options(self.session, self.table, read_options(self.jvm, options))
        if isinstance(self.kind, TableView):
            viewed = ScanBuilderProxy(self.session, self.kind.of(table))
            return under_push_down(self.jvm, table.options, viewed, table.schema.fields)
        scanned = ScannedBuilderProxy(self.jvm, table, self.kind)
        return under_push_down(self.jvm, table.options, scanned, self.kind.fields(table))

    class Java:
        implements = [f"{CATALOG}.SupportsRead"]


def _state(table: Table) -> tuple[object, ...]:
    """What a system table of a table depends on, besides its snapshots."""
    return table.path, table.branch, table.schema


class ScannedBuilderProxy(FilteredScanBuilder):
    """Builder of the scan of a system table that tasks read."""

    def __init__(self, jvm: Jvm, table: Table, kind: ScannedTable) -> None:
        fields = kind.fields(table)
        super().__init__(jvm, fields, fields[0], kind.shared(table))
        self._table = table
        self._kind = kind

    def build(self) -> PythonScanProxy:
        predicate, names = self._predicate, [f.name for f in self._columns]
        size, parallelism = split_size(self.jvm, self._table), self.jvm.context.defaultParallelism
        plan = plan_scan(self._table, predicate, parallelism=parallelism, split_size=size)
        tasks = [self._kind.task(self._table, split, names, predicate) for split in plan.splits]
        what = describe(self._table, plan, predicate).replace(
            self._table.name, f"{self._table.name}${self._kind.name}", 1
        )
        traits = PlannedTraits(self._stream)
        return PythonScanProxy(self.jvm, [[t] for t in tasks], self._columns, what, plan, traits=traits)

    def _stream(self) -> MicroBatchStreamProxy:
        kind, table, predicate = self._kind, self._table, self._predicate
        names = [f.name for f in self._columns]
        source = StreamSource(table, predicate)
        return MicroBatchStreamProxy(
            self.jvm, source, self._columns, lambda split: kind.task(table, split, names, predicate)
        )
