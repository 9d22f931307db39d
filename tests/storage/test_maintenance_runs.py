"""The record of maintenance: what it keeps, how much of it, and that nothing fails for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.metadata.catalog_environment import MaintenanceLog, MaintenanceRun, parse_run
from tests.storage.small_tables import COLUMNS, insert

RUN = MaintenanceRun(
    1, "paimon", "compact", "call", "db", "t", {"table": "ä"}, True, 1, 2, {"files": 3}, 0.5, "n", None
)


def log_in(folder: Path, retained: int = 10) -> MaintenanceLog:
    return MaintenanceLog(LocalFileIO(), str(folder), "paimon", retained)


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    log.add(replace(RUN, started_millis=2))
    log.add(RUN)
    assert log.runs() == [RUN, replace(RUN, started_millis=2)]


def test_a_folder_that_does_not_exist_holds_no_records(tmp_path: Path) -> None:
    assert log_in(tmp_path / "none").runs() == []


def test_what_is_no_record_is_passed_over(tmp_path: Path) -> None:
    log = log_in(tmp_path)
    log.add(RUN)
    (tmp_path / "call-000000000000002-x.json").write_text("{")
    (tmp_path / "call-000000000000003-x.json").write_text("[]")
    (tmp_path / "note.txt").write_text("")
    assert log.runs() == [RUN]
    assert parse_run(RUN.to_json().replace('"note"', '"later": 1, "note"').encode()) == RUN


def test_the_oldest_records_of_each_kind_go(tmp_path: Path) -> None:
    log = log_in(tmp_path, retained=2)
    for i in range(40):
        log.add(replace(RUN, started_millis=i, trigger="commit" if i % 4 else "call"))
    log.prune()
    assert [(r.started_millis, r.trigger) for r in log.runs()] == [
        (32, "call"),
        (36, "call"),
        (38, "commit"),
        (39, "commit"),
    ]


def test_their_number_stays_bounded_without_being_told(tmp_path: Path) -> None:
    log = log_in(tmp_path, retained=5)
    for i in range(400):
        log.add(replace(RUN, started_millis=i))
    assert len(log.runs()) < 200


def test_without_any_to_retain_none_is_written(tmp_path: Path) -> None:
    log_in(tmp_path / "log", retained=0).add(RUN)
    assert not (tmp_path / "log").exists()


def test_a_record_that_cannot_be_written_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    log_in(tmp_path / "file").add(RUN)
    assert "could not be stored" in caplog.text


def test_what_a_commit_brings_about_is_recorded_where_it_changed_something(tmp_path: Path) -> None:
    catalog = FileSystemCatalog("lake", {"warehouse": str(tmp_path)})
    catalog.create_database("d", {})
    options = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2"}
    schema = new_schema(COLUMNS, options=options)
    catalog.create_table(Identifier("d", "t"), schema)
    for i in range(4):
        insert(catalog.table(Identifier("d", "t")), (i, "v", "p"))
    assert catalog.run_log is not None
    first, second = catalog.run_log.runs()
    assert (first.catalog, first.database, first.table, first.trigger) == ("lake", "d", "t", "commit")
    assert (first.procedure, first.snapshot_before, first.snapshot_after) == ("expire_snapshots", 3, 3)
    assert first.counts["deleted_snapshots_count"] == second.counts["deleted_snapshots_count"] == 1
    assert catalog.list_databases() == ["d"]


def test_what_fails_after_a_commit_is_recorded_too(tmp_path: Path) -> None:
    catalog = FileSystemCatalog("lake", {"warehouse": str(tmp_path)})
    catalog.create_database("d", {})
    options = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2"}
    catalog.create_table(Identifier("d", "t"), new_schema(COLUMNS, options=options))
    tag = tmp_path / "d.db" / "t" / "tag" / "tag-broken"
    tag.parent.mkdir(parents=True)
    tag.write_text("{")
    for i in range(3):
        insert(catalog.table(Identifier("d", "t")), (i, "v", "p"))
    assert catalog.run_log is not None
    assert any(run.error and "tag-broken" in run.error for run in catalog.run_log.runs())
