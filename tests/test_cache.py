"""The bounded cache: what it drops, and what threads see of it."""

from __future__ import annotations

import random
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

import pytest

from paimon_sql.cache import Cache


def test_the_least_recently_used_values_are_dropped() -> None:
    cache = Cache[str, int](2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (1, None, 3)
    assert cache.items() == [("a", 1), ("c", 3)]


def test_the_capacity_bounds_the_weight() -> None:
    cache = Cache[str, bytes](10, weigh=len)
    cache.put("a", bytes(6))
    cache.put("b", bytes(4))
    assert len(cache) == 2
    cache.put("a", bytes(7))  # replaced by a heavier one
    assert [key for key, _ in cache.items()] == ["a"]
    cache.put("c", bytes(11))  # heavier than the cache
    assert [key for key, _ in cache.items()] == ["a"]
    cache.put("a", bytes(11))
    assert cache.items() == []


def test_a_cache_without_room_stores_nothing() -> None:
    cache, made = Cache[str, bytes](0, weigh=len), []
    for _ in range(2):
        assert cache.compute("a", lambda: made.append(1) or b"x") == b"x"  # type: ignore[func-returns-value]
    assert (len(made), len(cache)) == (2, 0)


def test_values_that_do_not_hold_are_made_anew() -> None:
    now = 0
    cache = Cache[str, int](10, holds=lambda until: now < until)
    assert cache.compute("a", lambda: 5) == 5
    cache.put("b", 50)
    now = 4
    assert cache.compute("a", lambda: 9) == 5
    now = 5
    assert cache.get("a") is None
    assert cache.compute("a", lambda: 9) == 9
    now = 10
    assert len(cache) == 2
    cache.purge()
    assert cache.values() == [50]


def test_a_value_is_changed_by_what_it_was() -> None:
    cache = Cache[str, int](10, weigh=int)
    for _ in range(3):
        cache.change("a", lambda old: (old or 0) + 2)
    assert cache.get("a") == 6
    cache.change("a", lambda old: None)
    assert (cache.get("a"), len(cache)) == (None, 0)
    cache.put("b", 10)
    assert cache.get("b") == 10  # no weight was left behind


def test_values_that_are_dropped_are_ended() -> None:
    ended: list[int] = []
    cache = Cache[str, int](2, holds=lambda value: value != 3, leave=ended.append)
    for key, value in (("a", 1), ("b", 2), ("c", 3)):
        cache.put(key, value)
    assert ended == [1]
    cache.purge()
    assert ended == [1, 3]
    cache.change("b", lambda old: None)
    cache.put("d", 4)
    cache.clear()
    assert (ended, len(cache)) == ([1, 3, 2, 4], 0)


def test_a_cleared_cache_has_its_room_again() -> None:
    cache = Cache[str, int](10, weigh=int)
    cache.put("a", 10)
    cache.clear()
    cache.put("b", 10)
    assert cache.items() == [("b", 10)]


def test_a_value_is_made_once_for_all_threads() -> None:
    cache, made, begun = Cache[str, object](10), [], threading.Barrier(8)

    def make() -> object:
        made.append(1)
        return object()

    def ask(number: int) -> object:
        begun.wait()
        return cache.compute("a", make)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(8)))) == 1
    assert len(made) == 1


def test_a_thread_whose_value_could_not_be_made_leaves_it_to_the_next() -> None:
    cache, attempts = Cache[str, int](10), []

    def make() -> int:
        attempts.append(1)
        if len(attempts) == 1:
            raise OSError
        return 7

    with pytest.raises(OSError):
        cache.compute("a", make)
    assert cache.compute("a", make) == 7


def test_other_keys_do_not_wait_and_make_may_use_the_cache() -> None:
    cache = Cache[str, int](10)
    assert cache.compute("a", lambda: cache.compute("b", lambda: 1) + 1) == 2
    assert cache.items() == [("b", 1), ("a", 2)]


def test_callers_need_not_wait_for_each_other() -> None:
    cache, both = Cache[str, int](10), threading.Barrier(2)
    with ThreadPoolExecutor(2) as pool:
        # Each waits for the other inside of its request, which one alone could never finish.
        found = list(pool.map(lambda n: cache.compute("a", lambda: both.wait(10) * 0 + n, once=False), (1, 2)))
    assert found == [1, 2]
    assert cache.get("a") in (1, 2)


def test_threads_never_exceed_the_capacity() -> None:
    cache = Cache[int, int](50, weigh=lambda value: value % 7 + 1)

    def work(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(2000):
            key = chance.randrange(40)
            match chance.randrange(4):
                case 0:
                    cache.put(key, chance.randrange(100))
                case 1:
                    cache.change(key, lambda old: None if old is None else old + 1)
                case 2:
                    cache.compute(key, lambda: chance.randrange(100), once=False)
                case _:
                    cache.get(key)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    weight = sum(value % 7 + 1 for value in cache.values())
    assert 0 < weight == cache._weight <= 50


def test_it_does_what_a_plain_model_does() -> None:
    chance, cache, model = random.Random(3), Cache[int, int](5), OrderedDict[int, int]()
    for step in range(3000):
        key = chance.randrange(9)
        if chance.random() < 0.5:
            cache.put(key, step)
            model[key] = step
            model.move_to_end(key)
            if len(model) > 5:
                model.popitem(last=False)
        else:
            assert cache.get(key) == model.get(key)
            if key in model:
                model.move_to_end(key)
        assert cache.items() == list(model.items())
