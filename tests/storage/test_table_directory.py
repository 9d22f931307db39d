"""Directories of tables: dropped and moved, on disks and in object stores, by calls that may be cut off anywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pafs
import pytest

from paimon_sql.errors import InvalidInputError
from paimon_sql.storage.file_io import FileIO, LocalFileIO
from paimon_sql.storage.file_io.arrow import ArrowFileIO, register_backend
from paimon_sql.storage.file_io.backends import Backend, Options
from paimon_sql.storage.file_io.paths import parent_of
from paimon_sql.storage.metadata.directories import check_no_history, drop_directory, is_being_moved, move_directory

FILES = (
    "schema/schema-0",
    "schema/schema-1",
    "snapshot/snapshot-1",
    "snapshot/LATEST",
    "manifest/m-1",
    "manifest/l-1",
    "bucket-0/data-1.parquet",
    "tag/tag-a",
)


class _Shelf(Backend):
    """A local folder that is taken for an object store."""

    object_store = True

    def open(self, authority: str, options: Options) -> pafs.FileSystem:
        return pafs.SubTreeFileSystem(options["root"], pafs.LocalFileSystem())

    def inner(self, authority: str, rest: str) -> str:
        return rest.lstrip("/")


register_backend("shelf", _Shelf())


class ShelfIO(ArrowFileIO):
    """Its client: objects need no directories."""

    def open_output(self, path: str) -> pa.NativeFile:
        self._fs.create_dir(self._inner(parent_of(path)), recursive=True)
        return super().open_output(path)

    def copy(self, source: str, target: str) -> None:
        self._fs.create_dir(self._inner(parent_of(target)), recursive=True)
        super().copy(source, target)


class CutOff(BaseException):
    """The call is cut off here."""


class CutIO(ShelfIO):
    """Does ``left`` changes and no more."""

    left = 10**6

    def _step(self) -> None:
        type(self).left -= 1
        if type(self).left < 0:
            raise CutOff

    def copy(self, source: str, target: str) -> None:
        self._step()
        super().copy(source, target)

    def delete_dir(self, path: str, recursive: bool = False) -> bool:
        self._step()
        return super().delete_dir(path, recursive)


@pytest.fixture(params=["disk", "store"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[FileIO, str]:
    """A file system, and the directory of a database."""
    if request.param == "disk":
        return LocalFileIO(), f"{tmp_path}/db"
    return ShelfIO("shelf", "", {"root": str(tmp_path)}), "shelf:///db"


def fill(file_io: FileIO, path: str) -> None:
    for name in FILES:
        file_io.write_bytes(f"{path}/{name}", name.encode())


def held(file_io: FileIO, path: str) -> set[str]:
    return {status.path[len(path) + 1 :] for status in file_io.walk(path)}


def test_a_dropped_directory_is_gone_and_leaves_nothing(place: tuple[FileIO, str]) -> None:
    file_io, base = place
    fill(file_io, f"{base}/t")
    fill(file_io, f"{base}/u")
    drop_directory(file_io, f"{base}/t")
    assert not file_io.exists(f"{base}/t")
    assert held(file_io, base) == {f"u/{name}" for name in FILES}
    drop_directory(file_io, f"{base}/t")


def test_a_moved_directory_holds_all_files_under_its_new_name(place: tuple[FileIO, str]) -> None:
    file_io, base = place
    fill(file_io, f"{base}/t")
    assert move_directory(file_io, f"{base}/t", f"{base}/u")
    assert held(file_io, base) == {f"u/{name}" for name in FILES}
    assert all(file_io.read_bytes(f"{base}/u/{name}") == name.encode() for name in FILES)


def test_a_name_that_is_taken_is_not_moved_to(place: tuple[FileIO, str]) -> None:
    file_io, base = place
    fill(file_io, f"{base}/t")
    file_io.write_bytes(f"{base}/u/schema/schema-0", b"other")
    assert not move_directory(file_io, f"{base}/t", f"{base}/u")
    assert held(file_io, f"{base}/t") == set(FILES)
    assert file_io.read_bytes(f"{base}/u/schema/schema-0") == b"other"


def cut(act: Callable[[FileIO], object], root: Path, at: int) -> bool:
    """Whether a call was cut off before its change of that number."""
    CutIO.left = at
    try:
        act(CutIO("shelf", "", {"root": str(root)}))
    except CutOff:
        return True
    finally:
        CutIO.left = 10**6
    return False


def test_a_move_in_an_object_store_that_is_cut_off_anywhere_is_gone_on_with(tmp_path: Path) -> None:
    at, was_cut = 0, True
    while was_cut:
        root = tmp_path / str(at)
        root.mkdir()
        store = ShelfIO("shelf", "", {"root": str(root)})
        fill(store, "shelf:///db/t")
        was_cut = cut(lambda io: move_directory(io, "shelf:///db/t", "shelf:///db/u"), root, at)
        tables = [name for name in ("t", "u") if store.exists(f"shelf:///db/{name}/schema/schema-0")]
        assert len(tables) <= 1, at  # never two tables of the same files
        if was_cut and not store.exists("shelf:///db/u/schema/schema-1"):
            assert tables == ["t"] or is_being_moved(store, "shelf:///db/u") or not held(store, "shelf:///db/u")
        if was_cut:
            assert move_directory(store, "shelf:///db/t", "shelf:///db/u")
        assert held(store, "shelf:///db") == {f"u/{name}" for name in FILES}, at
        at += 1
    assert at > len(FILES)


def test_a_drop_in_an_object_store_that_is_cut_off_anywhere_leaves_no_table(tmp_path: Path) -> None:
    at, was_cut = 1, True
    while was_cut:
        root = tmp_path / str(at)
        root.mkdir()
        store = ShelfIO("shelf", "", {"root": str(root)})
        fill(store, "shelf:///db/t")
        was_cut = cut(lambda io: drop_directory(io, "shelf:///db/t"), root, at)
        assert not store.exists("shelf:///db/t/schema/schema-0")
        if was_cut:
            with pytest.raises(InvalidInputError, match="contains the history of a table without a schema"):
                check_no_history(store, "shelf:///db/t", "db.t")
            drop_directory(store, "shelf:///db/t")
        check_no_history(store, "shelf:///db/t", "db.t")
        assert held(store, "shelf:///db") == set()
        at += 1


def test_files_that_a_writer_adds_during_a_move_come_along(tmp_path: Path) -> None:
    class LateIO(ShelfIO):
        added = False

        def copy(self, source: str, target: str) -> None:
            super().copy(source, target)
            if "bucket-0" in source and not LateIO.added:
                LateIO.added = True
                self.write_bytes("shelf:///db/t/snapshot/snapshot-2", b"late")

    store = LateIO("shelf", "", {"root": str(tmp_path)})
    fill(store, "shelf:///db/t")
    assert move_directory(store, "shelf:///db/t", "shelf:///db/u")
    assert LateIO.added
    assert held(store, "shelf:///db") == {f"u/{name}" for name in (*FILES, "snapshot/snapshot-2")}
