"""``sys.metrics``: metrics of scans, commits and compactions of this process."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import PaimonError
from paimon_sql.format.schema.records import Long, Record, Timestamp, column
from paimon_sql.storage.execution.metrics import MetricKey, process_metrics
from paimon_sql.system_tables.base import CatalogTable, RecordTable, View
from paimon_sql.system_tables.formatting import wall_clock


class Metrics(RecordTable[View], CatalogTable):
    """Durations are in milliseconds, sizes in bytes. Other processes, and tasks on executors, are not included.

    The names are those of Apache Paimon's metrics, without the `last` that some begin with: `lastCommitDuration` is the
    column `last` of `commitDuration`.
    """

    summary = "One row per metric of each table of the catalog that this process used."

    class Row(Record):
        database_name: str = column("the table's database")
        table_name: str = column("the table")
        branch: str = column("its branch")
        metric_group: str = column("scan, commit, failed_commit or compaction")
        metric: str = column("what was measured")
        last: float = column("the latest value")
        mean: float = column("the mean of all values")
        max: float = column("the max value")
        total: float = column("the sum of all values")
        count: Long = column("the number of values")
        measured_at: Timestamp = column("when the latest value was measured")

    def records(self, view: View) -> Iterable[object]:
        own: dict[MetricKey, Identifier | None] = {}
        for place, metric in process_metrics().all():
            if place not in own:
                own[place] = _own(view.catalog, place)
            identifier = own[place]
            if identifier is None:
                continue
            yield self.row(
                metric,
                database_name=identifier.database,
                table_name=identifier.table,
                branch=place.branch,
                metric_group=metric.group,
                metric=metric.name,
                mean=metric.total / metric.count,
                max=metric.maximum,
                measured_at=wall_clock(metric.at_millis),
            )


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
