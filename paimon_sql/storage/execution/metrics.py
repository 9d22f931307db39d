"""Metrics of the scans, commits and compactions of this process, per table: the newest value, maximum and sum of each.

The names are those of Apache Paimon's metrics, without the prefix ``last`` of some. Metrics are local to a process:
those of other processes, and of tasks on executors, are not included.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from paimon_sql.cache import Cache
from paimon_sql.process import share

COMMIT = "commit"
FAILED_COMMIT = "failed_commit"
SCAN = "scan"
COMPACTION = "compaction"
DURATIONS = {
    COMMIT: "commitDuration",
    FAILED_COMMIT: "failedCommitDuration",
    SCAN: "scanDuration",
    COMPACTION: "compactionTime",
}
"""The metric with the duration of what was measured, in milliseconds, by group."""
_LOG = logging.getLogger(__name__)
_MAX_TABLES = 1000


@dataclass(frozen=True)
class Metric:
    """The aggregated values of one metric.

    Attributes:
        group: ``scan``, ``commit``, ``failed_commit`` or ``compaction``.
        name: name of the metric.
        last: the newest value.
        maximum: the maximum.
        total: the sum.
        count: number of values.
        at_millis: time of the newest value, in milliseconds since the epoch.
    """

    group: str
    name: str
    last: float
    maximum: float
    total: float
    count: int
    at_millis: int

    def then(self, value: float, at_millis: int) -> Metric:
        """Return the metric with one more value."""
        maximum, total = max(self.maximum, value), self.total + value
        return Metric(self.group, self.name, value, maximum, total, self.count + 1, at_millis)


@dataclass(frozen=True, order=True)
class MetricKey:
    """Identity of a table or branch; tables of two catalogs may have the same name."""

    name: str
    path: str
    branch: str


Listener: TypeAlias = Callable[[MetricKey, str, Mapping[str, float]], None]
"""Called with what `Metrics.note` records, in the thread that measured it, at its end."""


class Metrics:
    """Metrics of the most recently used tables, per branch; thread-safe.

    Args:
        tables: maximum number of tables to remember.
    """

    def __init__(self, tables: int = _MAX_TABLES) -> None:
        self._tables = Cache[MetricKey, Mapping[tuple[str, str], Metric]](tables)
        self._listeners: list[Listener] = []

    def note(self, table: MetricKey, group: str, values: Mapping[str, float]) -> None:
        """Record values of a table that were measured together."""
        now = time.time_ns() // 1_000_000

        def with_values(before: Mapping[tuple[str, str], Metric] | None) -> Mapping[tuple[str, str], Metric]:
            metrics = dict(before or {})
            for name, value in values.items():
                previous = metrics.get((group, name)) or Metric(group, name, value, value, 0, 0, now)
                metrics[group, name] = previous.then(value, now)
            return metrics

        self._tables.change(table, with_values)
        for listener in list(self._listeners):
            try:
                listener(table, group, values)
            except Exception:
                _LOG.warning("A listener of metrics failed.", exc_info=True)  # what was measured has succeeded

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call a listener for everything that is recorded from now on; return a function that ends this."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def all(self) -> list[tuple[MetricKey, Metric]]:
        """Return the metrics of all tables, sorted by table and metric name."""
        found = [(place, m) for place, metrics in self._tables.items() for m in metrics.values()]
        return sorted(found, key=lambda row: (row[0], row[1].group, row[1].name))


process_metrics = share(Metrics)
"""The metrics of this process."""
