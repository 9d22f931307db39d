"""Metrics of scans, commits and compactions for Prometheus (extra ``prometheus``).

Each metric of ``sys.metrics`` is a summary without quantiles, ``_sum`` and ``_count``, and a gauge of its latest value,
``_last``; durations are in seconds. Names are in snake case: ``commitDuration`` is ``paimon_commit_duration_seconds``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import GaugeMetricFamily, SummaryMetricFamily
from prometheus_client.registry import REGISTRY, Collector

from paimon_sql.storage.execution.metrics import DURATIONS, Metric, Metrics, process_metrics

_LABELS = ("table", "branch", "path")
_WORD = re.compile(r"(?<!^)(?=[A-Z])")
_MILLIS = 1000


class PaimonCollector(Collector):
    """Reads the metrics whenever Prometheus asks; nothing is counted twice.

    Args:
        metrics: the metrics; those of this process by default.
    """

    def __init__(self, metrics: Metrics | None = None) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[SummaryMetricFamily | GaugeMetricFamily]:
        """Return a summary and a gauge per metric, with a sample per table and branch.

        Tables of two catalogs may have the same name, and differ by their path.
        """
        summaries: dict[str, SummaryMetricFamily] = {}
        gauges: dict[str, GaugeMetricFamily] = {}
        for place, metric in (self._metrics or process_metrics()).all():
            name, unit = prometheus_name(metric)
            labels = [place.name, place.branch, place.path]
            about = f"{metric.name} of Apache Paimon, group {metric.group}"
            if name not in summaries:
                summaries[name] = SummaryMetricFamily(name, about, labels=_LABELS)
                gauges[name] = GaugeMetricFamily(f"{name}_last", f"{about}, latest value", labels=_LABELS)
            summaries[name].add_metric(labels, count_value=metric.count, sum_value=metric.total / unit)
            gauges[name].add_metric(labels, metric.last / unit)
        return [*summaries.values(), *gauges.values()]


def prometheus_name(metric: Metric) -> tuple[str, int]:
    """Return the name of a metric for Prometheus, and the divisor of its values."""
    name = _WORD.sub("_", metric.name).lower()
    if metric.name == DURATIONS[metric.group]:
        return f"paimon_{name}_seconds", _MILLIS
    return f"paimon_{name}_bytes" if name.endswith("_size") else f"paimon_{name}", 1


def register(registry: CollectorRegistry = REGISTRY) -> PaimonCollector:
    """Add the metrics to a registry, and return their collector, by which they can be removed."""
    collector = PaimonCollector()
    registry.register(collector)
    return collector


def serve(port: int, host: str = "127.0.0.1") -> Callable[[], None]:
    """Serve the metrics over HTTP, in a thread; return a function that ends this.

    Args:
        port: the port.
        host: the address to listen on.

    Raises:
        OSError: the port is taken.
    """
    registry = CollectorRegistry()
    register(registry)
    server, thread = start_http_server(port, host, registry)

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    return stop
