"""What is measured of scans and commits, and the line that the log has of each commit."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from paimon_sql.errors import PaimonError
from paimon_sql.storage.commit.transaction import LOG
from paimon_sql.storage.execution.metrics import Metric, Metrics, process_metrics
from paimon_sql.storage.expressions.predicates import Comparison
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.table.table import Table
from tests.storage.small_tables import compact, fresh, insert, make_table


def measured(table: Table) -> dict[str, Metric]:
    """The metrics of a table by name."""
    return {
        m.name: m for place, m in process_metrics().all() if (place.path, place.branch) == (table.path, table.branch)
    }


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A keyed table of partitions."""
    return make_table(tmp_path / "t", primary_keys=("p", "id"), partition_keys=("p",))


def test_a_commit_is_measured(table: Table) -> None:
    insert(table, (1, "a", "x"), (2, "b", "y"))
    insert(table, (1, "c", "x"))
    found = measured(table)
    assert (found["tableFilesAdded"].last, found["tableFilesAdded"].total, found["tableFilesAdded"].count) == (1, 3, 2)
    assert (found["partitionsWritten"].last, found["partitionsWritten"].maximum) == (1, 2)
    assert found["deltaRecordsAppended"].last == 1
    assert found["committedSnapshotId"].last == 2
    assert found["commitAttempts"].maximum == 1
    assert "compactionInputFileSize" not in found
    compact(table)
    found = measured(table)
    assert found["tableFilesDeleted"].last >= 2
    assert found["compactionInputFileSize"].last > 0
    assert found["compactionOutputFileSize"].last > 0


def test_a_scan_is_measured(table: Table) -> None:
    insert(table, (1, "a", "x"), (2, "b", "y"))
    plan_scan(fresh(table), Comparison("p", "=", pa.scalar("x")))
    found = measured(table)
    assert (found["scanResultedTableFiles"].last, found["scanSkippedTableFiles"].last) == (1, 1)
    assert found["scannedSnapshotId"].last == 1
    assert found["scannedManifests"].last == 1


def test_the_log_has_one_line_per_commit_for_those_who_ask(table: Table, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, LOG.name):
        insert(table, (1, "a", "x"))
        compact(table)
        insert(table, (2, "b", "z"))
    lines = [r.getMessage() for r in caplog.records if r.name == LOG.name]
    assert len(lines) == len(list(table.snapshots.all()))
    assert lines[0].startswith(f"{table.name}: snapshot 1, APPEND of +1 records, 1 files of ")
    assert all("\n" not in line for line in lines)
    caplog.clear()
    insert(table, (3, "c", "x"))
    assert not caplog.records


def test_what_was_not_committed_is_not_measured(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    insert(table, (1, "a", "x"))
    before = measured(table)

    def refuse(*_: object, **__: object) -> bool:
        raise PaimonError("no space is left")

    monkeypatch.setattr(type(table.file_io), "try_create_exclusive", refuse)
    with pytest.raises(PaimonError, match="no space"):
        insert(table, (2, "b", "y"))
    assert measured(table)["commitAttempts"] == before["commitAttempts"]


def test_metrics_are_kept_of_those_tables_that_were_used_last(tmp_path: Path) -> None:
    metrics = Metrics(tables=2)
    tables = [replace(make_table(tmp_path / name), name=name).metric_key for name in "abc"]
    metrics.note(tables[0], "scan", {"m": 1})
    metrics.note(tables[1], "scan", {"m": 1})
    metrics.note(tables[0], "scan", {"m": 3})
    metrics.note(tables[2], "scan", {"m": 1})
    assert [place.name for place, _ in metrics.all()] == ["a", "c"]
    (place, metric) = metrics.all()[0]
    assert (place.branch, metric.last, metric.maximum, metric.total, metric.count) == ("main", 3, 3, 4, 2)
