"""Tables on a store that speaks S3: commits by conditional puts, rivals, lost answers, and what a store refuses."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ReadTimeoutError

from paimon_sql.errors import InvalidInputError, MissingFileError, PaimonError, UnsupportedError
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.storage.file_io import file_io_of
from paimon_sql.storage.file_io.arrow import ArrowFileIO
from paimon_sql.storage.file_io.s3 import S3Settings, _S3Objects
from paimon_sql.storage.metadata.schemas import SchemaManager
from paimon_sql.storage.table.table import Table
from tests.object_stores import BUCKET, KEEPER, VAULT, client_of
from tests.storage import core_tables as core

_RIVAL = """
import json, sys
from tests.storage.test_s3 import opened
from tests.storage import core_tables as core
options, path, first = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for n in range(first, first + 6):
    core.insert(core.again(opened(options, path)), (n, "v", None))
"""


def opened(options: Mapping[str, str], path: str) -> Table:
    """A table on the store."""
    file_io = file_io_of(path, options)
    schema = SchemaManager(file_io, path).latest() or new_schema(core.COLUMNS, options={"bucket": "-1"})
    return Table("db.t", path, file_io, schema)


@pytest.fixture
def store(s3: dict[str, str]) -> Iterator[tuple[ArrowFileIO, str]]:
    """The store's files, and an empty folder in it."""
    folder = f"s3://{BUCKET}/{time.time_ns()}"
    file_io = file_io_of(folder, s3)
    assert isinstance(file_io, ArrowFileIO)
    yield file_io, folder
    file_io.delete_dir(folder, recursive=True)


def test_a_name_is_taken_once_and_many_objects_go_at_once(store: tuple[ArrowFileIO, str]) -> None:
    io, folder = store
    assert io.can_create_exclusively(folder)
    assert io.try_create_exclusive(f"{folder}/snapshot/snapshot-1", b"first")
    assert not io.try_create_exclusive(f"{folder}/snapshot/snapshot-1", b"second")
    assert io.read_bytes(f"{folder}/snapshot/snapshot-1") == b"first"
    for i in range(12):
        io.write_bytes(f"{folder}/d/ä {i}%", b"x" * i)
    with io.open_output(f"{folder}/d/big") as stream:
        for _ in range(12):
            stream.write(b"y" * (1 << 20))  # which is sent in parts
    assert io.size(f"{folder}/d/big") == 12 << 20
    assert io.read_range(f"{folder}/d/big", (12 << 20) - 2, 9) == b"yy"
    assert io.rename(f"{folder}/d", f"{folder}/e")
    names = [s.name for s in io.list(f"{folder}/e")]
    assert len(names) == 13
    assert io.delete_many([f"{folder}/e/{name}" for name in [*names, "none"]]) == 14
    assert [s.name for s in io.list(folder)] == ["snapshot"]  # no marks of folders are left


def test_an_object_is_deleted_only_if_it_is_the_one_that_was_meant(store: tuple[ArrowFileIO, str]) -> None:
    io, folder = store
    path = f"{folder}/snapshot/snapshot-1"
    assert not io.delete_if(path, lambda data: True)
    assert io.try_create_exclusive(path, b"first")
    assert not io.delete_if(path, b"second".__eq__)

    def comes_between(data: bytes) -> bool:
        io.write_bytes(path, b"second")
        return data == b"first"

    assert not io.delete_if(path, comes_between)
    assert io.read_bytes(path) == b"second"
    assert io.delete_if(path, b"second".__eq__)
    assert not io.exists(path)


def test_rival_processes_lose_no_commit(s3: dict[str, str], store: tuple[ArrowFileIO, str]) -> None:
    table = opened(s3, f"{store[1]}/t")
    assert table.schemas.try_add(table.schema)
    command = [sys.executable, "-c", _RIVAL, json.dumps(s3), table.path]
    rivals = [subprocess.Popen([*command, str(first)]) for first in (0, 100)]
    assert [rival.wait(120) for rival in rivals] == [0, 0]
    assert sorted(r[0] for r in core.rows(core.again(table))) == [*range(6), *range(100, 106)]
    assert core.again(table).snapshots.latest_id() == 12


def test_a_put_whose_answer_was_lost_is_known_to_be_ours(s3: dict[str, str]) -> None:
    objects, other, path = _S3Objects(S3Settings(s3, BUCKET)), client_of(s3), f"{BUCKET}/{time.time_ns()}"

    def lost(content: bytes) -> Any:
        left = [content]

        def once(request: Any, **_: object) -> AWSResponse | None:
            if not left or "snapshot" not in request.url:
                return None
            other.put_object(Bucket=BUCKET, Key=f"{path.partition('/')[2]}/snapshot", Body=left.pop())
            return AWSResponse(request.url, 503, {}, SimpleNamespace(stream=lambda: iter(())))

        return once

    assert objects.create(f"{path}/before", b"")  # the store has been tried
    client: Any = objects._client
    events = client.meta.events
    for written, ours in ((b"mine", True), (b"theirs", False)):
        handler = lost(written)
        events.register("before-send.s3.PutObject", handler)
        assert objects.create(f"{path}/snapshot", b"mine") is ours
        events.unregister("before-send.s3.PutObject", handler)
        objects.remove([f"{path}/snapshot"])
    other.close()


