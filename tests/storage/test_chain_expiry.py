"""Partitions of chain tables expire with the changes that are read from them on, never the last of a chain."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pytest

from paimon_sql.errors import InvalidOptionError
from paimon_sql.storage.maintenance.partitions.expiration import (
    ExpiredPartition,
    expire_partitions,
    plan_partition_expiry,
)
from paimon_sql.storage.table.table import Table
from tests.storage.chain_tables import make_chain
from tests.storage.core_tables import again, insert, rows

NOW = int(datetime(2025, 3, 31, tzinfo=timezone.utc).timestamp() * 1000)
LIFE = {"partition.expiration-time": "30 d"}


def days(table: Table) -> list[str]:
    return sorted({f"{row[3]}{row[4]}" for row in rows(table)})


def put(table: Table, *partitions: str) -> None:
    for text in partitions:
        insert(table, (1, 1, "v", text[:-8], text[-8:]))


def shown(partitions: list[ExpiredPartition]) -> list[tuple[str, str]]:
    return [(p.branch.branch if p.branch else "", p.text) for p in partitions]


def test_segments_before_the_last_whole_partition_go(tmp_path: Path) -> None:
    table, whole, changed = make_chain(tmp_path / "t", LIFE)
    put(whole, "20250101", "20250201", "20250301")
    put(changed, "20241220", "20250101", "20250110", "20250210", "20250315")
    before = {r for r in rows(table) if r[4] >= "20250201"}
    plan = plan_partition_expiry(again(whole), NOW)
    assert shown(plan.partitions) == [
        ("changed", "dt=20241220"),
        ("changed", "dt=20250101"),
        ("changed", "dt=20250110"),
        ("whole", "dt=20250101"),
    ]
    assert plan.oldest == "dt=20250201" and plan.left == 0
    done = expire_partitions(again(table), plan)
    assert [s and s.id for s in done.snapshots] == [6, 6, 6, 4]
    assert days(whole) == ["20250201", "20250301"] and days(changed) == ["20250210", "20250315"]
    assert set(rows(table)) == before
    assert not plan_partition_expiry(again(table), NOW).partitions


def test_no_more_segments_go_than_may(tmp_path: Path) -> None:
    table, whole, changed = make_chain(tmp_path / "t", {**LIFE, "partition.expiration-max-num": "1"})
    put(whole, "20250101", "20250110", "20250120", "20250201")
    put(changed, "20250105", "20250111")
    plan = plan_partition_expiry(table, NOW)
    assert shown(plan.partitions) == [("changed", "dt=20250105"), ("whole", "dt=20250101")] and plan.left == 2
    expire_partitions(table, plan)
    assert shown(plan_partition_expiry(again(table), NOW).partitions)[-1] == ("whole", "dt=20250110")


def test_groups_expire_by_themselves_and_need_two_whole_partitions(tmp_path: Path) -> None:
    options = {**LIFE, "chain-table.chain-partition-keys": "dt"}
    table, whole, changed = make_chain(tmp_path / "t", options, ["region", "dt"])
    put(whole, "CN20250101", "CN20250102", "US20250101", "US20250320")
    put(changed, "CN20250101", "US20250101", "US20241201", "FR20240101")
    plan = plan_partition_expiry(table, NOW)
    assert shown(plan.partitions) == [("changed", "region=CN, dt=20250101"), ("whole", "region=CN, dt=20250101")]


def test_the_age_is_told_by_the_values(tmp_path: Path) -> None:
    table, whole, _ = make_chain(tmp_path / "t", LIFE)
    insert(whole, (1, 1, "v", "", "20250x"))
    assert plan_partition_expiry(table, NOW).without_time == ["dt=20250x"]
    with pytest.raises(InvalidOptionError, match="values alone"):
        plan_partition_expiry(again(table, {"partition.expiration-strategy": "update-time"}), NOW)


def test_a_commit_lets_chains_expire(tmp_path: Path) -> None:
    options = {**LIFE, "partition.expiration-check-interval": "0 s"}
    _, whole, changed = make_chain(tmp_path / "t", options)
    put(changed, "20240101", "20240102")
    put(whole, "20240101", "20240102")
    assert days(whole) == days(changed) == ["20240102"]
