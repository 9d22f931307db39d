"""A REST catalog's server that redirects, dribbles or answers without end: requests end, and say why."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler
from typing import ClassVar

import pytest

from paimon_sql.catalog.rest import client
from paimon_sql.catalog.rest.client import Server
from paimon_sql.catalog.rest.http import transport
from paimon_sql.catalog.rest.http.authentication import InstanceRole
from paimon_sql.errors import AnswerLostError, CatalogUnavailableError, PaimonError
from tests.web import Handler, listening


class Stranger(Handler):
    protocol_version = "HTTP/1.1"
    asked: ClassVar[list[str]] = []
    serve: ClassVar[Callable[[BaseHTTPRequestHandler], None]]

    def do_GET(self) -> None:
        Stranger.asked.append(self.path)
        with suppress(OSError):
            Stranger.serve(self)


@contextmanager
def serving(serve: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    Stranger.asked.clear()
    Stranger.serve = staticmethod(serve)
    with listening(Stranger) as address:
        yield address
        transport._pools().clear()


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_wait", lambda retry, said: None)
    monkeypatch.setattr(client, "_RETRIES", 1)
    for kind in (transport._Connection, transport._SecureConnection):
        made = partial(transport._Answer, seconds=0.5)
        monkeypatch.setattr(kind, "response_class", made)
    monkeypatch.setattr(transport, "_MOST_BYTES", 100_000)


def server_at(address: str) -> Server:
    return Server.of("lake", {"uri": address, "token.provider": "bear", "token": "secret"})


def dribble(handler: BaseHTTPRequestHandler, first: bytes, then: bytes) -> None:
    handler.wfile.write(first)
    for _ in range(100):
        handler.wfile.write(then)
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (b"", b"H"),
        (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", b" "),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        (b"HTTP/1.1 500 Oops\r\nContent-Length: 1000\r\n\r\n", b" "),
    ],
    ids=["status", "headers", "body", "chunks", "refusal"],
)
def test_a_server_that_dribbles_holds_nobody(first: bytes, then: bytes) -> None:
    with serving(lambda handler: dribble(handler, first, then)) as address:
        started = time.monotonic()
        with pytest.raises(AnswerLostError, match="was lost"):
            server_at(address).ask("GET", ["databases"])
        assert time.monotonic() - started < 4


def answering(body: bytes, status: int = 200, **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def serve(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for key, value in {"Content-Length": str(len(body)), **headers}.items():
            handler.send_header(key.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return serve


def test_an_answer_without_end_is_cut_off() -> None:
    def endless(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            handler.wfile.write(b" " * 65536)

    with serving(endless) as address, pytest.raises(AnswerLostError, match="more than 100000 bytes"):
        server_at(address).ask("GET", ["databases"])


def test_an_answer_that_is_packed_is_not_unpacked() -> None:
    bomb = gzip.compress(b" " * 10_000_000)
    with (
        serving(answering(bomb, Content_Encoding="gzip")) as address,
        pytest.raises(AnswerLostError, match="compressed, although compression was not requested"),
    ):
        server_at(address).ask("GET", ["databases"])


def test_redirects_are_not_followed_and_take_no_token_along() -> None:
    with serving(answering(b"", 307, Location="/elsewhere")) as address, pytest.raises(PaimonError):
        server_at(address).ask("GET", ["databases"])
    assert set(Stranger.asked) == {"/v1/databases"}


@pytest.mark.parametrize("body", [b"[" * 90_000, b'{"a":' * 15_000])
def test_answers_nested_without_end_are_lost_answers(body: bytes) -> None:
    with serving(answering(body)) as address, pytest.raises(AnswerLostError):
        server_at(address).ask("GET", ["databases"])
    with serving(answering(body, 400)) as address, pytest.raises(PaimonError, match="returned status 400"):
        server_at(address).ask("GET", ["databases"])


def test_a_connection_serves_one_request_after_the_other() -> None:
    body = json.dumps({"a": "x" * 50_000}).encode()
    with serving(answering(body)) as address:
        for _ in range(5):
            assert server_at(address).ask("GET", ["databases"]) == {"a": "x" * 50_000}
        pool = transport._pool(address, 2).connection_from_url(address)
        assert pool.num_connections == 1
        time.sleep(0.6)  # longer than an answer may take
        assert server_at(address).ask("GET", ["databases"])


def test_the_service_of_a_machine_s_role_is_asked_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paimon_sql.catalog.rest.http.authentication._SECONDS", 0.5)
    cases = [
        (answering(b"x" * 1_000_000), "more than the 65536 bytes"),
        (answering(b"", 302, Location="/elsewhere"), "redirects are not followed"),
        (lambda handler: dribble(handler, b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"), "did not answer in time"),
    ]
    for serve, said in cases:
        with serving(serve) as address:
            started = time.monotonic()
            with pytest.raises(CatalogUnavailableError, match=said):
                InstanceRole(f"{address}/role/", None).load()
            assert time.monotonic() - started < 3
        assert set(Stranger.asked) == {"/role/"}
