"""CALL with Flink's names becomes CALL with those of the Spark catalog."""

from __future__ import annotations

from collections.abc import Callable

import pytest


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("CALL sys.create_tag(`table` => 't', `snapshot_id` => cast(1 as BIGINT))", "CALL sys.create_tag(`table` => 't', snapshot => cast(1 as BIGINT))"),
        ("call SYS.Create_Tag(TABLE => 't', SNAPSHOT_ID => 1);", "call SYS.Create_Tag(TABLE => 't', snapshot => 1);"),
        ("CALL paimon.sys.replace_tag('t', snapshot_id => 1)", "CALL paimon.sys.replace_tag('t', snapshot => 1)"),
        ("CALL `dialect_cat`.sys.reset_consumer('t', consumer_id => 'a', next_snapshot_id => 1)", "CALL `dialect_cat`.sys.reset_consumer('t', consumerId => 'a', nextSnapshotId => 1)"),
        ("CALL sys.clear_consumers(table => 't', including_consumers => 'a', excluding_consumers => 'b')", "CALL sys.clear_consumers(table => 't', includingConsumers => 'a', excludingConsumers => 'b')"),
        ("CALL sys.rename_tag(`table` => 't', tagName => 'a', targetTagName => 'b')", "CALL sys.rename_tag(`table` => 't', tag => 'a', target_tag => 'b')"),
        ("CALL sys.rollback_to('t', 2)", "CALL sys.rollback(table => 't', snapshot => 2)"),
        ("CALL sys.rollback_to('t', cast(2 as bigint))", "CALL sys.rollback(table => 't', snapshot => cast(2 as bigint))"),
        ("CALL sys.`rollback_to`('t', 'tag, => x')", "CALL sys.rollback(table => 't', version => 'tag, => x')"),
        ("CALL sys.rollback_to(`table` => 't', snapshot_id => 3)", "CALL sys.rollback(`table` => 't', snapshot => 3)"),
        ("CALL sys.rollback_to(`table` => 't', `tag` => 'x')", "CALL sys.rollback(`table` => 't', `tag` => 'x')"),
        ("EXPLAIN CALL sys.rollback_to('t', 2)", "EXPLAIN CALL sys.rollback(table => 't', snapshot => 2)"),
        ("CALL sys.create_branch(tag => 'snapshot_id => 1', snapshot_id => 1)", "CALL sys.create_branch(tag => 'snapshot_id => 1', snapshot_id => 1)"),
        ("CALL sys.repair_earliest_snapshot(table => 't', snapshot_id => 5)", "CALL sys.repair_earliest_snapshot(table => 't', snapshot_id => 5)"),
        ("CALL spark_catalog.sys.rollback_to('t', 2)", "CALL spark_catalog.sys.rollback_to('t', 2)"),
        ("CALL db.rollback_to('t', 2)", "CALL db.rollback_to('t', 2)"),
        ("CALL rollback_to('t', 2)", "CALL rollback_to('t', 2)"),
        ("CALL", "CALL"),
    ],
)  # fmt: skip
def test_flinks_names_become_sparks(before: str, after: str, sql: Callable[[str], str]) -> None:
    assert sql(before) == after
    assert sql(after) == after
