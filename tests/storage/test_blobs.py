"""Tables with columns of blobs at the storage core, compared with rows in plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.errors import (
    CommitConflictError,
    InvalidInputError,
    MissingFileError,
    PaimonError,
    UnsupportedError,
)
from paimon_sql.format.rows.blob_reference import BlobDescriptor, BlobView, decode_descriptor, decode_view
from paimon_sql.format.schema.types import ArrayType, BlobType, DataField, IntType, MapType, VarCharType, string_type
from paimon_sql.storage.expressions.predicates import Comparison
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.file_io.external.locations import NO_ACCESS, ExternalAccess
from paimon_sql.storage.row_level.columns import columns_unchanged
from paimon_sql.storage.schema.changes.alter_columns import AddColumn
from paimon_sql.storage.schema.changes.base import apply_changes
from paimon_sql.storage.table.table import Table
from tests.storage import commits
from tests.storage.core_tables import again, insert, live, make_table, overwrite, rows, written
from tests.storage.test_data_evolution import changed, compact, delete, materialize, read, update
from tests.web import Handler, listening

COLUMNS = (
    DataField(0, "id", IntType()),
    DataField(1, "b", BlobType()),
    DataField(2, "t", string_type()),
    DataField(3, "a", ArrayType(True, BlobType())),
    DataField(4, "m", MapType(True, VarCharType(False, 9), BlobType())),
)
OPTIONS = {
    "row-tracking.enabled": "true",
    "data-evolution.enabled": "true",
    "deletion-vectors.enabled": "true",
    "compaction.min.file-num": "2",
    "blob.target-file-size": "30 b",
}
AS_BYTES = {"blob-as-descriptor": "false"}
ROWS: list[tuple[Any, ...]] = [
    (1, b"one", "x", [b"a", None, b""], [("k", b"v"), ("n", None)]),
    (2, None, "y", None, None),
    (3, b"", None, [], []),
    (4, b"q" * 100, "z", [b"w" * 70_000], [("", b"")]),
]


class Recording(LocalFileIO):
    """Local files that remembers which were opened."""

    def __init__(self) -> None:
        self.opened: list[str] = []

    def open_input(self, path: str) -> pa.NativeFile:
        self.opened.append(path)
        return super().open_input(path)


def blob_table(
    path: Path,
    options: dict[str, str] | None = None,
    columns: tuple[DataField, ...] = COLUMNS,
    access: ExternalAccess = NO_ACCESS,
) -> Table:
    return replace(make_table(path / "t", {**OPTIONS, **(options or {})}, columns=columns), access=access)


def files(table: Table) -> list[tuple[str, int, int]]:
    """Of each file its columns, first row id and number of rows."""
    found = [(",".join(e.file.write_cols or ()), e.file.first_row_id or 0, e.file.row_count) for e in live(table)]
    return sorted(found)


def test_each_column_of_blobs_has_files_of_its_own_that_roll_by_themselves(tmp_path: Path) -> None:
    table = blob_table(tmp_path)
    insert(table, *ROWS)
    insert(table, *ROWS[:1])
    assert sorted(rows(table), key=repr) == sorted([*ROWS, ROWS[0]], key=repr)
    assert [f for f in files(table) if f[0] == "id,t"] == [("id,t", 0, 4), ("id,t", 4, 1)]
    assert [f[1:] for f in files(table) if f[0] == "b"] == [(0, 3), (3, 1), (4, 1)]
    for entry in live(table):
        file = entry.file
        assert file.min_sequence_number == file.max_sequence_number == (1 if (file.first_row_id or 0) < 4 else 2)
        assert file.value_stats_cols == (() if file.file_name.endswith(".blob") else None)
    overwrite(table, ROWS[1])
    assert rows(table) == [ROWS[1]]


def test_only_files_of_wanted_columns_and_blobs_of_wanted_rows_are_read(tmp_path: Path) -> None:
    table = blob_table(tmp_path, {"blob.target-file-size": "1 mb"})
    insert(table, *ROWS)
    spy = Recording()
    assert rows(again(table, file_io=spy), columns=["t", "id"]) == [(r[2], r[0]) for r in ROWS]
    assert spy.opened and not [p for p in spy.opened if p.endswith(".blob")]
    (path,) = [Path(p) for p in _paths(table, "b")]
    path.write_bytes(path.read_bytes().replace(b"one", b"???").replace(b"\xcf\x11\x4e\x58", b"????", 1))
    assert rows(table, Comparison("id", "=", pa.scalar(4, pa.int32())), ["b"]) == [(b"q" * 100,)]
    with pytest.raises(PaimonError, match="corrupt blob file"):
        rows(table, columns=["b"])


def _paths(table: Table, column: str) -> list[str]:
    return [
        table.locations.data_file(e.partition, e.bucket, e.file) for e in live(table) if e.file.write_cols == (column,)
    ]


@settings(max_examples=25)
@given(data=st.data())
def test_changes_and_compactions_agree_with_plain_rows(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    table = blob_table(tmp_path_factory.mktemp("t"))
    blobs = st.one_of(st.none(), st.binary(max_size=8), st.just(b"z" * 30))
    model: dict[int, list[Any]] = {}
    for _ in range(data.draw(st.integers(2, 7))):
        does = data.draw(st.sampled_from(["insert", "b", "a,b", "t,b", "delete", "compact", "blobs", "materialize"]))
        if does == "insert" or not model:
            fresh = data.draw(st.lists(blobs, min_size=1, max_size=5))
            at = table.snapshots.latest()
            first = (at.next_row_id or 0) if at else 0
            insert(table, *((i, b, "t", [b], None) for i, b in enumerate(fresh)))
            model |= {first + i: [i, b, "t", [b], None] for i, b in enumerate(fresh)}
        elif does == "delete":
            gone = data.draw(st.sampled_from(sorted(model)))
            delete(table, gone)
            del model[gone]
        elif does == "compact":
            compact(table)
        elif does == "blobs":
            compact(again(table, {"blob-compaction.enabled": "true", "blob.target-file-size": "1 mb"}))
        elif does == "materialize":
            before = sorted(model.values(), key=repr)
            materialize(table)
            model = {i: list(row) for i, row in read(table).items()}
            assert sorted(model.values(), key=repr) == before
        else:
            names = does.split(",")
            chosen = data.draw(st.lists(st.sampled_from(sorted(model)), min_size=1, unique=True))
            values = {"b": blobs, "a": st.lists(blobs, max_size=2), "t": st.text(max_size=3)}
            new = {i: [data.draw(values[n]) for n in names] for i in chosen}
            update(table, names, new)
            for i, found in new.items():
                for name, value in zip(names, found, strict=True):
                    model[i][table.schema.names.index(name)] = value
        assert read(table) == {i: tuple(row) for i, row in model.items()}


def test_a_change_of_blobs_writes_no_others_and_those_of_rivals_are_not_lost(tmp_path: Path) -> None:
    table = blob_table(tmp_path, {"blob.target-file-size": "1 mb"})
    insert(table, *ROWS)
    base = table.snapshots.latest()
    update(table, ["b"], {0: [b"new"]})
    (newest,) = [e.file for e in live(table) if e.file.max_sequence_number == 2]
    assert (newest.write_cols, newest.row_count, newest.file_size) == (("b",), 4, 4 + 3 + 12 + 4 + 5)
    rolled = again(table, {"blob.target-file-size": "1 b"})
    for column, value, fails in (("b", b"late", True), ("a", [b"late"], False)):
        messages = changed(rolled, [column], {1: [value], 3: [value]}, base)
        unchanged: dict[str, Any] = {"base": base, "validations": [columns_unchanged(messages)]}
        if fails:
            with pytest.raises(CommitConflictError, match="changed the same"):
                commits.append(again(table), messages, **unchanged)
        else:
            commits.append(again(table), messages, **unchanged)
    assert [row[1] for _, row in sorted(read(table).items())] == [b"new", None, b"", b"q" * 100]


def test_a_column_of_blobs_that_came_later_is_null_in_older_rows(tmp_path: Path) -> None:
    table = blob_table(tmp_path)
    insert(table, *ROWS)
    schema = apply_changes(table.schema, [AddColumn(("n",), BlobType())], has_data=True, case_sensitive=True)
    assert table.schemas.try_add(schema)
    table = replace(again(table), schema=schema)
    insert(table, (5, None, None, None, None, b"five"))
    compact(table)
    assert [row[-1] for _, row in sorted(read(table).items())] == [None] * 4 + [b"five"]
    update(table, ["n"], {1: [b"two"]})
    compact(again(table, {"blob-compaction.enabled": "true"}))
    assert [row[-1] for _, row in sorted(read(table).items())] == [None, b"two", None, None, b"five"]


def test_descriptors_tell_where_blobs_lie_and_are_copied_when_written(tmp_path: Path) -> None:
    table = blob_table(tmp_path)
    insert(table, *ROWS)
    described = again(table, {"blob-as-descriptor": "true"})
    found = {row[0]: row for row in rows(described)}
    place = decode_descriptor(found[4][1])
    assert Path(place.uri).read_bytes()[place.offset :][: place.length] == ROWS[3][1]
    nested = decode_descriptor(found[1][3][0])
    assert Path(nested.uri).read_bytes()[nested.offset :][: nested.length] == b"a"
    insert(described, *found.values())
    assert sorted(rows(table), key=repr) == sorted(ROWS * 2, key=repr)


@pytest.mark.parametrize(("option", "there"), [("missing-file", False), ("fetch-failure", True)])
def test_what_a_descriptor_names_and_cannot_be_had_is_an_error_or_null(
    tmp_path: Path, option: str, there: bool
) -> None:
    table = blob_table(tmp_path, {"blob-as-descriptor": "true"}, access=ExternalAccess(blob_roots=(str(tmp_path),)))
    if there:
        (tmp_path / "x").mkdir()
    lost = BlobDescriptor(str(tmp_path / "x")).encode()
    row = (1, lost, "t", [lost, b"y"], None)
    with pytest.raises(PaimonError if there else MissingFileError):
        insert(table, row)
    assert not list((tmp_path / "t").rglob("*.blob")) and not list((tmp_path / "t").rglob("*.parquet"))
    insert(again(table, {f"blob-write-null-on-{option}": "true"}), row)
    assert rows(again(table, AS_BYTES)) == [(1, None, "t", [None, b"y"], None)]
    (tmp_path / "short").write_bytes(b"123")
    with pytest.raises(PaimonError, match="ends 2 bytes before"):
        insert(table, (1, BlobDescriptor(str(tmp_path / "short"), 1, 4).encode(), None, None, None))


@pytest.fixture
def server() -> Iterator[str]:
    class Digits(Handler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/x" else 404)
            self.end_headers()
            self.wfile.write(b"0123456789")

    with listening(Digits) as address:
        yield address


def test_blobs_are_copied_from_the_web(tmp_path: Path, server: str) -> None:
    table = blob_table(tmp_path, {"blob-as-descriptor": "true"}, access=ExternalAccess(blob_roots=(server,)))
    insert(
        table, (1, BlobDescriptor(f"{server}/x", 2, 3).encode(), None, [BlobDescriptor(f"{server}/x").encode()], None)
    )
    assert rows(again(table, AS_BYTES)) == [(1, b"234", None, [b"0123456789"], None)]
    with pytest.raises(MissingFileError):
        insert(table, (1, BlobDescriptor(f"{server}/none?token=secret").encode(), None, None, None))


REFERRING = (*COLUMNS[:2], DataField(2, "d", BlobType()), DataField(3, "v", BlobType()))


def test_references_are_kept_and_followed_when_read(tmp_path: Path) -> None:
    names = {"blob-descriptor-field": "d", "blob-view-field": "v"}
    access = ExternalAccess(blob_roots=(str(tmp_path),))
    table = replace(make_table(tmp_path / "db.db" / "t", {**OPTIONS, **names}, columns=REFERRING), access=access)
    (tmp_path / "x").write_bytes(b"0123456789")
    kept = BlobDescriptor(str(tmp_path / "x"), 1, 4).encode()
    insert(table, (1, b"one", kept, None), (2, b"two", None, None))
    views = [BlobView("db.t", 1, 1), BlobView("db.t", 2, 0), BlobView("db.t", 2, 1), BlobView("db.t", 3, 2)]
    insert(table, *((i, None, None, view.encode()) for i, view in enumerate(views)))
    read_back = {row[0]: row[1:] for row in rows(table) if row[1] is None}
    assert [read_back[i][2] for i in range(4)] == [b"two", b"1234", None, b"two"]
    raw = rows(again(table, {"blob-as-descriptor": "true", "blob-view.resolve.enabled": "false"}), columns=["d", "v"])
    assert raw[0] == (kept, None) and decode_view(raw[2][1]) == views[0]
    described = rows(again(table, {"blob-as-descriptor": "true"}), columns=["v"])
    assert decode_descriptor(described[3][0]) == BlobDescriptor(str(tmp_path / "x"), 1, 4)
    update(table, ["id"], {0: [10]})
    compact(table)
    assert [row[2] for row in rows(table) if row[0] == 10] == [b"1234"]
    for bad in ((1, None, b"plain", None), (1, None, None, kept)):
        with pytest.raises(InvalidInputError, match="got other bytes"):
            insert(table, bad)
    for view, reason in (
        (BlobView("db.t", 1, 99), "no row with the id 99"),
        (BlobView("db.u", 1, 0), "does not exist"),
    ):
        insert(table, (9, None, None, view.encode()))
        with pytest.raises(PaimonError, match=reason):
            rows(table, columns=["v"])
        overwrite(table, (1, None, None, None))


def test_blobs_beside_a_primary_key_are_not_written_yet(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"blob-field": "b"}, columns=COLUMNS[:2], keys=["id"])
    with pytest.raises(UnsupportedError, match="can be read, but not written"):
        written(table, (1, b"x"))
