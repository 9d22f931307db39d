"""Requests of REST catalogs to a server that is busy, falls silent, refuses or is not there."""

from __future__ import annotations

import json
import multiprocessing
import pickle
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from paimon_sql.catalog.registry import open_catalog
from paimon_sql.catalog.rest import client
from paimon_sql.catalog.rest.client import RestClient, configured
from paimon_sql.catalog.rest.http import transport
from paimon_sql.errors import (
    AlreadyExistsError,
    AnswerLostError,
    CatalogUnavailableError,
    InvalidInputError,
    InvalidOptionError,
    NotAllowedError,
    NotFoundError,
    PaimonError,
    UnsupportedError,
)
from tests.web import Handler, listening

Answer = tuple[int, Any, Mapping[str, str]]


@dataclass
class Stub:
    """A server that answers what it is told to, one answer after the other, and remembers what it was asked.

    An answer of None ends the connection without one.
    """

    port: int = 0
    answers: list[Answer | None] = field(default_factory=list)
    asked: list[tuple[str, str, dict[str, str], str]] = field(default_factory=list)

    def options(self, **more: str) -> dict[str, str]:
        """The options of a catalog on it."""
        given = {"uri": f"127.0.0.1:{self.port}", "warehouse": "w ü", "token.provider": "bear", "token": "secret"}
        return {"metastore": "rest", **given, **more}

    def client(self, config: Mapping[str, Any] | None = None, /, **more: str) -> RestClient:
        """A client that has been told its prefix."""
        self.answers.append((200, config or {"defaults": {"prefix": "a/b"}}, {}))
        return configured("lake", self.options(**more))[0]


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    """A server, asked again at once where others would be asked after a while."""
    found = Stub()

    class Answers(Handler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            found.asked.append((self.command, self.path, dict(self.headers), self.request_body().decode()))
            answer = found.answers.pop(0)
            if answer is None:
                self.close_connection = True
                return
            data = answer[1] if isinstance(answer[1], bytes) else json.dumps(answer[1]).encode()
            self.send_response(answer[0])
            for key, value in {**answer[2], "Content-Length": str(len(data))}.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_DELETE = do_GET

    with listening(Answers) as address:
        found.port = int(address.rpartition(":")[2])
        monkeypatch.setattr(client, "_wait", lambda retry, said: waits.append((retry, said)))
        waits.clear()
        yield found
        transport._pools().clear()


waits: list[tuple[int, str | None]] = []


def test_what_the_server_says_of_a_catalog_is_put_around_its_options(stub: Stub) -> None:
    config = {
        "defaults": {"prefix": "p", "a": "default", "b": "default", "none": None, "token": "theirs"},
        "overrides": {"b": "override", "uri": "http://elsewhere", "header.x-server": "s"},
    }
    stub.answers.append((200, config, {}))
    client, merged = configured("lake", stub.options(a="given", b="given", **{"header.x-own": "é"}))
    assert (merged["a"], merged["b"], "none" in merged, client.prefix) == ("given", "override", False, "p")
    method, path, headers, _ = stub.asked[0]
    assert (method, path, headers["Authorization"]) == ("GET", "/v1/config?warehouse=w%20%C3%BC", "Bearer secret")
    stub.answers.append((204, b"", {}))
    assert client.post("databases", "ü/ 1", body={"k": "é"}) == {}
    method, path, headers, body = stub.asked[1]
    assert (method, path, json.loads(body)) == ("POST", "/v1/p/databases/%C3%BC%2F%201", {"k": "é"})
    assert headers["x-server"] == "s" and headers["Authorization"] == "Bearer secret"


def test_secrets_are_not_shown(stub: Stub) -> None:
    client = stub.client(**{"header.cookie": "crumbs"})
    assert "secret" not in repr(client) and "crumbs" not in repr(client)


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"uri": ""}, "uri"),
        ({"uri": "ftp://x"}, "uri"),
        ({"uri": "http://user:word@x"}, "uri"),
        ({"warehouse": ""}, "warehouse"),
        ({"token.provider": ""}, "token.provider"),
        ({"token.provider": "kerberos"}, "token.provider"),
        ({"token": " "}, "token"),
        ({"token": "😀"}, "token"),
        ({"header.x": "a\r\nCookie: b"}, "header.x"),
    ],
)
def test_options_that_lead_nowhere_are_refused(stub: Stub, given: dict[str, str], key: str) -> None:
    with pytest.raises(InvalidOptionError, match="Catalog lake") as raised:
        open_catalog("lake", {**stub.options(), **given})
    assert raised.value.key == key and "user" not in str(raised.value) and stub.asked == []


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, InvalidInputError),
        (401, CatalogUnavailableError),
        (403, NotAllowedError),
        (404, NotFoundError),
        (409, AlreadyExistsError),
        (500, AnswerLostError),
        (501, UnsupportedError),
        (302, AnswerLostError),
    ],
)
def test_refusals_are_our_errors(stub: Stub, status: int, error: type[PaimonError]) -> None:
    client = stub.client()
    said = {"message": "it is\nso.", "resourceType": "TABLE", "resourceName": "t", "code": status}
    stub.answers.append((status, said, {"X-Request-Id": "r1", "Location": "http://127.0.0.1:1/"}))
    with pytest.raises(error, match=r"refused: it is so \(request r1\)\.") as raised:
        client.post("tables", body={})
    assert type(raised.value).__mro__[1 if status in (404, 409) else 0] is error
    stub.answers.append((status, b"<html>password=x</html>", {}))
    with pytest.raises(error, match=rf"POST /v1/a%2Fb/tables returned status {status}\.") as raised:
        client.post("tables", body={})
    assert "password" not in str(raised.value)


