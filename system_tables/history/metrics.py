"""``sys.metrics``: metrics of scans and commits of this process."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import PaimonError
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.types import BigIntType, DoubleType, TimestampType, string_type
from paimon_sql.storage.execution.metrics import METRICS, MetricKey
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.system_tables.base import column
from paimon_sql.system_tables.clock import wall_clock
from paimon_sql.system_tables.whole_catalog import CatalogTable, View


class CatalogMetrics(CatalogTable):
    """Durations are in milliseconds, sizes in bytes. Other processes, and tasks on executors, are not among them.

    The names are those of Apache Paimon's metrics, without the `last` that some begin with: `lastCommitDuration` is the
    column `last` of `commitDuration`.
    """

    name = "metrics"
    summary = "One row per metric of each table of the catalog that this process has used."
    columns = (
        column("database_name", string_type(False), "the table's database"),
        column("table_name", string_type(False), "the table"),
        column("branch", string_type(False), "its branch"),
        column("metric_group", string_type(False), "scan or commit"),
        column("metric", string_type(False), "what was measured"),
        column("last", DoubleType(False), "the newest value"),
        column("mean", DoubleType(False), "the mean of all values"),
        column("greatest", DoubleType(False), "the greatest of them"),
        column("total", DoubleType(False), "their sum"),
        column("count", BigIntType(False), "how many there are"),
        column("measured_at", TimestampType(False, 3), "when the newest was measured"),
    )

    def rows(self, view: View, predicate: Predicate | None = None) -> pa.Table:
        found = []
        own: dict[MetricKey, Identifier | None] = {}
        for place, metric in METRICS.all():
            if place not in own:
                own[place] = _own(view.catalog, place)
            identifier = own[place]
            if identifier is None:
                continue
            found.append(
                {
                    "database_name": identifier.database,
                    "table_name": identifier.table,
                    "branch": place.branch,
                    "metric_group": metric.group,
                    "metric": metric.name,
                    "last": metric.last,
                    "mean": metric.total / metric.count,
                    "greatest": metric.maximum,
                    "total": metric.total,
                    "count": metric.count,
                    "measured_at": wall_clock(metric.at_millis),
                }
            )
        return pa.Table.from_pylist(found, schema=arrow_schema(self.columns))


def _own(catalog: Catalog, place: MetricKey) -> Identifier | None:
    """The table of the catalog for metrics; None for a table of another catalog, even of the same name."""
    database, _, table = place.name.removeprefix(f"{catalog.name}.").partition(".")
    if not place.name.startswith(f"{catalog.name}.") or not table:
        return None
    identifier = Identifier(database, table)
    try:
        return identifier if catalog.table(identifier).path == place.path else None
    except PaimonError:
        return None
