"""System tables whose rows are computed on the driver (Spark: ``Table``)."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.catalog.identifier import SYSTEM_DATABASE
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.expressions.predicates import translate_all
from paimon_sql.spark.expressions.serialized import expression_text
from paimon_sql.spark.jvm.gateway import CATALOG, CONNECTOR, JavaObject, Jvm
from paimon_sql.spark.options.read import read_options, with_read_options
from paimon_sql.spark.scan.proxies.local import LocalScanProxy
from paimon_sql.spark.scan.pushdown.disabled import under_push_down
from paimon_sql.spark.tables.read_only import ReadOnlyTable
from paimon_sql.storage.expressions.predicates import Predicate, all_of
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables import CatalogTable, SystemTable
from paimon_sql.system_tables.formatting import one_chunk
from paimon_sql.system_tables.whole_catalog import View

Rows = Callable[[Sequence[str], Predicate | None], pa.Table]
"""Computes some columns of a system table; may return only rows that match the predicate."""


class MetadataTableProxy(ReadOnlyTable):
    """A table whose rows are computed on the driver."""

    def __init__(self, jvm: Jvm, name: str, columns: tuple[DataField, ...], session: Any) -> None:
        super().__init__(jvm)
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

    def newScanBuilder(self, options: Any) -> Any:
        rows = self.rows_under(read_options(self.jvm, options))
        return SystemScanBuilderProxy(self.jvm, self._name, self._columns, rows, self.session)

    class Java:
        implements = [f"{CATALOG}.SupportsRead"]


class SystemTableProxy(MetadataTableProxy):
    """A system table ``t$name`` of one table."""

    def __init__(self, jvm: Jvm, table: Table, system_table: SystemTable, session: Any) -> None:
        super().__init__(jvm, f"{table.name}${system_table.name}", system_table.columns, session)
        self._table = table
        self._system_table = system_table

    def _is_like(self, other: SystemTableProxy) -> bool:
        mine, theirs = self._table, other._table
        seen, same = (mine.path, mine.branch, mine.schema), (theirs.path, theirs.branch, theirs.schema)
        return self._name == other._name and seen == same

    def _trait(self) -> Hashable:
        return self._name

    def newScanBuilder(self, options: Any) -> Any:
        return under_push_down(self.jvm, self._table.options, super().newScanBuilder(options), self._columns)

    def rows_under(self, options: Mapping[str, str]) -> Rows:
        table = with_read_options(self.jvm, self.session, self._table, options)
        return lambda names, predicate: self._system_table.selected(table, names, predicate)


class CatalogTableProxy(MetadataTableProxy):
    """A system table ``sys.name`` of one catalog."""

    def __init__(self, jvm: Jvm, view: View, catalog_table: CatalogTable, session: Any) -> None:
        name = f"{view.catalog.name}.{SYSTEM_DATABASE}.{catalog_table.name}"
        super().__init__(jvm, name, catalog_table.columns, session)
        self._view = view
        self._catalog_table = catalog_table

    def _is_like(self, other: CatalogTableProxy) -> bool:
        return self._name == other._name

    def _trait(self) -> Hashable:
        return self._name

    def rows_under(self, options: Mapping[str, str]) -> Rows:
        return lambda names, predicate: self._catalog_table.rows(self._view, predicate).select(list(names))


class SystemScanBuilderProxy(JavaObject):
    """Builder of the scan of a system table."""

    def __init__(self, jvm: Jvm, name: str, columns: tuple[DataField, ...], rows: Rows, session: Any) -> None:
        super().__init__(jvm)
        self._name = name
        self._all = columns
        self._rows = rows
        self._session = session
        self._columns = columns
        self._predicates: list[Predicate] = []
        self._limit: int | None = None

    def pruneColumns(self, struct: Any) -> None:
        by_name = {f.name: f for f in self._all}
        wanted = tuple(by_name[f["name"]] for f in json.loads(struct.json())["fields"])
        # Arrow tables without columns lose the number of rows when sliced or concatenated, so one column is read.
        self._columns = wanted or self._all[:1]

    def pushFilters(self, expressions: Any) -> Any:
        types = {f.name: f.type for f in self._all}
        found = translate_all(expression_text(self.jvm, expressions), types)
        self._predicates.extend(p for p in found if p is not None)
        return expressions

    def pushedFilters(self) -> Any:
        return self.jvm.array(f"{CONNECTOR}.expressions.filter.Predicate")

    def pushLimit(self, limit: int) -> bool:
        self._limit = limit
        return True

    def isPartiallyPushed(self) -> bool:
        return True

    def build(self) -> LocalScanProxy:
        predicate, names, limit = all_of(self._predicates), [f.name for f in self._columns], self._limit

        def rows() -> pa.Table:
            found = self._rows(names, predicate)
            if predicate is not None:
                # Spark evaluates the filters again; this saves sending it rows that do not match.
                columns = {name: one_chunk(found[name]) for name in predicate.columns()}
                found = found.filter(pc.fill_null(predicate.evaluate(columns), False))
            return found.slice(0, limit)

        return LocalScanProxy(self.jvm, self._session, self._columns, rows, f"paimon {self._name}")

    class Java:
        implements = [
            f"{CONNECTOR}.read.SupportsPushDownRequiredColumns",
            f"{CONNECTOR}.read.SupportsPushDownLimit",
            "org.apache.spark.sql.internal.connector.SupportsPushDownCatalystFilters",
        ]
