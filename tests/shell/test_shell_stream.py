"""Rows on their way from a task to the shell: whole and in order, or an error."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import Future
from threading import Thread
from typing import Any

import pytest

from paimon_sql.errors import PaimonError
from paimon_sql.shell.engine import stream

ROWS = [(str(i), None if i % 7 else "ü") for i in range(2500)]


def received(rows: Iterator[Any], *, token: bytes | None = None, breaks: Exception | None = None) -> list[Any]:
    """What arrives of the rows that a task sends; ``breaks`` is what the task's job ends with."""
    job: Future[list[int]] = Future()
    with socket.create_server(("127.0.0.1", 0)) as server:
        sender = stream._Sender("127.0.0.1", server.getsockname()[1])
        expected, sender.token = sender.token, token or sender.token

        def task() -> None:
            try:
                job.set_result(list(sender(rows)))
            except Exception as error:
                job.set_exception(breaks or error)

        thread = Thread(target=task)
        thread.start()
        try:
            return list(stream._received(server, expected, job))
        finally:
            thread.join(5)


def test_rows_arrive_whole_and_in_order() -> None:
    assert received(iter(ROWS)) == ROWS


def test_rows_of_a_job_that_ended_before_they_were_asked_for_arrive() -> None:
    job: Future[list[int]] = Future()
    with socket.create_server(("127.0.0.1", 0)) as server:
        sender = stream._Sender("127.0.0.1", server.getsockname()[1])
        job.set_result(list(sender(iter(ROWS[:10]))))
        assert list(stream._received(server, sender.token, job)) == ROWS[:10]


def test_a_partition_without_rows_ends_at_once() -> None:
    assert received(iter(())) == []


def test_a_task_that_fails_on_its_way_fails_the_answer_with_its_own_error() -> None:
    def rows() -> Iterator[Any]:
        yield from ROWS
        raise ValueError("in the task")

    with pytest.raises(KeyError, match="as Spark says it"):
        received(rows(), breaks=KeyError("as Spark says it"))


def test_who_does_not_know_the_token_is_not_listened_to() -> None:
    # Whether the sender notices depends on how soon the connection is closed.
    with pytest.raises((PaimonError, ConnectionError)):
        received(iter(ROWS[:10]), token=b"x" * 16)


def test_a_job_that_ends_without_a_task_is_not_waited_for() -> None:
    job: Future[list[int]] = Future()
    job.set_exception(ValueError("cancelled"))
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(ValueError, match="cancelled"):
        list(stream._received(server, b"x" * 16, job))
