"""``sys.metrics``: what this process measured of its scans and commits."""

from __future__ import annotations

import pyarrow as pa

from paimon_sql.format.arrow import arrow_schema
from paimon_sql.format.types import BigIntType, DoubleType, TimestampType, string_type
from paimon_sql.storage.metrics import METRICS
from paimon_sql.storage.predicates import Predicate
from paimon_sql.system_tables.base import column
from paimon_sql.system_tables.clock import wall_clock
from paimon_sql.system_tables.whole_catalog import CatalogTable, View


class CatalogMetrics(CatalogTable):
    """Durations are in milliseconds, sizes in bytes. Other processes, and tasks on executors, are not among them.

    The names are those of Apache Paimon's metrics, without the `last` that some begin with: `lastCommitDuration` is the
    column `last` of `commitDuration`.
    """

    name = "metrics"
    summary = "One row per metric of each table that this process has used."
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
        own = f"{view.catalog.name}."
        found = []
        for name, branch, metric in METRICS.all():
            if not name.startswith(own):
                continue
            database, _, table = name.removeprefix(own).partition(".")
            found.append(
                {
                    "database_name": database,
                    "table_name": table,
                    "branch": branch,
                    "metric_group": metric.group,
                    "metric": metric.name,
                    "last": metric.last,
                    "mean": metric.total / metric.count,
                    "greatest": metric.greatest,
                    "total": metric.total,
                    "count": metric.count,
                    "measured_at": wall_clock(metric.at_millis),
                }
            )
        return pa.Table.from_pylist(found, schema=arrow_schema(self.columns))
