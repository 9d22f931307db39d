"""Connections to the socket of the shell's rows that are not the task's: none of them holds the shell up."""

from __future__ import annotations

import pickle
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from paimon_sql.errors import PaimonError
from paimon_sql.shell.engine import stream

TOKEN = b"0123456789abcdef"
ROWS = [(str(i), None) for i in range(10)]


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


def connect(server: socket.socket) -> socket.socket:
    return socket.create_connection(server.getsockname())


def sending(server: socket.socket, job: Future[list[int]], pause: float = 0.0) -> threading.Thread:
    """A task that sends its rows after a while."""
    sender = stream._Sender("127.0.0.1", server.getsockname()[1])
    sender.token = TOKEN

    def run() -> None:
        time.sleep(pause)
        job.set_result(list(sender(iter(ROWS))))

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_a_silent_connection_does_not_hold_up_the_error_of_a_job(server: socket.socket) -> None:
    job: Future[list[int]] = Future()
    job.set_exception(ValueError("the job failed"))
    started = time.monotonic()
    with connect(server), pytest.raises(ValueError, match="the job failed"):
        list(stream._received(server, TOKEN, job))
    assert time.monotonic() - started < 2


def test_rows_arrive_past_connections_that_say_nothing_too_little_or_something_else(server: socket.socket) -> None:
    job: Future[list[int]] = Future()
    strangers = [connect(server) for _ in range(20)]
    strangers[0].sendall(TOKEN[:15])
    strangers[1].sendall(b"GET / HTTP/1.1\r\n\r\n")
    strangers[2].close()
    thread = sending(server, job, 0.2)
    started = time.monotonic()
    assert list(stream._received(server, TOKEN, job)) == ROWS
    assert time.monotonic() - started < 3
    thread.join()
    for stranger in strangers:
        stranger.close()


def test_more_silent_connections_than_are_kept_do_not_use_the_server_up(server: socket.socket) -> None:
    job: Future[list[int]] = Future()
    server.listen(512)
    strangers = [connect(server) for _ in range(3 * stream._MOST_STRANGERS)]
    thread = sending(server, job)
    assert list(stream._received(server, TOKEN, job)) == ROWS
    thread.join()
    for stranger in strangers:
        stranger.close()


def test_strangers_that_keep_coming_end_with_the_job(server: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "_TOKEN_SECONDS", 0.5)
    job: Future[list[int]] = Future()
    job.set_exception(ValueError("the job failed"))
    over = threading.Event()

    def keep_coming() -> None:
        while not over.is_set():
            with suppress(OSError):
                connect(server).close()
            time.sleep(0.01)

    thread = threading.Thread(target=keep_coming)
    thread.start()
    started = time.monotonic()
    with pytest.raises(ValueError, match="the job failed"):
        list(stream._received(server, TOKEN, job))
    assert time.monotonic() - started < 4
    over.set()
    thread.join()


def test_a_task_that_falls_silent_in_the_midst_ends_with_its_job(server: socket.socket) -> None:
    job: Future[list[int]] = Future()
    with connect(server) as task:
        task.sendall(TOKEN + stream._SIZE.pack(100) + b"[[")
        threading.Timer(0.3, lambda: job.set_exception(ValueError("the executor is lost"))).start()
        started = time.monotonic()
        with pytest.raises(ValueError, match="the executor is lost"):
            list(stream._received(server, TOKEN, job))
        assert time.monotonic() - started < 3


@pytest.mark.parametrize("size", [-7, 2**62])
def test_a_size_that_nothing_has_takes_no_memory(server: socket.socket, size: int) -> None:
    job: Future[list[int]] = Future()
    job.set_result([3])
    with connect(server) as task:
        task.sendall(TOKEN + stream._SIZE.pack(size) + b"[]")
        task.shutdown(socket.SHUT_WR)
        with pytest.raises(PaimonError, match="A task was lost"):
            list(stream._received(server, TOKEN, job))


def test_what_comes_is_read_as_data_and_never_run(server: socket.socket) -> None:
    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return exec, ("raise SystemExit('run')",)

    job: Future[list[int]] = Future()
    job.set_result([1])
    data = pickle.dumps(Evil())
    with connect(server) as task:
        task.sendall(TOKEN + stream._SIZE.pack(len(data)) + data)
        with pytest.raises(ValueError, match=r"."):
            list(stream._received(server, TOKEN, job))


@pytest.mark.parametrize(
    ("master", "conf", "listens", "told"),
    [
        ("local[2]", {"spark.driver.host": "somewhere.example"}, "127.0.0.1", "127.0.0.1"),
        ("spark://m:7077", {"spark.driver.host": "127.0.0.2"}, "127.0.0.2", "127.0.0.2"),
        (
            "spark://m:7077",
            {"spark.driver.host": "driver.example", "spark.driver.bindAddress": "127.0.0.3"},
            "127.0.0.3",
            "driver.example",
        ),
        ("spark://m:7077", {"spark.driver.host": "x", "spark.driver.bindAddress": "0.0.0.0"}, "0.0.0.0", "x"),
    ],
)
def test_it_listens_where_sparks_driver_does(master: str, conf: dict[str, str], listens: str, told: str) -> None:
    context: Any = SimpleNamespace(master=master, getConf=lambda: conf)
    with stream._listening(context) as (made, sender):
        assert (made.getsockname()[0], sender.host) == (listens, told)


def test_ipv6_addresses_of_a_driver_are_listened_at() -> None:
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    with suppress(OSError):
        context: Any = SimpleNamespace(master="spark://m:7077", getConf=lambda: {"spark.driver.host": "[::1]"})
        with stream._listening(context) as (made, sender):
            assert (made.family, made.getsockname()[0], sender.host) == (socket.AF_INET6, "::1", "::1")
