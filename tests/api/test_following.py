"""Commits that are followed: each one once, in order, those to come, and the progress of consumers."""

from __future__ import annotations

import threading
import time

import pytest

from paimon_sql import errors
from paimon_sql.api.catalog import Catalog
from paimon_sql.api.table import Table
from tests.api.test_reads import ids, rows


def test_commits_come_in_order_and_once(plain: Table) -> None:
    for first in range(3):
        plain.append(rows(1, first))
    found = [(n, ids(changes.to_arrow())) for n, changes in plain.follow(wait=0)]
    assert found == [(1, [0]), (2, [1]), (3, [2])]
    assert [n for n, _ in plain.follow(3, wait=0)] == [3]
    assert [n for n, _ in plain.follow(4, wait=0)] == []
    picked = plain.follow(2, where="id = 2", columns=["id"], wait=0)
    assert [(n, changes.to_arrow().to_pylist()) for n, changes in picked] == [(2, []), (3, [{"id": 2}])]


def test_changes_of_keys_are_those_of_the_commit(catalog: Catalog, plain: Table) -> None:
    options = {"bucket": "1"}
    for name, more in [("none", {}), ("lookup", {"changelog-producer": "lookup"})]:
        table = catalog.create_table(f"shop.{name}", plain.schema, primary_key=["id"], options=options | more)
        table.upsert([{"id": 1, "note": "a"}])
        table.upsert([{"id": 1, "note": "b"}])
        table.call("compact")
        table.delete_keys([{"id": 1}])
        found = [
            (r["note"], r["_change_type"])
            for _, changes in table.follow(columns=["note", "_change_type"], wait=0)
            for r in sorted(changes.to_arrow().to_pylist(), key=lambda r: r["_change_type"], reverse=True)
        ]
        assert found == [("a", "insert"), ("a", "update_preimage"), ("b", "update_postimage"), ("b", "delete")], name


def test_a_commit_to_come_is_waited_for(catalog: Catalog, plain: Table) -> None:
    seen: list[list[int]] = []

    def follow() -> None:
        for n, changes in catalog.table("shop.plain").follow(poll=0.02):
            seen.append(ids(changes.to_arrow()))
            if n == 3:
                return

    thread = threading.Thread(target=follow)
    thread.start()
    for first in range(3):
        time.sleep(0.05)
        plain.append(rows(1, first))
    thread.join(timeout=30)
    assert not thread.is_alive() and seen == [[0], [1], [2]]


def test_a_wait_ends(plain: Table) -> None:
    plain.append(rows(1))
    started = time.monotonic()
    assert [n for n, _ in plain.follow(wait=0.2, poll=0.05)] == [1]
    assert 0.2 <= time.monotonic() - started < 5


def test_a_consumer_continues_where_it_was(plain: Table) -> None:
    for first in range(4):
        plain.append(rows(1, first))
    for n, _ in plain.follow(2, consumer="job", wait=0):
        if n == 3:
            break
    assert plain.metadata("consumers").to_pylist() == [{"consumer_id": "job", "next_snapshot_id": 3}]
    plain.call("expire_snapshots", retain_max=1, retain_min=1)
    assert [s.id for s in plain.snapshots()] == [3, 4]
    assert [n for n, _ in plain.follow(1, consumer="job", wait=0)] == [3, 4]
    assert [n for n, _ in plain.follow(consumer="job", wait=0)] == []
    plain.append(rows(1, 9))
    assert [n for n, _ in plain.follow(consumer="job", wait=0)] == [5]


def test_what_is_not_retained_is_an_error_at_once(plain: Table) -> None:
    for first in range(3):
        plain.append(rows(1, first))
    plain.call("expire_snapshots", retain_max=1, retain_min=1)
    assert [n for n, _ in plain.follow(wait=0)] == [3]
    with pytest.raises(errors.NoSuchSnapshotError):
        plain.follow(1)
    with pytest.raises(errors.InvalidInputError, match="has no column"):
        plain.follow(columns=["nosuch"])


def test_an_empty_table_is_followed_from_its_first_commit(keyed: Table) -> None:
    assert list(keyed.follow(wait=0)) == []
    keyed.append(rows(2))
    assert [(n, changes.count()) for n, changes in keyed.follow(wait=0)] == [(1, 2)]


@pytest.mark.parametrize("later", [0, 1, 2])
def test_a_rollback_behind_the_last_commit_is_an_error(plain: Table, later: int) -> None:
    """With later commits, too, which take the ids of those that are gone."""
    for first in range(3):
        plain.append(rows(1, first))
    followed = plain.follow(2, wait=0)
    assert [next(followed)[0], next(followed)[0]] == [2, 3]
    plain.call("rollback", version="2")
    for first in range(later):
        plain.append(rows(1, 10 + first))
    with pytest.raises(errors.NoSuchSnapshotError, match="was rolled back: snapshot 3, which was read"):
        next(followed)


def test_a_rollback_to_the_last_commit_changes_nothing_for_a_follower(plain: Table) -> None:
    for first in range(3):
        plain.append(rows(1, first))
    followed = plain.follow(1, wait=0)
    assert [next(followed)[0], next(followed)[0]] == [1, 2]
    plain.call("rollback", version="2")
    plain.append(rows(1, 9))
    assert [(n, ids(changes.to_arrow())) for n, changes in followed] == [(3, [9])]