def test_a_busy_server_is_asked_again(stub: Stub) -> None:
    client = stub.client()
    stub.answers += [(429, b"", {"Retry-After": "7"}), (503, b"", {}), (200, {"done": 1}, {})]
    assert client.post("x", body={}) == {"done": 1}
    assert waits == [(0, "7"), (1, None)]
    stub.answers += [(503, b"", {})] * 6
    with pytest.raises(AnswerLostError):
        client.delete("x")
    assert len(stub.asked) == 10 and not stub.answers


def test_a_question_is_asked_again_where_the_answer_was_lost_and_a_change_is_not(stub: Stub) -> None:
    client = stub.client()
    stub.answers += [None, (200, {"found": 1}, {})]
    assert client.get("x") == {"found": 1}
    losses: tuple[Answer | None, ...] = (None, (200, b"{", {}), (200, [1], {}))
    for lose in losses:
        stub.answers.append(lose)
        with pytest.raises(AnswerLostError, match="to POST /v1/a%2Fb/x was lost"):
            client.post("x", body={})
    assert len(stub.asked) == 6


def test_a_server_that_is_not_there_did_nothing(stub: Stub) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        with pytest.raises(CatalogUnavailableError, match=r"cannot be reached: .*refused") as raised:
            open_catalog("lake", stub.options(uri=f"http://127.0.0.1:{nobody.getsockname()[1]}"))
    assert not isinstance(raised.value, AnswerLostError)


def test_lists_come_in_pages(stub: Stub) -> None:
    client = stub.client()
    stub.answers += [(200, {"tables": ["a"], "nextPageToken": "a &"}, {}), (200, {"tables": ["b"]}, {})]
    assert client.listed("tables", member="tables") == ["a", "b"]
    assert [path for _, path, *_ in stub.asked[1:]] == ["/v1/a%2Fb/tables", "/v1/a%2Fb/tables?pageToken=a%20%26"]
    stub.answers += [(200, {"tables": None, "nextPageToken": "x"}, {})]
    assert client.listed("tables", member="tables") == []
    stub.answers += [(200, {"tables": ["a"], "nextPageToken": "x"}, {})] * 2
    with pytest.raises(CatalogUnavailableError, match="the same page"):
        client.listed("tables", member="tables")


def test_clients_work_in_other_processes(stub: Stub) -> None:
    client = pickle.loads(pickle.dumps(stub.client()))
    assert client == stub.client()
    stub.answers += [(200, {}, {})] * 3
    client.get("here")
    answers = multiprocessing.get_context("fork").Queue()
    ask: Callable[[], None] = lambda: answers.put(client.get("there"))  # noqa: E731
    child = multiprocessing.get_context("fork").Process(target=ask)
    child.start()
    assert answers.get(timeout=30) == {}
    child.join()
    assert client.get("here") == {}
