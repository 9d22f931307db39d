"""Bytes that look like descriptors of blobs are bytes, unless a write or a table asks for descriptors."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paimon_sql.errors import InvalidInputError, MissingFileError, NotAllowedError, PaimonError
from paimon_sql.format.rows.blob_reference import BlobDescriptor, BlobView, decode_descriptor
from paimon_sql.format.schema.types import BlobType, DataField
from paimon_sql.storage.file_io.external.locations import ExternalAccess
from paimon_sql.storage.table.table import Table
from tests.storage.core_tables import again, insert, make_table, rows
from tests.storage.test_blobs import COLUMNS, OPTIONS, blob_table
from tests.storage.test_data_evolution import compact, materialize, read, update

AS_DESCRIPTORS = {"blob-as-descriptor": "true"}
BYTES = {"blob-as-descriptor": "false"}


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file that is nobody's business."""
    file = tmp_path / "secret.txt"
    file.write_text("the secret of the machine")
    return file


@pytest.fixture
def web() -> Iterator[tuple[str, list[bytes]]]:
    """A server's address, and what it was asked."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        asked.append(connection.recv(4096))
                        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nanswer")

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", asked


def descriptor(uri: object, offset: int = 0, length: int = -1) -> bytes:
    return BlobDescriptor(str(uri), offset, length).encode()


def test_bytes_that_look_like_descriptors_are_kept_as_they_are(
    tmp_path: Path, secret: Path, web: tuple[str, list[bytes]]
) -> None:
    table = blob_table(tmp_path, access=ExternalAccess(blob_roots=(str(tmp_path), web[0])))
    given: list[tuple[Any, ...]] = [
        (1, descriptor(secret), "x", [descriptor(secret), None], [("k", descriptor(web[0]))]),
        (2, descriptor(web[0]), "y", [], None),
        (3, BlobView("db.t", 1, 0).encode(), "z", None, []),
        (4, descriptor(secret)[:12], None, None, None),
    ]
    insert(table, *given)
    assert sorted(rows(table)) == given
    assert web[1] == []


def test_such_bytes_stay_through_changes_and_compactions(tmp_path: Path, secret: Path) -> None:
    table = blob_table(tmp_path, access=ExternalAccess(blob_roots=(str(tmp_path),)))
    looks, nested = descriptor(secret), [descriptor(secret), None, b"plain"]
    insert(table, (1, looks, "x", nested, None), (2, b"plain", "y", None, None))
    insert(table, (3, looks, "z", nested, None))
    update(table, ["b"], {1: [descriptor("/etc/passwd")]})
    expected = [(1, looks, "x", nested, None), (2, descriptor("/etc/passwd"), "y", None, None)]
    expected.append((3, looks, "z", nested, None))
    steps: tuple[Callable[[], object], ...] = (
        lambda: compact(table),
        lambda: compact(again(table, {"blob-compaction.enabled": "true", "blob.target-file-size": "1 mb"})),
        lambda: materialize(table),
    )
    for step in steps:
        step()
        assert sorted(read(table).values()) == expected


def test_blobs_that_a_table_copies_itself_are_never_null_and_need_no_permission(tmp_path: Path) -> None:
    lenient = {"blob-write-null-on-missing-file": "true", "blob-write-null-on-fetch-failure": "true"}
    table = blob_table(tmp_path, {**lenient, "blob.target-file-size": "1 b"})
    insert(table, (1, b"one", "x", None, None), (2, b"two", "y", None, None))
    assert table.access == ExternalAccess()
    whole = again(table, {"blob-compaction.enabled": "true", "blob.target-file-size": "1 mb"})
    blobs = sorted((tmp_path / "t").rglob("*.blob"))
    kept = blobs[0].read_bytes()
    blobs[0].unlink()
    with pytest.raises(PaimonError):
        compact(whole)
    blobs[0].write_bytes(kept)
    compact(whole)
    assert [row[1] for row in sorted(rows(table))] == [b"one", b"two"]


def test_a_write_that_asks_copies_from_allowed_places_alone(
    tmp_path: Path, secret: Path, web: tuple[str, list[bytes]]
) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.jpg").write_bytes(b"0123456789")
    (tmp_path / "photos" / "link").symlink_to(secret)
    table = blob_table(tmp_path, AS_DESCRIPTORS, access=ExternalAccess(blob_roots=(str(tmp_path / "photos"),)))
    refused = [
        secret,
        f"file://{secret}",
        f"FILE:{secret}",
        tmp_path / "photos" / ".." / "secret.txt",
        tmp_path / "photos" / "link",
        f"{tmp_path}/photos2/a.jpg",
        "/etc/passwd",
        os.path.relpath(secret),
        web[0],
        web[0].replace("http:", "HTTP:"),
        web[0].replace("//", "/"),
        "s3://bucket/a",
    ]
    for uri in refused:
        with pytest.raises((NotAllowedError, InvalidInputError)):
            insert(table, (1, descriptor(uri), None, None, None))
        with pytest.raises((NotAllowedError, InvalidInputError)):
            insert(again(table, {"blob-write-null-on-fetch-failure": "true"}), (1, None, None, [descriptor(uri)], None))
    assert web[1] == [] and table.snapshots.latest_id() is None
    insert(table, (1, descriptor(tmp_path / "photos" / "a.jpg", 2, 3), None, None, None))
    assert rows(again(table, BYTES)) == [(1, b"234", None, None, None)]


def test_without_a_list_a_write_copies_from_the_warehouse_and_the_table(tmp_path: Path, secret: Path) -> None:
    (tmp_path / "wh" / "elsewhere").mkdir(parents=True)
    (tmp_path / "wh" / "elsewhere" / "x").write_bytes(b"0123")
    table = blob_table(tmp_path, AS_DESCRIPTORS)
    insert(again(table, BYTES), (1, b"own", "x", None, None))
    (own,) = {row[1] for row in rows(table)}
    insert(table, (2, own, "y", None, None))
    assert sorted(rows(again(table, BYTES))) == [(1, b"own", "x", None, None), (2, b"own", "y", None, None)]
    foreign = (3, descriptor(tmp_path / "wh" / "elsewhere" / "x"), "z", None, None)
    with pytest.raises(NotAllowedError, match=r"blob\.allowed-roots"):
        insert(table, foreign)
    insert(replace(table, access=ExternalAccess(str(tmp_path / "wh"))), foreign)
    assert len(rows(table)) == 3


def test_options_of_a_table_widen_nothing(tmp_path: Path, secret: Path) -> None:
    mine = {"blob.allowed-roots": str(tmp_path), "data-file.external-paths": f"file://{tmp_path}"}
    table = blob_table(tmp_path, {**AS_DESCRIPTORS, **mine})
    with pytest.raises(NotAllowedError):
        insert(table, (1, descriptor(secret), None, None, None))


def test_storage_settings_of_a_table_need_listed_endpoints_and_roots(tmp_path: Path) -> None:
    settings = {"blob-descriptor.s3.endpoint": "http://169.254.169.254", "blob-descriptor.s3.access-key": "k"}
    table = blob_table(tmp_path, {**AS_DESCRIPTORS, **settings})
    with pytest.raises(NotAllowedError, match=r"'blob-descriptor\.s3\.endpoint' of a table names http://169"):
        insert(table, (1, descriptor("s3://bucket/x"), None, None, None))
    endpoints = ExternalAccess(warehouse="s3://bucket", urls=("http://169.254.169.254",))
    with pytest.raises(NotAllowedError, match=r"names s3://bucket/x"):
        insert(replace(table, access=endpoints), (1, descriptor("s3://bucket/x"), None, None, None))


REFERRING = (*COLUMNS[:2], DataField(2, "d", BlobType()), DataField(3, "v", BlobType()))


def referring(path: Path, access: ExternalAccess, name: str = "t", **options: str) -> Table:
    names = {"blob-descriptor-field": "d", "blob-view-field": "v"}
    made = make_table(path / "db.db" / name, {**OPTIONS, **names, **options}, columns=REFERRING)
    return replace(made, access=access)


def test_stored_descriptors_are_followed_to_allowed_places_alone(
    tmp_path: Path, secret: Path, web: tuple[str, list[bytes]]
) -> None:
    table = referring(tmp_path, ExternalAccess())
    for uri in (secret, web[0], "/dev/zero"):
        insert(table, (1, b"x", descriptor(uri), None))
    with pytest.raises(NotAllowedError, match=r"blob\.allowed-roots"):
        rows(table, columns=["d"])
    assert web[1] == []
    assert [row[0] for row in rows(table, columns=["id"])] == [1, 1, 1]
    kept = rows(again(table, {"blob-descriptor-field.resolve.enabled": "false"}), columns=["b", "d"])
    assert [(b, decode_descriptor(d).uri) for b, d in kept] == [(b"x", str(u)) for u in (secret, web[0], "/dev/zero")]
    allowed = replace(table, access=ExternalAccess(blob_roots=(str(tmp_path), web[0])))
    with pytest.raises(NotAllowedError, match="/dev/zero"):
        rows(allowed, columns=["d"])
    with pytest.raises(PaimonError, match="it is not a file"):
        rows(replace(table, access=ExternalAccess(blob_roots=("/", web[0]))), columns=["d"])


def test_references_to_other_tables_reach_their_blobs_and_not_what_their_descriptors_name(
    tmp_path: Path, secret: Path
) -> None:
    source, viewer = referring(tmp_path, ExternalAccess(), "s"), referring(tmp_path, ExternalAccess(), "u")
    insert(source, (1, b"one", descriptor(secret), None))
    insert(viewer, (1, None, None, BlobView("db.s", 1, 0).encode()))
    assert rows(viewer, columns=["v"]) == [(b"one",)]
    insert(viewer, (2, None, None, BlobView("db.s", 2, 0).encode()))
    with pytest.raises(NotAllowedError):
        rows(viewer, columns=["v"])


def test_blobs_of_other_tables_are_reached_where_these_keep_them_elsewhere(tmp_path: Path) -> None:
    source = referring(tmp_path, ExternalAccess(), "s")
    insert(source, (1, b"one", None, None))
    bucket = Path(source.path, "bucket-0")
    bucket.rename(tmp_path / "far")
    bucket.symlink_to(tmp_path / "far")
    viewer = referring(tmp_path, ExternalAccess(), "u")
    insert(viewer, (1, None, None, BlobView("db.s", 1, 0).encode()))
    assert rows(viewer, columns=["v"]) == [(b"one",)]


@pytest.mark.parametrize(("offset", "length"), [(-1, 5), (0, -2), (-(2**63), -1)])
def test_descriptors_of_bytes_that_no_file_has_are_refused(tmp_path: Path, offset: int, length: int) -> None:
    (tmp_path / "x").write_bytes(b"0123")
    table = blob_table(tmp_path, AS_DESCRIPTORS, access=ExternalAccess(blob_roots=(str(tmp_path),)))
    with pytest.raises(InvalidInputError, match="invalid byte range"):
        insert(table, (1, descriptor(tmp_path / "x", offset, length), None, None, None))


def test_blobs_of_the_web_have_bounds(tmp_path: Path, web: tuple[str, list[bytes]]) -> None:
    access = ExternalAccess(blob_roots=(web[0],), blob_bytes=5)
    table = blob_table(tmp_path, AS_DESCRIPTORS, access=access)
    with pytest.raises(PaimonError, match="more than the 5 bytes"):
        insert(table, (1, descriptor(f"{web[0]}/a?token=geheim"), None, None, None))
    insert(table, (1, descriptor(web[0], 1, 3), None, None, None))
    assert rows(again(table, BYTES)) == [(1, b"nsw", None, None, None)]
    with pytest.raises(MissingFileError):
        insert(table, (1, descriptor(tmp_path / "t" / "none"), None, None, None))
