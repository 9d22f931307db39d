"""The thread in which Spark works: order, errors, and what Ctrl-C does."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from paimon_sql.shell.engine.engine import Engine, Interrupted, Waiting
from paimon_sql.storage.execution.task_executor import LocalExecutor, register_work


class Session:
    """A session whose cancelled jobs end the work that waits for `cancelled`."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()
        self.sparkContext = SimpleNamespace(cancelAllJobs=self.cancelled.set)


class Patient(Waiting):
    """Waits without ado."""

    def __init__(self) -> None:
        self.ticks: list[Any] = []
        self.stopped = 0

    def tick(self, session: Any) -> None:
        self.ticks.append(session)

    def stopping(self) -> None:
        self.stopped += 1


class Pressed(Patient):
    """Presses Ctrl-C as soon as work is waited for."""

    def tick(self, session: Any) -> None:
        if session is not None:
            raise KeyboardInterrupt


class PressedBefore(Patient):
    """Presses Ctrl-C while Spark starts."""

    def tick(self, session: Any) -> None:
        raise KeyboardInterrupt


class PressedTwice(Pressed):
    """Presses Ctrl-C again."""

    def stopping(self) -> None:
        raise KeyboardInterrupt


def engine(session: Session) -> Engine:
    return Engine(lambda: session)


def test_work_is_done_in_its_order_once_spark_is_there() -> None:
    gate = threading.Event()
    seen: list[str] = []

    def start() -> None:
        gate.wait(5)
        seen.append("started")

    started = Engine(start)
    first = started.submit(lambda _: seen.append("first"))
    assert started.ready is None and not first.done()
    gate.set()
    started.run(lambda _: seen.append("second"), Patient())
    assert seen == ["started", "first", "second"]


def test_who_waits_is_told_so_and_gets_the_answer() -> None:
    waiting = Patient()
    session = Session()

    def slowly(_: Session) -> str:
        time.sleep(0.35)
        return "answer"

    assert engine(session).run(slowly, waiting) == "answer"
    assert session in waiting.ticks


def test_an_error_reaches_whoever_asked_and_the_thread_goes_on() -> None:
    running = engine(Session())
    with pytest.raises(ValueError, match="wrong"):
        running.run(lambda _: fail(ValueError("wrong")), Patient())
    assert running.run(lambda _: 1, Patient()) == 1


def test_a_session_that_does_not_start_fails_all_work_with_its_own_error() -> None:
    running = Engine(lambda: fail(OSError("no Java")))
    for _ in range(2):
        with pytest.raises(OSError, match="no Java"):
            running.run(lambda _: 1, Patient())
    assert running.ready is None


def test_ctrl_c_cancels_the_jobs_and_waits_for_the_work_to_end() -> None:
    session = Session()
    ended: Future[bool] = Future()
    waiting = Pressed()
    running = engine(session)
    with pytest.raises(Interrupted) as interrupted:
        running.run(lambda _: ended.set_result(session.cancelled.wait(10)), waiting)
    assert ended.result(0) is True
    assert not interrupted.value.abandoned
    assert waiting.stopped == 1
    assert running.run(lambda _: "next", Patient()) == "next"


def test_ctrl_c_ends_the_tasks_of_this_process() -> None:
    done: list[int] = []

    def slowly(n: int) -> None:
        done.append(n)
        time.sleep(0.01)

    def endless(_: object) -> None:
        with register_work("CALL sys.anything") as work:
            for _ in LocalExecutor().watched(work).map(slowly, range(100_000)):
                pass

    shell = engine(Session())
    with pytest.raises(Interrupted) as interrupted:
        shell.run(endless, Pressed())
    assert not interrupted.value.abandoned and len(done) < 10_000 and shell.run(lambda _: "next", Patient()) == "next"


def test_ctrl_c_takes_back_work_that_was_not_begun() -> None:
    gate = threading.Event()
    done: list[str] = []
    waiting = PressedBefore()
    running = Engine(lambda: gate.wait(10))
    with pytest.raises(Interrupted):
        running.run(lambda _: done.append("an insert"), waiting)
    gate.set()
    assert running.run(lambda _: "next", Patient()) == "next"
    assert done == []
    assert waiting.stopped == 0


def test_ctrl_c_again_leaves_the_work_to_itself_and_the_next_goes_on() -> None:
    gate = threading.Event()
    running = engine(Session())
    with pytest.raises(Interrupted) as interrupted:
        running.run(lambda _: gate.wait(10), PressedTwice())
    assert interrupted.value.abandoned
    assert running.run(lambda _: "next", Patient()) == "next"
    gate.set()


def fail(error: Exception) -> Any:
    raise error
