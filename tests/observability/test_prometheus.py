"""Metrics for Prometheus: what was measured is exposed once, in seconds and bytes."""

from __future__ import annotations

import json
import re
import urllib.request
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

import paimon_sql
from paimon_sql.api.table import Table
from paimon_sql.errors import AlreadyCommittedError, CommitConflictError
from paimon_sql.observability import prometheus
from paimon_sql.storage.commit.transaction import failure_reported
from paimon_sql.storage.execution.metrics import COMMIT, COMPACTION, SCAN, MetricKey, Metrics, process_metrics
from tests.web import free_port

KEY = MetricKey("c.d.t", "/t", "main")


@pytest.fixture
def table(tmp_path: Path) -> Table:
    catalog = paimon_sql.open_catalog(tmp_path)
    catalog.create_database("d")
    return catalog.create_table("d.t", pa.schema([("id", pa.int64())]), primary_key=["id"], options={"bucket": "1"})


def samples(registry: CollectorRegistry, name: str) -> dict[str, float | None]:
    """The values of a metric of the table by the ending of its name."""
    labels = {"table": KEY.name, "branch": KEY.branch, "path": KEY.path}
    return {ending: registry.get_sample_value(f"{name}{ending}", labels) for ending in ("_count", "_sum", "_last")}


def test_durations_are_seconds_and_sizes_bytes() -> None:
    metrics, registry = Metrics(), CollectorRegistry()
    metrics.note(KEY, COMMIT, {"commitDuration": 1500, "tableFilesAdded": 2})
    metrics.note(KEY, COMMIT, {"commitDuration": 500, "tableFilesAdded": 5})
    metrics.note(KEY, SCAN, {"scanDuration": 20, "scanResultedBytes": 77})
    metrics.note(KEY, COMPACTION, {"compactionTime": 2000, "compactionInputSize": 9})
    registry.register(prometheus.PaimonCollector(metrics))
    assert samples(registry, "paimon_commit_duration_seconds") == {"_count": 2, "_sum": 2.0, "_last": 0.5}
    assert samples(registry, "paimon_table_files_added") == {"_count": 2, "_sum": 7, "_last": 5}
    assert samples(registry, "paimon_scan_resulted_bytes") == {"_count": 1, "_sum": 77, "_last": 77}
    assert samples(registry, "paimon_compaction_time_seconds")["_sum"] == 2.0
    assert samples(registry, "paimon_compaction_input_size_bytes")["_last"] == 9


def test_a_server_tells_what_a_table_did(table: Table) -> None:
    table.upsert([{"id": 1}])
    table.upsert([{"id": 2}])
    table.call("compact")
    assert table.scan().to_arrow().num_rows == 2
    port = free_port()
    stop = prometheus.serve(port)
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            text = answer.read().decode()
    finally:
        stop()
    found = {
        (family.name, sample.name.removeprefix(family.name)): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.labels.get("path") == table.path
    }
    assert found["paimon_delta_records_appended", "_sum"] == 2
    assert found["paimon_commit_duration_seconds", "_count"] >= 3
    assert found["paimon_compaction_time_seconds", "_count"] >= 1
    assert found["paimon_scan_duration_seconds", "_count"] >= 1


def test_a_listener_that_fails_fails_nothing(table: Table, caplog: pytest.LogCaptureFixture) -> None:
    def fail(*_: object) -> None:
        raise ValueError

    end = process_metrics().listen(fail)
    try:
        assert table.upsert([{"id": 1}]) == 1
    finally:
        end()
    assert "A listener of metrics failed" in caplog.text
    caplog.clear()
    table.upsert([{"id": 2}])
    assert not caplog.text


def test_scans_of_changes_are_scans(table: Table) -> None:
    table.upsert([{"id": 1}])
    table.upsert([{"id": 2}])
    before = scans_of(table)
    assert table.changes().to_arrow().num_rows == 2
    assert scans_of(table) == before + 1


def test_a_commit_that_fails_is_counted(table: Table) -> None:
    with pytest.raises(ValueError), failure_reported(table._stored):
        raise ValueError  # what the changes raise is no failure of the commit
    with pytest.raises(CommitConflictError), failure_reported(table._stored):
        raise CommitConflictError("")
    with pytest.raises(AlreadyCommittedError), failure_reported(table._stored):
        raise AlreadyCommittedError("")
    found = {metric.name: metric.count for key, metric in process_metrics().all() if key.path == table.path}
    assert found["failedCommitDuration"] == 1


def scans_of(table: Table) -> int:
    """The number of planned scans of a table."""
    found = {metric.name: metric.count for key, metric in process_metrics().all() if key.path == table.path}
    return found.get("scanDuration", 0)


def test_the_example_dashboard_shows_metrics_that_exist(table: Table) -> None:
    table.upsert([{"id": 1}])
    table.upsert([{"id": 2}])
    table.call("compact")
    table.to_arrow()
    with suppress(CommitConflictError), failure_reported(table._stored):
        raise CommitConflictError("")
    registry = CollectorRegistry()
    registry.register(prometheus.PaimonCollector())
    existing = {sample.name for family in registry.collect() for sample in family.samples}
    dashboard = json.loads((Path(__file__).parents[2] / "docs" / "grafana-dashboard.json").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    named = {name for expression in expressions for name in re.findall(r"paimon_\w+", expression)}
    assert len(expressions) == 10 and named <= existing
