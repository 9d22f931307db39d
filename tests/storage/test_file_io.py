"""Files on every kind of file system: local ones, and Arrow's over fsspec and in memory."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pyarrow.fs as pafs
import pytest

from paimon_sql.errors import CommitConflictError, MissingFileError, PaimonError, UnsupportedError
from paimon_sql.storage.file_io import FileIO, LocalFileIO, ResolvingFileIO, file_io_of, local
from paimon_sql.storage.file_io.arrow import ArrowFileIO, backend_of, register_backend
from paimon_sql.storage.file_io.backends import Backend, Options
from paimon_sql.storage.file_io.base import translate_errors
from paimon_sql.storage.file_io.paths import join, name_of, parent_of, scheme_of, temporary_sibling, without_scheme
from paimon_sql.storage.file_io.s3 import S3Backend, s3_options


class _Folder(Backend):
    """A file system of Arrow's that is no object store: a local folder, without conditional creation."""

    object_store = False

    def open(self, authority: str, options: Options) -> pafs.FileSystem:
        return pafs.SubTreeFileSystem(options["root"], pafs.LocalFileSystem())

    def inner(self, authority: str, rest: str) -> str:
        return rest.lstrip("/")


class _Bucket(_Folder):
    """The same, taken for an object store."""

    object_store = True


register_backend("folder", _Folder())
register_backend("bucket", _Bucket())


