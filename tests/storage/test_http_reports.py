"""Partitions reported by HTTP: only to servers that the catalog lists, and within bounds."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.registry import open_catalog
from paimon_sql.errors import InvalidOptionError, NotAllowedError, PaimonError
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.types import DataField, string_type
from paimon_sql.procedures import call
from paimon_sql.storage.file_io.external.locations import ExternalAccess
from paimon_sql.storage.maintenance.partitions import mark_done as report_module
from paimon_sql.storage.maintenance.partitions.mark_done import done_actions, mark_done
from paimon_sql.storage.table.table import Table
from tests.storage.small_tables import insert, make_table
from tests.web import Handler, listening

ACTION = "partition.mark-done-action"
URL = f"{ACTION}.http.url"


class Server(Handler):
    asked: ClassVar[list[str]] = []
    sent: ClassVar[list[bytes]] = []
    status: ClassVar[int] = 200
    headers_too: ClassVar[dict[str, str]] = {}
    body: ClassVar[bytes] = b'{"result": "SUCCESS"}'
    pause: ClassVar[float] = 0.0

    def do_POST(self) -> None:
        self.asked.append(self.path)
        self.sent.append(self.request_body())
        self.send_response(self.status)
        for key, value in self.headers_too.items():
            self.send_header(key, value)
        self.end_headers()
        with suppress(OSError):
            for i in range(0, len(self.body), 65536):
                self.wfile.write(self.body[i : i + 65536])
                time.sleep(self.pause)

    def do_GET(self) -> None:
        self.do_POST()


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a server."""
    Server.asked.clear()
    with listening(Server) as address:
        yield f"{address}/hook"


def reporting(path: Path, url: str, *listed: str, **options: str) -> Table:
    made = make_table(path, {ACTION: "http-report", URL: url, **options}, partition_keys=["p"])
    return replace(made, access=ExternalAccess(urls=listed))


def test_an_option_of_a_table_alone_causes_no_request(
    tmp_path: Path, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    table = reporting(tmp_path / "t", url, **{"partition.end-input-to-done": "true"})
    with pytest.raises(NotAllowedError, match=rf"'{URL}' of a table names {url}.*'http\.allowed-urls'"):
        done_actions(table)
    with caplog.at_level(logging.WARNING):
        insert(table, (1, "v", "a"))
    assert "http.allowed-urls" in caplog.text and Server.asked == []


def test_other_addresses_of_an_allowed_server_stay_forbidden(tmp_path: Path, url: str) -> None:
    listed = ExternalAccess(urls=(url,))
    base = url.removesuffix("/hook")
    for i, other in enumerate((base, f"{base}/hooks", f"{url}/../admin", f"{url}/%2e%2e/admin", f"{base}/HOOK")):
        table = replace(reporting(tmp_path / f"t{i}", other), access=listed)
        with pytest.raises((NotAllowedError, InvalidOptionError)):
            done_actions(table)
    mark_done(done_actions(replace(reporting(tmp_path / "u", f"{url}/a?b=c"), access=listed)), ["p=a"])
    assert Server.asked == ["/hook/a?b=c"]


def test_a_report_sends_along_what_the_table_says(tmp_path: Path, url: str) -> None:
    Server.sent.clear()
    table = reporting(tmp_path / "t", url, url, **{"partition.mark-done-action.http.params": "ünïcode, a=b"})
    mark_done(done_actions(table), ["p=a"])
    (body,) = map(json.loads, Server.sent)
    assert (body["partition"], body["params"]) == ("p=a", "ünïcode, a=b")


@pytest.mark.parametrize("other", ["file:///etc/passwd", "gopher://x/", "hooks", "http://", "http://a b/"])
def test_what_is_no_address_is_refused(tmp_path: Path, other: str) -> None:
    with pytest.raises(InvalidOptionError, match="Invalid value"):
        done_actions(reporting(tmp_path / "t", other, "http://127.0.0.1"))


def test_redirects_are_not_followed(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Server, "status", 307)
    monkeypatch.setattr(Server, "headers_too", {"Location": f"{url}/latest/meta-data"})
    with pytest.raises(PaimonError, match="redirects are not followed"):
        mark_done(done_actions(reporting(tmp_path / "t", f"{url}?token=geheim", url)), ["p=a"])
    assert Server.asked == ["/hook?token=geheim"]


def test_an_answer_without_end_is_cut_off(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Server, "body", b" " * 10_000_000)
    with pytest.raises(PaimonError, match="more than the 65536 bytes"):
        mark_done(done_actions(reporting(tmp_path / "t", url, url)), ["p=a"])


def test_a_server_that_dribbles_does_not_hold_the_statement(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_module, "_SECONDS", 0.5)
    monkeypatch.setattr(Server, "body", b" " * 600_000)
    monkeypatch.setattr(Server, "pause", 0.3)
    monkeypatch.setattr(report_module, "_MOST_BYTES", 10_000_000)
    started = time.monotonic()
    with pytest.raises(PaimonError, match="did not answer in time") as told:
        mark_done(done_actions(reporting(tmp_path / "t", f"{url}?token=geheim", url)), ["p=a"])
    assert time.monotonic() - started < 3 and "geheim" not in str(told.value)


@pytest.mark.parametrize("body", [b"[" * 100_000, b"{" * 10, b'"SUCCESS"', b"null", b'{"result": {"a": 1}}'])
def test_answers_of_other_kinds_are_no_success(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch, body: bytes
) -> None:
    monkeypatch.setattr(Server, "body", body[:60_000])
    with pytest.raises(PaimonError, match="instead of 'SUCCESS'"):
        mark_done(done_actions(reporting(tmp_path / "t", url, url)), ["p=a"])


def test_a_catalog_lists_what_its_tables_may_report_to(tmp_path: Path, url: str) -> None:
    fields = [DataField(0, "v", string_type()), DataField(1, "p", string_type())]
    schema = new_schema(fields, partition_keys=["p"], options={ACTION: "http-report", URL: url})
    for options, allowed in (({}, False), ({"http.allowed-urls": url}, True)):
        warehouse = {"warehouse": str(tmp_path / str(allowed)), **options}
        catalog = open_catalog("lake", warehouse)
        catalog.create_database("d", {})
        catalog.create_table(Identifier("d", "t"), schema)
        if allowed:
            call(catalog, "mark_partition_done", table="d.t", partitions="p=a")
        else:
            with pytest.raises(NotAllowedError, match=r"http\.allowed-urls"):
                call(catalog, "mark_partition_done", table="d.t", partitions="p=a")
    assert Server.asked == ["/hook"]
