from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.errors import CommitConflictError, InvalidInputError
from paimon_sql.storage.expressions.predicates import Comparison
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.assignment.assigners import (
    MAX_BUCKETS,
    AssignerPartition,
    assigner_partition_of,
    key_hashes,
)
from paimon_sql.storage.write.buckets.base import hash_indexes
from paimon_sql.storage.write.plan import plan_write
from paimon_sql.storage.write.writers import Target
from tests.storage import commits
from tests.storage.core_tables import (
    again,
    batch_of,
    compact,
    insert,
    live,
    make_table,
    overwrite,
    remove,
    rows,
    written,
)

DYNAMIC = {"bucket": "-1", "write-only": "true"}


def dynamic_table(path: Path, options: Mapping[str, str] | None = None) -> Table:
    return make_table(path, {**DYNAMIC, **(options or {})}, keys=["id", "p"], partitions=["p"])


def indexes(table: Table) -> dict[Target, list[int]]:
    table = again(table)
    return {t: sorted(i.read(table).tolist()) for t, i in hash_indexes(table, table.snapshots.latest()).items()}


def buckets_by_hash(table: Table) -> dict[tuple[bytes, int], int]:
    found: dict[tuple[bytes, int], int] = {}
    for (partition, bucket), hashes in indexes(table).items():
        for number in hashes:
            assert (partition, number) not in found, "a key stands in two buckets"
            found[partition, number] = bucket
    return found


@given(
    counts=st.dictionaries(st.integers(0, 5), st.integers(0, 12)),
    lanes=st.integers(1, 4),
    number=st.integers(0, 3),
    target=st.integers(1, 10),
    most=st.one_of(st.just(-1), st.integers(4, 8)),
    keys=st.integers(0, 60),
)
def test_new_keys_fill_what_has_room_and_open_buckets_of_their_lane_alone(
    counts: dict[int, int], lanes: int, number: int, target: int, most: int, keys: int
) -> None:
    number %= lanes
    before = {b * lanes + number: c for b, c in counts.items() if most == -1 or b * lanes + number < most}
    lane = AssignerPartition(number, lanes, target, most, dict(before))
    placed = lane.place(keys)
    assert len(placed) == keys
    assert {b % lanes for b in placed.tolist()} <= {number}
    got = dict(zip(*(a.tolist() for a in np.unique(placed, return_counts=True)), strict=True))
    assert lane.counts == {b: before.get(b, 0) + got.get(b, 0) for b in {*before, *got}}
    if most == -1:
        assert all(c <= max(target, before.get(b, 0)) for b, c in lane.counts.items())
    else:
        assert max(lane.counts, default=0) < most
    opened = sorted(set(lane.counts) - set(before))
    assert opened == [b for b in range(number, MAX_BUCKETS, lanes) if b not in before][: len(opened)]


def test_a_partition_cannot_have_more_buckets_than_can_be_numbered() -> None:
    with pytest.raises(InvalidInputError, match="more than 32767 dynamic buckets"):
        AssignerPartition(0, 1, 1).place(MAX_BUCKETS + 1)


@pytest.mark.parametrize("target", [0, -5])
def test_buckets_without_room_are_opened_up_to_the_limit(target: int) -> None:
    assert AssignerPartition(0, 1, target, 3).place(4).tolist() == [0, 1, 2, 0]


BATCHES = st.lists(
    st.lists(st.tuples(st.integers(0, 40), st.sampled_from("xyz"), st.sampled_from("pq")), max_size=25),
    min_size=1,
    max_size=4,
)


@settings(max_examples=15)
@given(batches=BATCHES, lanes=st.integers(1, 3), target=st.integers(1, 8))
def test_dynamic_buckets_hold_what_a_plain_model_holds(
    batches: list[list[tuple[int, str, str]]], lanes: int, target: int
) -> None:
    model: dict[tuple[int, str], str] = {}
    with tempfile.TemporaryDirectory() as folder:
        table = dynamic_table(Path(folder) / "t", {"dynamic-bucket.target-row-num": str(target)})
        places: dict[tuple[bytes, int], int] = {}
        for number, batch in enumerate(batches):
            said = str((lanes + number) % 3 + 1)
            one = again(table, {"dynamic-bucket.assigner-parallelism": said})
            commits.append(one, plan_write(one).run([batch_of(one, batch)]))
            model.update({(k, p): v for k, v, p in batch})
            now = buckets_by_hash(table)
            assert places.items() <= now.items(), "a key left its bucket"
            places = now
        assert sorted(rows(table)) == sorted((k, v, p) for (k, p), v in model.items())
        assert len(places) == len(model)
        assert all(len(hashes) <= target for hashes in indexes(table).values())
        assert {(e.partition, e.bucket) for e in live(table)} == set(indexes(table))
        assert all(e.total_buckets == -1 for e in live(table))


