"""Rows of Parquet files that are kept between look-ups."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from paimon_sql.errors import MissingFileError
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.process import PROCESS
from paimon_sql.storage.file_formats.base import FileRead
from paimon_sql.storage.file_formats.parquet import kept_rows, reader
from paimon_sql.storage.file_formats.parquet.kept_rows import GroupColumns, kept_batches
from paimon_sql.storage.file_formats.registry import file_format
from paimon_sql.storage.file_io import LocalFileIO

IO = LocalFileIO()
PARQUET = file_format("parquet")
FIELDS = [t.DataField(0, "k", t.IntType(False)), t.DataField(1, "s", t.string_type())]
ROWS = 100_000


class Group:
    """A row group of numbered rows that counts how many of them are decoded."""

    def __init__(self, name: str, rows: int, at_once: int = 10) -> None:
        self.columns = GroupColumns(name, None, 0, (0,))
        self.rows = rows
        self.at_once = at_once
        self.decoded = 0

    def _decode(self) -> Iterator[pa.RecordBatch]:
        for first in range(0, self.rows, self.at_once):
            batch = pa.RecordBatch.from_pydict({"n": np.arange(first, min(self.rows, first + self.at_once))})
            self.decoded += batch.num_rows
            yield batch

    def up_to(self, row: int) -> list[int]:
        """The rows of the batches up to that of a row."""
        found: list[int] = []
        for batch in kept_batches(self.columns, self.rows, self._decode):
            found += batch.column("n").to_pylist()
            if len(found) > row:
                break
        return found


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    PROCESS.clear_caches()


def test_rows_that_an_earlier_look_up_passed_are_not_decoded_again() -> None:
    group = Group("f", 100)
    assert group.up_to(55) == list(range(60))
    assert group.decoded == 60
    assert group.up_to(7) == list(range(10))
    assert group.up_to(59) == list(range(60))
    assert group.decoded == 60


def test_rows_behind_the_kept_ones_are_decoded_from_the_first_on() -> None:
    group = Group("f", 100)
    group.up_to(5)
    assert group.up_to(35) == list(range(40))
    assert group.decoded == 10 + 40
    assert group.up_to(99) == list(range(100))
    assert group.up_to(99) == list(range(100))
    assert group.decoded == 10 + 40 + 100


def test_kept_rows_continue_in_batches_of_another_size() -> None:
    group = Group("f", 100)
    group.up_to(5)
    group.at_once = 7
    assert group.up_to(99) == list(range(100))
    assert group.up_to(99) == list(range(100))


def test_of_a_large_row_group_only_the_first_rows_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_rows, "_MAX_GROUP_BYTES", 25 * 8)
    group = Group("f", 100)
    assert group.up_to(99) == list(range(100))
    assert group.up_to(19) == list(range(20))
    assert group.decoded == 100
    assert group.up_to(99) == list(range(100))
    assert group.decoded == 200


def test_files_and_columns_do_not_share_rows() -> None:
    first, other = Group("f", 30), Group("g", 30)
    other.columns = GroupColumns("f", None, 0, (1,))
    first.up_to(29)
    other.up_to(29)
    assert other.decoded == 30


def file_of(folder: Path) -> str:
    """A file of `ROWS` rows in several row groups."""
    path = str(folder / "f.parquet")
    writer = PARQUET.open_writer(IO, path, FIELDS, {"file.block-size": "100 kb"})
    for first in range(0, ROWS, 1000):
        keys = pa.array(range(first, first + 1000), pa.int32())
        texts = pa.array([f"text of {key}" for key in range(first, first + 1000)])
        writer.write(pa.RecordBatch.from_arrays([keys, texts], schema=arrow_schema(FIELDS)))
    writer.close()
    return path


def row_at(path: str, position: int, columns: tuple[str, ...] = ("k", "s")) -> list[dict[str, object]]:
    wanted = FileRead(path, FIELDS, columns, row_ranges=[(position, position + 1)], is_lookup=True)
    return [row for _, batch in PARQUET.batches(IO, wanted) for row in batch.to_pylist()]


def test_look_ups_in_many_threads_find_their_rows(tmp_path: Path) -> None:
    path = file_of(tmp_path)
    positions = np.random.default_rng(7).integers(0, ROWS, 400).tolist()
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda position: row_at(path, position), positions))
    assert found == [[{"k": position, "s": f"text of {position}"}] for position in positions]


def test_a_look_up_of_other_columns_reads_these(tmp_path: Path) -> None:
    path = file_of(tmp_path)
    assert row_at(path, 77_777, ("s",)) == [{"s": "text of 77777"}]
    assert row_at(path, 77_777, ("k",)) == [{"k": 77_777}]
    assert row_at(path, 77_777) == [{"k": 77_777, "s": "text of 77777"}]


def test_a_look_up_in_a_deleted_file_fails_although_its_rows_are_kept(tmp_path: Path) -> None:
    path = file_of(tmp_path)
    row_at(path, 5)
    Path(path).unlink()
    with pytest.raises(MissingFileError):
        row_at(path, 5)


def test_scans_keep_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = file_of(tmp_path)
    monkeypatch.setattr(reader, "kept_batches", None)
    assert sum(b.num_rows for _, b in PARQUET.batches(IO, FileRead(path, FIELDS, ("k", "s")))) == ROWS
