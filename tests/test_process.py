"""What a process shares, and what a forked child has of it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from paimon_sql.cache import Cache
from paimon_sql.process import PROCESS, Process
from paimon_sql.storage.execution.metrics import process_metrics
from paimon_sql.storage.metadata.manifests import list_cache, manifest_cache


def test_a_part_is_made_once_on_its_first_use() -> None:
    made: list[int] = []

    def make() -> list[int]:
        made.append(1)
        return []

    shared, begun = Process().share(make), threading.Barrier(8)

    def ask(number: int) -> int:
        begun.wait()
        return id(shared())

    assert made == []
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(8)))) == 1
    assert made == [1]


def test_a_part_may_be_made_of_another() -> None:
    process = Process()
    one = process.share(lambda: [1])
    assert process.share(lambda: [*one(), 2])() == [1, 2]


def test_all_caches_are_cleared_in_one_place() -> None:
    process = Process()
    cache, other = process.share(lambda: Cache[str, int](5)), process.share(lambda: {"a": 1})
    unused = process.share(list[int])
    cache().put("a", 1)
    process.clear_caches()
    assert cache().get("a") is None
    assert other() == {"a": 1}
    assert unused.part is None


def in_child(check: Callable[[], bool]) -> bool:
    """Whether something is true in a forked child."""
    child = os.fork()
    if not child:
        try:
            os._exit(0 if check() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_has_parts_of_its_own() -> None:
    process, left = Process(), list[str]()
    cache = process.share(lambda: Cache[str, int](5))
    connection = process.share(lambda: ["the parent's"], leave=lambda part: left.extend(part))
    cache().put("a", 1)
    connection()
    inherited = cache()

    def is_anew() -> bool:
        return (cache() is not inherited, cache().get("a"), left) == (True, None, ["the parent's"])

    assert in_child(is_anew)
    assert (cache() is inherited, cache().get("a"), left) == (True, 1, [])


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_does_not_wait_for_a_lock_that_a_thread_of_its_parent_held() -> None:
    process, left = Process(), list[int]()
    cache = process.share(lambda: Cache[str, int](5), leave=lambda part: left.extend(part.values()))
    slow = process.share(lambda: forked.wait(10))
    forked, held = threading.Event(), threading.Event()

    def hold(old: int | None) -> int:
        held.set()
        forked.wait(10)
        return 1

    cache().put("a", 5)
    with ThreadPoolExecutor(2) as pool:
        pool.submit(cache().change, "a", hold)
        pool.submit(slow)
        held.wait(10)
        try:
            assert in_child(lambda: (cache().compute("a", lambda: 2), left) == (2, [5]))
        finally:
            forked.set()
    assert cache().get("a") == 1


def test_the_parts_of_this_process_are_declared_by_their_modules() -> None:
    assert {process_metrics, manifest_cache, list_cache} <= set(PROCESS._shared)


def test_background_maintenance_works_in_a_forked_child() -> None:
    program = """
import os, sys
from paimon_sql.storage.operations.operations import _background
_background().submit(int).result(10)
child = os.fork()
if not child:
    done = _background().submit(lambda: 7).result(10)
    os._exit(0 if done == 7 else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", program], timeout=60, check=False).returncode == 0