def test_lanes_are_remainders_of_hashes_without_their_sign() -> None:
    hashes = np.array([0, 7, -7, 2**31 - 1, -(2**31)], np.int32)
    assert assigner_partition_of(hashes, 5).tolist() == [0, 2, 2, (2**31 - 1) % 5, 2**31 % 5]


def test_the_greatest_number_of_buckets_is_kept(tmp_path: Path) -> None:
    options = {"dynamic-bucket.target-row-num": "1", "dynamic-bucket.max-buckets": "3"}
    table = dynamic_table(tmp_path / "t", options)
    insert(table, *((i, "v", "p") for i in range(10)))
    insert(table, *((i, "w", "p") for i in range(20)))
    assert {e.bucket for e in live(table)} == {0, 1, 2}
    assert len(rows(table)) == 20


def test_initial_buckets_are_filled_side_by_side(tmp_path: Path) -> None:
    table = dynamic_table(tmp_path / "t", {"dynamic-bucket.initial-buckets": "4"})
    insert(table, *((i, "v", "p") for i in range(200)))
    assert {e.bucket for e in live(table)} == {0, 1, 2, 3}


def test_a_deleted_key_keeps_its_bucket(tmp_path: Path) -> None:
    table = dynamic_table(tmp_path / "t", {"dynamic-bucket.target-row-num": "1"})
    insert(table, (1, "a", "p"), (2, "b", "p"))
    before = buckets_by_hash(table)
    remove(table, (1, "a", "p"))
    insert(table, (3, "c", "p"), (1, "again", "p"))
    assert before.items() <= buckets_by_hash(table).items()
    assert sorted(rows(table)) == [(1, "again", "p"), (2, "b", "p"), (3, "c", "p")]


def test_an_overwrite_begins_anew_and_leaves_other_partitions_as_they_are(tmp_path: Path) -> None:
    table = dynamic_table(tmp_path / "t", {"dynamic-bucket.target-row-num": "1"})
    insert(table, (1, "a", "p"), (2, "b", "p"), (1, "a", "q"), (2, "b", "q"))
    where = Comparison("p", "=", batch_of(table, [(1, "", "p")]).column("p")[0])
    overwrite(table, (2, "new", "p"), partitions=where)
    found = buckets_by_hash(table)
    hashes = key_hashes(table.schema, batch_of(table, [(1, "", ""), (2, "", "")])).tolist()
    assert sorted((number, bucket) for (_, number), bucket in found.items()) == sorted(
        [(hashes[0], 0), (hashes[1], 1), (hashes[1], 0)]
    )
    assert sorted(rows(table)) == [(1, "a", "q"), (2, "b", "q"), (2, "new", "p")]
    overwrite(table, (1, "x", "p"), (3, "x", "p"), dynamic=True)
    assert sorted(rows(table)) == [(1, "a", "q"), (1, "x", "p"), (2, "b", "q"), (3, "x", "p")]


def test_the_index_of_a_bucket_that_lost_all_rows_counts_as_empty(tmp_path: Path) -> None:
    table = dynamic_table(tmp_path / "t", {"dynamic-bucket.target-row-num": "1", "write-only": "false"})
    insert(table, (1, "a", "p"), (2, "b", "p"))
    remove(table, (1, "a", "p"), (2, "b", "p"))
    compact(table)
    assert not live(table)
    insert(table, (2, "c", "p"))
    assert {e.bucket for e in live(table)} == {0}
    insert(table, (2, "d", "p"), (1, "e", "p"))
    assert sorted(rows(table)) == [(1, "e", "p"), (2, "d", "p")]


def test_two_writers_of_new_keys_do_not_both_win(tmp_path: Path) -> None:
    table = dynamic_table(tmp_path / "t", {"dynamic-bucket.target-row-num": "1"})
    insert(table, (1, "a", "p"), (1, "a", "q"))
    mine = again(table)
    task = plan_write(mine)
    messages = task.run([batch_of(mine, [(2, "mine", "p")])])
    elsewhere = written(again(table), (5, "else", "q"))
    insert(table, (2, "rival", "p"))
    with pytest.raises(CommitConflictError, match="added new keys to the dynamic buckets of partition p=p"):
        commits.append(mine, messages, validations=task.validations(messages))
    commits.append(again(table), elsewhere)
    assert sorted(rows(table)) == [(1, "a", "p"), (1, "a", "q"), (2, "rival", "p"), (5, "else", "q")]
