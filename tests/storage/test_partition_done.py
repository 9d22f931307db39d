"""Partitions marked as done."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from paimon_sql.errors import InvalidOptionError, PaimonError, UnsupportedError
from paimon_sql.storage.file_io.external.locations import ExternalAccess
from paimon_sql.storage.maintenance.partitions.mark_done import done_actions, mark_done
from paimon_sql.storage.table.table import Table
from tests.storage.small_tables import insert, make_table
from tests.web import Handler, listening

ACTION = "partition.mark-done-action"
URL = "partition.mark-done-action.http.url"


def table_of(path: Path, **options: str) -> Table:
    return make_table(path, options, partition_keys=["p"])


def success(table: Table, folder: str) -> dict[str, int]:
    body: dict[str, int] = json.loads(Path(table.path, folder, "_SUCCESS").read_text())
    return body


def test_a_success_file_tells_when_the_partition_was_done_first_and_last(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t")
    mark_done(done_actions(table), ["p=a"])
    before = success(table, "p=a")
    path = Path(table.path, "p=a", "_SUCCESS")
    path.write_text(json.dumps({"creationTime": 5, "modificationTime": 6}))
    mark_done(done_actions(table), ["p=a"])
    after = success(table, "p=a")
    assert before["creationTime"] == before["modificationTime"]
    assert after["creationTime"] == 5
    assert after["modificationTime"] >= before["modificationTime"]


def test_a_batch_write_marks_the_partitions_that_it_wrote_if_asked(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", **{"partition.end-input-to-done": "true"})
    insert(table, (1, "v", "a"), (2, "v", "b/c"), (3, "v", None))
    marked = {str(p.parent.relative_to(table.path)) for p in Path(table.path).rglob("_SUCCESS")}
    assert marked == {"p=a", "p=b%2Fc", "p=__DEFAULT_PARTITION__"}
    plain = table_of(tmp_path / "u")
    insert(plain, (1, "v", "a"))
    assert not list(Path(plain.path).rglob("_SUCCESS"))


def test_a_write_stands_whose_partitions_cannot_be_marked(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = table_of(tmp_path / "t", **{"partition.end-input-to-done": "true", ACTION: "custom"})
    with caplog.at_level(logging.WARNING):
        assert insert(table, (1, "v", "a")).id == 1
    assert "marked done" in caplog.text


@pytest.mark.parametrize(
    ("actions", "error", "said"),
    [
        ("done-partition", UnsupportedError, "metastore"),
        ("success-file,mark-event", UnsupportedError, "metastore"),
        ("custom", UnsupportedError, "com.acme.Done"),
        ("success", InvalidOptionError, "success-file"),
        ("http-report", InvalidOptionError, URL),
        (" , ", InvalidOptionError, "names no action"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is(
    tmp_path: Path, actions: str, error: type[PaimonError], said: str
) -> None:
    table = table_of(tmp_path / "t", **{ACTION: actions, "partition.mark-done-action.custom.class": "com.acme.Done"})
    with pytest.raises(error) as caught:
        done_actions(table)
    assert said in f"{caught.value}"


class Server(Handler):
    answer: ClassVar[tuple[int, bytes]] = (200, b"")
    got: ClassVar[list[Any]] = []

    def do_POST(self) -> None:
        self.got.append(json.loads(self.request_body()))
        self.send_response(self.answer[0])
        self.end_headers()
        self.wfile.write(self.answer[1])


@pytest.fixture
def url() -> Iterator[str]:
    Server.got.clear()
    with listening(Server) as address:
        yield f"{address}/done"


def test_a_server_is_told_and_must_confirm(tmp_path: Path, url: str) -> None:
    options = {ACTION: "http-report", URL: url, f"{URL[:-4]}.params": "x=1"}
    table = replace(table_of(tmp_path / "t", **options), access=ExternalAccess(urls=(url,)))
    Server.answer = (200, b'{"result": "success"}')
    mark_done(done_actions(table), ["p=a"])
    assert Server.got == [{"partition": "p=a", "table": "t", "path": table.path, "params": "x=1"}]


@pytest.mark.parametrize("answer", [(200, b'{"result": "NO"}'), (200, b"?"), (200, b"[]"), (500, b""), (200, b"{}")])
def test_a_server_that_does_not_confirm_is_an_error(tmp_path: Path, url: str, answer: tuple[int, bytes]) -> None:
    options = {ACTION: "http-report", URL: url}
    table = replace(table_of(tmp_path / "t", **options), access=ExternalAccess(urls=(url,)))
    Server.answer = answer
    with pytest.raises(PaimonError, match="p=a"):
        mark_done(done_actions(table), ["p=a"])