@pytest.fixture(params=["plain", "file:", "file://", "folder", "resolving"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[FileIO, str]:
    """A file system and the path of an empty directory on it."""
    if request.param == "folder":
        return ArrowFileIO("folder", "", {"root": str(tmp_path)}), "folder:///base"
    if request.param == "resolving":
        return ResolvingFileIO(), str(tmp_path / "base")
    prefix = "" if request.param == "plain" else request.param
    return LocalFileIO(), f"{prefix}{tmp_path}/base"


def test_a_file_is_written_read_listed_and_deleted(place: tuple[FileIO, str]) -> None:
    io, base = place
    path = join(base, "a", "b.txt")
    io.write_bytes(path, b"hello")
    io.write_bytes(path, b"hello again")
    assert (io.read_bytes(path), io.size(path), io.exists(path)) == (b"hello again", 11, True)
    assert (io.read_range(path, 6, 5), io.read_range(path, 9, 99)) == (b"again", b"in")
    (entry,) = io.list(join(base, "a"))
    assert (entry.path, entry.name, entry.size, entry.is_dir) == (path, "b.txt", 11, False)
    assert entry.mtime_millis > 1_600_000_000_000
    assert io.status(path) == entry
    assert io.delete(path)
    assert not io.delete(path)
    assert io.list(join(base, "a")) == []


def test_a_directory_that_does_not_exist_lists_as_empty(place: tuple[FileIO, str]) -> None:
    io, base = place
    assert io.list(join(base, "none")) == []
    assert list(io.walk(join(base, "none"))) == []
    assert io.status(join(base, "none")) is None
    assert not io.exists(join(base, "none"))
    assert not io.delete_dir(join(base, "none"), recursive=True)


def test_a_listing_is_whole_or_fails(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "gone").symlink_to(tmp_path / "none")
    assert [s.name for s in LocalFileIO().list(str(tmp_path))] == ["a", "b", "c"]
    (tmp_path / "wrong").symlink_to(tmp_path / "a" / "below")
    with pytest.raises(PaimonError, match="Not a directory"):
        LocalFileIO().list(str(tmp_path))


def test_walking_finds_files_at_any_depth(place: tuple[FileIO, str]) -> None:
    io, base = place
    paths = [join(base, "x"), join(base, "d", "y"), join(base, "d", "e", "z")]
    for path in paths:
        io.write_bytes(path, b"1")
    assert sorted(entry.path for entry in io.walk(base)) == sorted(paths)
    assert [(e.name, e.is_dir) for e in io.list(base)] == [("d", True), ("x", False)]


def test_streams_write_into_new_directories(place: tuple[FileIO, str]) -> None:
    io, base = place
    with io.open_output(join(base, "p", "q")) as stream:
        stream.write(b"12")
        stream.write(b"3")
        assert stream.tell() == 3
    with io.open_input(join(base, "p", "q")) as source:
        assert (source.size(), source.read_at(1, 2)) == (3, b"3")


def test_a_file_is_created_only_if_its_name_is_free(place: tuple[FileIO, str]) -> None:
    io, base = place
    path = join(base, "s", "snapshot-1")
    locked = not io.can_create_exclusively(path)
    assert io.try_create_exclusive(path, b"first", locked=locked)
    assert not io.try_create_exclusive(path, b"second", locked=locked)
    assert io.read_bytes(path) == b"first"
    assert [entry.name for entry in io.list(join(base, "s"))] == ["snapshot-1"]


def test_a_rename_takes_only_a_free_name(place: tuple[FileIO, str]) -> None:
    io, base = place
    io.write_bytes(join(base, "a"), b"a")
    io.write_bytes(join(base, "b"), b"b")
    assert not io.rename(join(base, "a"), join(base, "b"))
    assert io.rename(join(base, "a"), join(base, "new", "a"))
    assert io.rename(join(base, "new"), join(base, "moved"))
    assert [entry.path for entry in io.walk(join(base, "moved"))] == [join(base, "moved", "a")]
    with pytest.raises(MissingFileError):
        io.rename(join(base, "gone"), join(base, "c"))


def test_a_directory_is_deleted_only_as_far_as_asked(place: tuple[FileIO, str]) -> None:
    io, base = place
    io.write_bytes(join(base, "d", "x"), b"1")
    assert not io.delete_dir(join(base, "d"))
    assert io.delete_dir(join(base, "d"), recursive=True)
    assert not io.exists(join(base, "d"))
    io.mkdirs(join(base, "e", "f"))
    io.mkdirs(join(base, "e", "f"))
    assert io.delete_dir(join(base, "e", "f"))


def test_many_files_are_deleted_at_once(place: tuple[FileIO, str]) -> None:
    io, base = place
    paths = [join(base, str(i)) for i in range(20)]
    for path in paths[:15]:
        io.write_bytes(path, b"")
    assert io.delete_many(paths, threads=4) == 15
    assert io.delete_many([], threads=4) == 0


def test_a_file_io_travels_to_other_processes(place: tuple[FileIO, str]) -> None:
    io, base = place
    io.write_bytes(join(base, "x"), b"1")
    assert pickle.loads(pickle.dumps(io)).read_bytes(join(base, "x")) == b"1"


def test_a_missing_file_is_named(place: tuple[FileIO, str]) -> None:
    io, base = place
    for act in (io.read_bytes, io.open_input, io.size):
        with pytest.raises(MissingFileError, match="gone: it does not exist") as error:
            act(join(base, "gone"))
        assert error.value.path == join(base, "gone")


def _create(path: str, number: int) -> bool:
    return LocalFileIO().try_create_exclusive(path, str(number).encode() * 100_000)


def test_of_many_processes_one_creates_the_file_whole(tmp_path: Path) -> None:
    path = str(tmp_path / "t" / "snapshot-1")
    with ProcessPoolExecutor(3, mp_context=get_context("spawn")) as pool:
        won = list(pool.map(_create, [path] * 12, range(12)))
    assert sum(won) == 1
    assert Path(path).read_bytes() == str(won.index(True)).encode() * 100_000
    assert os.listdir(tmp_path / "t") == ["snapshot-1"]  # noqa: PTH208


def test_a_reader_never_sees_half_a_file(tmp_path: Path) -> None:
    io, path = LocalFileIO(), str(tmp_path / "f")
    io.write_bytes(path, b"0" * 100_000)

    def write(digit: int) -> None:
        io.write_bytes(path, str(digit).encode() * 100_000)

    with ThreadPoolExecutor(2) as pool:
        done = pool.map(write, list(range(10)) * 3)
        for _ in range(200):
            data = io.read_bytes(path)
            assert len(data) == 100_000
            assert len(set(data)) == 1
        list(done)


def test_temporary_files_have_hidden_names(tmp_path: Path) -> None:
    name = name_of(temporary_sibling(str(tmp_path / "snapshot-1")))
    assert name.startswith(".snapshot-1.")
    assert name.endswith(".tmp")


def test_a_file_is_deleted_only_if_it_holds_what_is_meant(place: tuple[FileIO, str]) -> None:
    io, base = place
    path = f"{base}/d/snapshot-1"
    assert not io.delete_if(path, lambda data: True)
    io.write_bytes(path, b"new")
    assert not io.delete_if(path, b"old".__eq__)
    assert io.read_bytes(path) == b"new"
    assert io.delete_if(path, b"new".__eq__, durable=True)
    assert not io.exists(path)


def test_nobody_deletes_a_file_while_another_is_about_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_LONGEST_HELD", 0.05)
    io, path = LocalFileIO(), f"{tmp_path}/snapshot-1"
    io.write_bytes(path, b"1")

    def stands_still(data: bytes) -> bool:
        with pytest.raises(CommitConflictError, match="another process has started to delete it"):
            LocalFileIO().delete_if(path, lambda data: True)
        return True

    assert io.delete_if(path, stands_still)
    assert not io.exists(path)


def test_a_file_that_came_in_the_place_of_another_is_not_deleted_for_it(tmp_path: Path) -> None:
    io, path = LocalFileIO(), f"{tmp_path}/snapshot-1"
    io.write_bytes(path, b"old")

    def comes_between(descriptor: int) -> bool:
        io.delete(path)
        io.write_bytes(path, b"old")
        return True

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "_locked", comes_between)
        assert not io.delete_if(path, b"old".__eq__)
    assert io.read_bytes(path) == b"old"


def test_a_file_system_without_links_refuses_without_a_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    io, path = LocalFileIO(), str(tmp_path / "x")
    with pytest.raises(UnsupportedError, match=r"no hard links.*lock\.enabled"):
        io.try_create_exclusive(path, b"1")
    assert list(tmp_path.iterdir()) == []
    assert io.try_create_exclusive(path, b"1", locked=True)
    assert not io.try_create_exclusive(path, b"2", locked=True)


def test_a_store_without_conditional_put_refuses_without_a_lock(tmp_path: Path) -> None:
    io = ArrowFileIO("bucket", "", {"root": str(tmp_path)})
    assert not io.can_create_exclusively("bucket:///x")
    with pytest.raises(UnsupportedError, match="two concurrent commits could overwrite each other"):
        io.try_create_exclusive("bucket:///x", b"1")
    assert io.try_create_exclusive("bucket:///x", b"1", locked=True)
    assert not io.try_create_exclusive("bucket:///x", b"2", locked=True)
    assert io.is_object_store("bucket:///x")


def test_a_refusal_names_path_and_remedy() -> None:
    with (
        pytest.raises(PaimonError, match=r"Cannot write /x: permission denied\. Grant this user"),
        translate_errors("write", "/x"),
    ):
        raise PermissionError(13, "Permission denied")
    with pytest.raises(PaimonError, match="permission denied"), translate_errors("read", "s3://b/x"):
        raise OSError("When reading information for key 'x': AWS Error ACCESS_DENIED during HeadObject")
    with pytest.raises(PaimonError, match="no space left"), translate_errors("write", "/x"):
        raise OSError(28, "No space left on device")
    with pytest.raises(PaimonError, match="Is a directory"), translate_errors("write", "/x"):
        raise IsADirectoryError(21, "Is a directory")


def test_an_unknown_scheme_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(UnsupportedError, match=r"scheme 'gopher'.*s3"):
        file_io_of("gopher://host/x").read_bytes("gopher://host/x")


def test_schemes_choose_the_file_system() -> None:
    assert isinstance(file_io_of("/x"), LocalFileIO)
    assert isinstance(file_io_of("file:/x"), LocalFileIO)
    io = file_io_of("S3://bucket/x", {"s3.endpoint": "http://localhost:9"})
    assert isinstance(io, ArrowFileIO)
    assert (io.scheme, io.authority) == ("s3", "bucket")
    many = ResolvingFileIO()
    assert many.of("/a") is many.of("/b")
    with pytest.raises(UnsupportedError, match="different file systems"):
        many.rename("/a", "s3://bucket/a")


def test_s3_options_mean_the_same_under_every_prefix() -> None:
    given = {"s3.access-key": "a", "fs.s3a.secret.key": "b", "s3a.endpoint": "c", "other": "d"}
    assert s3_options(given, "lake") == {"access.key": "a", "secret.key": "b", "endpoint": "c"}
    options = {"s3.endpoint": "http://localhost:9000", "s3.access-key": "a", "s3.secret-key": "b", "s3.region": "eu"}
    assert isinstance(S3Backend().open("bucket", options), pafs.S3FileSystem)


def test_a_bucket_may_have_s3_options_of_its_own() -> None:
    given = {
        "s3.access-key": "a",
        "s3.region": "eu",
        "s3.bucket.my-lake.access-key": "b",
        "fs.s3a.bucket.my.endpoint": "c",
    }
    assert s3_options(given, "my-lake") == {"access.key": "b", "region": "eu"}
    assert s3_options(given, "my") == {"access.key": "a", "region": "eu", "endpoint": "c"}
    assert s3_options(given, "other") == {"access.key": "a", "region": "eu"}


@pytest.mark.parametrize(
    ("scheme", "authority", "rest", "inner"),
    [
        ("s3", "bucket", "/a/b", "bucket/a/b"),
        ("hdfs", "host:8020", "/a", "/a"),
        ("abfss", "box@account.dfs.core.windows.net", "/a", "box/a"),
        ("gs", "bucket", "", "bucket"),
    ],
)
def test_paths_inside_a_file_system(scheme: str, authority: str, rest: str, inner: str) -> None:
    assert backend_of(scheme).inner(authority, rest) == inner


def test_paths_are_taken_apart_and_joined() -> None:
    assert without_scheme("s3://b/x/y") == ("b", "/x/y")
    assert without_scheme("s3://b") == ("b", "")
    assert without_scheme("file:///x") == ("", "/x")
    assert without_scheme("/x:y/z") == ("", "/x:y/z")
    assert (scheme_of("OSS://b/x"), scheme_of("/x"), scheme_of("hdfs:/x")) == ("oss", "file", "hdfs")
    assert (join("s3://b/", "x", "y"), parent_of("s3://b/x/y"), name_of("/x/y")) == ("s3://b/x/y", "s3://b/x", "y")


@pytest.fixture
def memory() -> Iterator[str]:
    """The scheme of fsspec's file system in memory, which knows an exclusive creation."""
    fsspec = pytest.importorskip("fsspec")
    yield "memory"
    fsspec.filesystem("memory").store.clear()


def test_fsspec_file_systems_are_used_through_arrow(memory: str) -> None:
    io = file_io_of("memory://base/x")
    io.write_bytes("memory://base/d/x", b"1")
    assert io.read_bytes("memory://base/d/x") == b"1"
    assert [entry.path for entry in io.walk("memory://base")] == ["memory://base/d/x"]
    assert io.can_create_exclusively("memory://base/y")
    assert io.try_create_exclusive("memory://base/y", b"1")
    assert not io.try_create_exclusive("memory://base/y", b"2")
    assert io.read_bytes("memory://base/y") == b"1"
