"""HTTP requests within bounds, against servers that keep to none."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from paimon_sql.errors import MissingFileError, PaimonError
from paimon_sql.storage.file_io.external.http import HttpResponse

Serve = Callable[[socket.socket], None]


@contextmanager
def serving(serve: Serve) -> Iterator[str]:
    """A server that answers each connection by a function; its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        over = threading.Event()

        def one(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                serve(connection)

        def accept() -> None:
            with suppress(OSError):
                while not over.is_set():
                    threading.Thread(target=one, args=(listener.accept()[0],), daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        over.set()
        with suppress(OSError):
            socket.create_connection(listener.getsockname()).close()
        thread.join()


def request_of(connection: socket.socket) -> bytes:
    found = b""
    while b"\r\n\r\n" not in found:
        data = connection.recv(4096)
        if not data:
            break
        found += data
    return found


def saying(answer: bytes) -> Serve:
    def serve(connection: socket.socket) -> None:
        request_of(connection)
        connection.sendall(answer)

    return serve


def read(url: str, seconds: float = 5.0, most: int = 1000) -> bytes:
    with HttpResponse("GET", url, seconds=seconds, most_bytes=most) as answer:
        return answer.read()


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        OK + b"Content-Length: 3\r\n\r\nabc",
        OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\nabc",
    ],
)
def test_an_answer_is_read(answer: bytes) -> None:
    with serving(saying(answer)) as url:
        assert read(url) == b"abc"
        with HttpResponse("GET", url, seconds=5, most_bytes=1000) as stream:
            stream.seek(1)
            assert (stream.read(1), stream.read(5), stream.read(5)) == (b"b", b"c", b"")


def test_what_is_sent_is_what_was_given() -> None:
    got: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        got.append(request_of(connection))
        connection.sendall(OK + b"\r\n")

    with serving(serve) as url:
        HttpResponse("POST", f"{url}/a?b=c", seconds=5, most_bytes=9, body=b"xy", headers={"X-A": "1"}).close()
    head, _, body = got[0].partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /a?b=c HTTP/1.1" and body in (b"", b"xy")
    assert {"X-A: 1", "Content-Length: 2", "Connection: close", f"Host: {url[7:]}"} <= set(lines)


def test_redirects_are_not_followed() -> None:
    hits: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        hits.append(request_of(connection))
        connection.sendall(b"HTTP/1.1 302 Found\r\nLocation: /other\r\n\r\n")

    with serving(serve) as url, pytest.raises(PaimonError, match="answered 302, and redirects are not followed"):
        read(f"{url}/a?token=geheim")
    assert [hit for hit in hits if hit] == hits[:1]


def test_a_server_that_does_not_know_the_address_says_so() -> None:
    with serving(saying(b"HTTP/1.1 404 Not Found\r\n\r\n")) as url, pytest.raises(MissingFileError) as told:
        read(f"{url}/a?token=geheim")
    assert told.value.path == f"{url}/a"
    with serving(saying(b"HTTP/1.1 500 Oops\r\n\r\n")) as url, pytest.raises(PaimonError, match="answered 500"):
        read(url)


def test_a_body_beyond_the_bound_is_refused_and_not_kept() -> None:
    def endless(connection: socket.socket) -> None:
        request_of(connection)
        connection.sendall(OK + b"\r\n")
        while True:
            connection.sendall(b"x" * 65536)

    with serving(endless) as url:
        with pytest.raises(PaimonError, match="more than the 1000 bytes"):
            read(url)
        with HttpResponse("GET", url, seconds=5, most_bytes=5000) as stream, pytest.raises(PaimonError, match="5000"):
            stream.seek(2**60)


def test_an_answer_that_ends_too_soon_is_an_error() -> None:
    with serving(saying(OK + b"Content-Length: 10\r\n\r\nabc")) as url:
        stream = HttpResponse("GET", url, seconds=5, most_bytes=100)
        assert stream.read(100) == b"abc"
        with stream, pytest.raises(PaimonError, match="7 bytes before"):
            stream.read(100)


def dribbling(first: bytes, then: bytes) -> Serve:
    def serve(connection: socket.socket) -> None:
        request_of(connection)
        connection.sendall(first)
        while True:
            connection.sendall(then)
            time.sleep(0.1)

    return serve


@pytest.mark.parametrize(
    "serve",
    [
        dribbling(b"", b"H"),
        dribbling(OK, b"X"),
        dribbling(OK, b"X: y\r\n"),
        dribbling(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        dribbling(OK + b"\r\n", b"x"),
        dribbling(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        lambda connection: time.sleep(5),
    ],
    ids=["status", "header", "headers", "continues", "body", "chunks", "silence"],
)
def test_a_server_that_dribbles_or_is_silent_holds_nobody_longer_than_allowed(serve: Serve) -> None:
    with serving(serve) as url:
        started = time.monotonic()
        with pytest.raises(PaimonError) as told:
            read(url, seconds=1.0, most=10_000)
        assert time.monotonic() - started < 3
    assert "did not answer in time" in str(told.value) or "cannot be asked" in str(told.value)


def test_a_server_that_dribbles_while_tls_is_agreed_on_holds_nobody() -> None:
    with serving(dribbling(b"\x16\x03\x01\x40\x00", b"\x00")) as url:
        started = time.monotonic()
        with pytest.raises(PaimonError):
            read(url.replace("http:", "https:"), seconds=1.0)
        assert time.monotonic() - started < 3


def test_proxies_of_the_environment_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with serving(saying(OK + b"\r\nabc")) as url:
        assert read(url) == b"abc"


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/a", "http://nosuch.invalid/a"])
def test_a_server_that_is_not_there_is_told_in_one_sentence(url: str) -> None:
    with pytest.raises(PaimonError, match="cannot be asked") as told:
        read(f"{url}?token=geheim")
    assert "geheim" not in str(told.value) and told.value.__cause__ is None