def test_a_put_that_took_effect_before_the_connection_timed_out_is_found(
    s3: dict[str, str], store: tuple[ArrowFileIO, str]
) -> None:
    table, other = opened({**s3, "s3.attempts.maximum": "1"}, f"{store[1]}/t"), client_of(s3)
    assert table.schemas.try_add(table.schema)
    lost: list[str] = []

    def time_out(request: Any, **_: object) -> None:
        if not lost and "snapshot-1" in request.url:
            key = urlsplit(request.url).path.partition(f"/{BUCKET}/")[2]
            other.put_object(Bucket=BUCKET, Key=key, Body=request.body)
            lost.append(key)
            raise ReadTimeoutError(endpoint_url=request.url, error="too slow")

    assert isinstance(table.file_io, ArrowFileIO)
    objects: Any = table.file_io._objects
    objects._client.meta.events.register("before-send.s3.PutObject", time_out)
    core.insert(table, (1, "v", None))
    assert lost and core.again(table).snapshots.latest_id() == 1
    assert [r[0] for r in core.rows(core.again(table))] == [1]
    other.close()


def test_a_store_that_heeds_no_condition_needs_a_lock(
    s3: dict[str, str], store: tuple[ArrowFileIO, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def put(self: _S3Objects, bucket: str, key: str, data: bytes) -> bool:
        self._call("put_object", Bucket=bucket, Key=key, Body=data)
        return True

    monkeypatch.setattr(_S3Objects, "_put", put)
    path = f"{store[1]}/t"
    table = opened({**s3, "s3.attempts.maximum": "3"}, path)  # which has connections of its own
    with pytest.raises(UnsupportedError, match=r"does not support conditional puts.*lock\.enabled"):
        table.schemas.try_add(table.schema)
    assert table.file_io.try_create_exclusive(f"{path}/x", b"1", locked=True)
    assert not table.file_io.try_create_exclusive(f"{path}/x", b"2", locked=True)
    assert [s.name for s in store[0].walk(path)] == ["x"]


def test_what_a_store_refuses_is_said(s3: dict[str, str]) -> None:
    nowhere = "s3://no-such-bucket/t"
    io = file_io_of(nowhere, s3)
    for act in (lambda: io.write_bytes(f"{nowhere}/x", b""), lambda: io.try_create_exclusive(f"{nowhere}/x", b"")):
        with pytest.raises(PaimonError, match=r"has no such bucket\. Create the bucket") as error:
            act()
        assert s3["s3.secret-key"] not in str(error.value)
    gone = {**s3, "s3.endpoint": "http://127.0.0.1:9", "s3.attempts.maximum": "1"}
    path = f"s3://{BUCKET}/x"
    for ask in (lambda: file_io_of(path, gone).read_bytes(path), lambda: file_io_of(path, gone).delete(path)):
        with pytest.raises(PaimonError, match=r"does not answer\. Check the catalog's option 's3\.endpoint'"):
            ask()
    with pytest.raises(MissingFileError, match="x: it does not exist"):
        file_io_of(path, s3).read_bytes(path)
    with pytest.raises(PaimonError, match=r"Invalid value 'often' of option 's3\.attempts\.maximum'"):
        file_io_of(path, {**s3, "s3.attempts.maximum": "often"}).read_bytes(path)


def test_a_bucket_is_opened_by_its_own_options(s3: dict[str, str]) -> None:
    path = f"s3://{VAULT}/x"
    own = file_io_of(path, {**s3, f"s3.bucket.{VAULT}.access-key": KEEPER})
    own.write_bytes(path, b"1")
    assert not own.try_create_exclusive(path, b"2")
    other = file_io_of(path, s3)
    for act in (lambda: other.read_bytes(path), lambda: other.try_create_exclusive(f"{path}y", b"")):
        with pytest.raises(PaimonError, match=r"permission denied"):
            act()
    assert own.read_bytes(path) == b"1"


def test_a_role_is_assumed_by_the_credentials_of_the_environment(
    s3: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("ACCESS_KEY_ID", KEEPER), ("SECRET_ACCESS_KEY", "x"), ("ENDPOINT_URL_STS", s3["s3.endpoint"])):
        monkeypatch.setenv(f"AWS_{name}", value)
    role = {"s3.assumed.role.arn": "arn:aws:iam::123456789012:role/reader"}
    given = {k: v for k, v in s3.items() if "-key" not in k}
    assert _S3Objects(S3Settings(given, VAULT)).create(f"{VAULT}/role", b"")
    assumed = _S3Objects(S3Settings({**given, **role}, VAULT))
    assert assumed.remove([f"{BUCKET}/role"])
    with pytest.raises(OSError, match="Access Denied"):
        assumed.remove([f"{VAULT}/role"])
    with pytest.raises(InvalidInputError, match=r"machine, but 's3.access-key' is set\. Leave the keys out"):
        file_io_of(f"s3://{VAULT}/x", {**s3, **role}).read_bytes(f"s3://{VAULT}/x")
