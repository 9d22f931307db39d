"""The history of COPY INTO: which files a table has loaded already."""

from __future__ import annotations

from pathlib import Path

from paimon_sql.storage.copy.load_history import LoadHistory, SourceFile
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.metadata.schemas import SchemaManager
from paimon_sql.storage.table.table import Table
from tests.storage.core_tables import make_table

FILE = SourceFile("file:/data/übersicht.csv", 20, 1_700_000_000_123)


def _history(folder: Path) -> LoadHistory:
    path = folder / "t"
    return LoadHistory(make_table(path) if not path.exists() else opened(path))


def opened(path: Path) -> Table:
    schema = SchemaManager(LocalFileIO(), str(path)).latest()
    assert schema is not None
    return Table("db.t", str(path), LocalFileIO(), schema)


def test_a_record_is_a_file_of_the_name_and_content_that_java_gives_it(tmp_path: Path) -> None:
    _history(tmp_path).record([(FILE, 3)], 7, 1_700_000_001_000)
    (path,) = (tmp_path / "t" / "copy-into" / "history").iterdir()
    assert path.name == "load-e845fd16fd0f845b-1700000001000"
    assert path.read_bytes().decode() == (
        "{\n"
        '  "filePath" : "file:/data/übersicht.csv",\n'
        '  "fileSize" : 20,\n'
        '  "lastModified" : 1700000000123,\n'
        '  "loadedAt" : 1700000001000,\n'
        '  "snapshotId" : 7,\n'
        '  "rowsLoaded" : 3\n'
        "}"
    )


def test_a_file_is_known_as_long_as_its_size_and_time_are_the_same(tmp_path: Path) -> None:
    history = _history(tmp_path)
    other = SourceFile("file:/data/other.csv", 20, FILE.mtime_millis)
    assert history.loaded([FILE, other]) == set()
    history.record([(FILE, 3)], 1, 1)
    assert history.loaded([FILE, other]) == {FILE}
    longer, later = SourceFile(FILE.path, 21, FILE.mtime_millis), SourceFile(FILE.path, 20, FILE.mtime_millis + 1)
    assert history.loaded([longer, later]) == set()
    history.record([(later, 4)], 2, 2)
    assert history.loaded([FILE, longer, later]) == {FILE, later}


def test_a_file_of_a_store_is_known_whatever_scheme_is_said(tmp_path: Path) -> None:
    history = _history(tmp_path)
    said, later = (SourceFile(f"{scheme}://lake/a b/é.csv", 20, 1) for scheme in ("s3", "s3a"))
    other = SourceFile("s3a://lake/s3.csv", 20, 1)
    history.record([(said, 3)], 1, 1)
    assert history.loaded([later, other]) == {later} and history.loaded([said]) == {said}
    changed, elsewhere = SourceFile("s3n://lake/a b/é.csv", 21, 1), SourceFile("gs://lake/a b/é.csv", 20, 1)
    assert history.loaded([changed, elsewhere]) == set()
    history.record([(other, 1)], 1, 2)
    assert history.loaded([said, later, other]) == {said, later, other}


def test_a_record_that_cannot_be_read_counts_for_none(tmp_path: Path) -> None:
    history = _history(tmp_path)
    history.record([(FILE, 3)], 1, 1)
    (path,) = (tmp_path / "t" / "copy-into" / "history").iterdir()
    for broken in ("", "{", "[]", '{"filePath": "x"}', '{"filePath": "x", "fileSize": "y", "lastModified": null}'):
        path.write_text(broken)
        assert history.loaded([FILE]) == set()
