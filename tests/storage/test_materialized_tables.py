"""What makes a materialized table, where its last refresh stood, and what has become of its sources since."""

from __future__ import annotations

from dataclasses import replace
from datetime import timezone
from pathlib import Path

import pytest

from paimon_sql.catalog.table_types import writable
from paimon_sql.errors import InvalidInputError, UnsupportedError
from paimon_sql.format.metadata.snapshot import CommitKind, Snapshot
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.types import DataField, DateType, IntType, string_type
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.materialized.definition import (
    Definition,
    Freshness,
    date_formatters,
    definition_of,
    new_definition,
    read_freshness,
    shown_options,
)
from paimon_sql.storage.materialized.refresh import PartitionChoice, RefreshState, is_due, last_refresh
from paimon_sql.storage.scan.read_state import RowChange, compared, is_tracked, state_of
from paimon_sql.storage.schema.changes.alter_columns import AddColumn, DropColumn
from paimon_sql.storage.schema.changes.base import apply_changes
from paimon_sql.storage.schema.changes.options import SetOption
from paimon_sql.storage.table.table import Table
from tests.storage import commits
from tests.storage.small_tables import compact, insert, make_table, overwrite

QUERY = "SELECT `a` FROM `c`.`d`.`t`"


def _definition(options: dict[str, str]) -> Definition:
    return definition_of(new_schema([DataField(0, "a", IntType())], options=options), "m")


def test_options_are_those_that_flink_writes() -> None:
    assert new_definition(QUERY, Freshness(3, "MINUTE"), "FULL", {"spark.sql.ansi.enabled": "true"}).options() == {
        "type": "materialized-table",
        "materialized-table.definition-query": QUERY,
        "materialized-table.interval-freshness": "3",
        "materialized-table.interval-freshness.time-unit": "MINUTE",
        "materialized-table.logical-refresh-mode": "FULL",
        "materialized-table.refresh-mode": "FULL",
        "materialized-table.refresh-status": "ACTIVATED",
        "materialized-table.setting.spark.sql.ansi.enabled": "true",
    }


def test_what_is_written_is_read_again() -> None:
    made = new_definition(QUERY, Freshness(2, "DAY"), None, {"spark.sql.caseSensitive": "false"})
    assert _definition(made.options()) == made


def test_a_table_of_flinks_says_which_job_keeps_it() -> None:
    given = new_definition(QUERY, None, "CONTINUOUS").options()
    job = {
        "materialized-table.refresh-handler-description": "job 1",
        "materialized-table.refresh-handler-bytes": "rO0ABXQ=",
    }
    assert _definition(given | job).handler == "job 1"
    assert _definition(given | job | {"materialized-table.refresh-handler-bytes": " "}).handler is None


@pytest.mark.parametrize(
    ("freshness", "mode", "physical", "logical"),
    [
        (None, None, "CONTINUOUS", "AUTOMATIC"),
        (Freshness(29, "MINUTE"), None, "CONTINUOUS", "AUTOMATIC"),
        (Freshness(30, "MINUTE"), None, "FULL", "AUTOMATIC"),
        (Freshness(1, "DAY"), "CONTINUOUS", "CONTINUOUS", "CONTINUOUS"),
        (None, "FULL", "FULL", "FULL"),
    ],
)
def test_the_freshness_decides_where_no_mode_is_said(
    freshness: Freshness | None, mode: str | None, physical: str, logical: str
) -> None:
    found = new_definition(QUERY, freshness, mode)
    assert (found.mode, found.logical_mode) == (physical, logical)


@pytest.mark.parametrize("number", ["", "0", "-1", "1.5", "x", "99999999999"])
def test_a_freshness_is_a_whole_number_of_units(number: str) -> None:
    with pytest.raises(InvalidInputError, match="FRESHNESS cannot be"):
        read_freshness(number, "DAY")


def test_a_definition_without_its_query_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="has no query"):
        _definition({"type": "materialized-table"})
    with pytest.raises(InvalidInputError, match="not a materialized table"):
        _definition({})


def test_rows_are_changed_by_hand_only_while_it_is_suspended() -> None:
    options = new_definition(QUERY, None, None).options()
    schema = new_schema([DataField(0, "a", IntType())], options=options)
    table = Table("m", "/m", LocalFileIO(), schema)
    with pytest.raises(UnsupportedError, match="whose rows come from its query"):
        writable(table)
    for changed in ({"materialized-table.refresh-status": "SUSPENDED"}, {"type": "table"}):
        other = replace(table, schema=schema.with_options(changed))
        assert writable(other) is other


def test_other_options_are_told_apart() -> None:
    options = new_definition(QUERY, None, None).options() | {"bucket": "1"}
    options |= {"partition.fields.d.t.date-formatter": "yyyy"}
    schema = new_schema([DataField(0, "a", IntType())], options=options)
    assert shown_options(schema) == {"bucket": "1", "partition.fields.d.t.date-formatter": "yyyy"}
    assert date_formatters(schema) == {"d.t": "yyyy"}


def test_the_state_stays_with_the_rows(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    assert last_refresh(table, table.snapshots.latest()) is None
    state = RefreshState("q", 5, "FULL", (state_of(table, None),))
    insert(table, (1, "a", "p"), (2, "b", "p"))
    assert last_refresh(table, table.snapshots.latest()) is None
    commits.annotate(table, properties=state.properties())
    assert last_refresh(table, table.snapshots.latest()) == state
    insert(table, (3, "c", "p"))
    assert last_refresh(table, table.snapshots.latest()) is None


def test_a_compaction_hands_the_state_on(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", primary_keys=["id"])
    insert(table, (1, "a", "p"))
    insert(table, (1, "b", "p"))
    state = RefreshState("q", None, "INCREMENTAL")
    commits.annotate(table, properties=state.properties())
    compact(table)
    latest = table.snapshots.latest()
    assert latest is not None and latest.commit_kind is CommitKind.COMPACT
    assert latest.properties == state.properties()
    assert last_refresh(table, table.snapshots.latest()) == state


def test_a_state_that_cannot_be_read_is_none() -> None:
    assert RefreshState.read({"materialized-table.refresh": "{"}) is None
    assert RefreshState.read({"materialized-table.refresh": "[]"}) is None
    assert RefreshState.read({"materialized-table.refresh": '{"query":"q"}'}) is None
    assert RefreshState.read(None) is None


def test_a_refresh_is_due_when_it_is_older_than_the_freshness() -> None:
    definition = new_definition(QUERY, Freshness(2, "SECOND"), None)
    state = RefreshState(definition.digest, 1_000, "FULL")
    assert not is_due(definition, state, 2_999)
    assert is_due(definition, state, 3_000)
    assert is_due(definition, None, 0)
    assert is_due(definition, replace(state, refreshed=None), 1_000)
    assert is_due(replace(definition, query="SELECT 2"), state, 1_000)
    assert is_due(replace(definition, settings={"a": "b"}), state, 1_000)


def _since(table: Table, before: Snapshot | None) -> RowChange:
    return compared(table, table.snapshots.latest(), state_of(table, before)).since


def test_an_append_table_has_the_same_rows_or_more(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    insert(table, (1, "a", "p"))
    first = table.snapshots.latest()
    assert _since(table, first) is RowChange.SAME
    insert(table, (2, "b", "p"))
    second = table.snapshots.latest()
    assert _since(table, first) is RowChange.APPENDED
    assert _since(table, None) is RowChange.CHANGED
    commits.annotate(table)
    assert _since(table, second) is RowChange.SAME
    overwrite(table)
    assert _since(table, first) is RowChange.CHANGED


def test_a_table_of_other_columns_is_another(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    insert(table, (1, "a", "p"))
    before = state_of(table, table.snapshots.latest())
    option = [SetOption("own", "option")]
    changed = table.schemas.evolve(lambda schema: apply_changes(schema, option, has_data=True))
    again = replace(table, schema=changed)
    assert compared(again, table.snapshots.latest(), before).since is RowChange.SAME
    changes = [DropColumn(("v",)), AddColumn(("v",), string_type())]
    other = again.schemas.evolve(lambda schema: apply_changes(schema, changes, has_data=True))
    now = replace(again, schema=other)
    assert compared(now, table.snapshots.latest(), before).since is RowChange.CHANGED


def test_a_table_made_anew_is_another(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    insert(table, (1, "a", "p"))
    first = table.snapshots.latest()
    assert first is not None
    assert _since(table, replace(first, time_millis=first.time_millis - 1)) is RowChange.CHANGED
    assert _since(table, replace(first, id=7)) is RowChange.CHANGED


def test_rows_of_keys_change(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", primary_keys=["id"])
    insert(table, (1, "a", "p"))
    first = table.snapshots.latest()
    insert(table, (1, "b", "p"))
    second = table.snapshots.latest()
    assert _since(table, first) is RowChange.CHANGED
    compact(table)
    assert _since(table, second) is RowChange.SAME
    vectors = table.with_options({"deletion-vectors.enabled": "true"})  # where a compaction shows new rows
    assert _since(vectors, second) is RowChange.CHANGED


def test_a_read_that_looks_elsewhere_is_not_told_by_snapshots(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    assert is_tracked(table)
    for key, value in [
        ("scan.snapshot-id", "1"),
        ("scan.fallback-branch", "b"),
        ("incremental-between", "1,2"),
        ("scan.mode", "latest-full"),
        ("record-level.expire-time", "1 d"),
    ]:
        assert not is_tracked(table.with_options({key: value})), key


def test_partitions_are_read_by_the_types_of_their_columns() -> None:
    fields = [DataField(0, "d", DateType()), DataField(1, "h", IntType())]
    schema = new_schema(fields, partition_keys=["d", "h"])
    chosen = PartitionChoice(schema, [{"d": "2024-01-01", "h": "3"}, {"h": "__DEFAULT_PARTITION__"}], timezone.utc)
    assert chosen.shown == "d=2024-01-01/h=3, h=__DEFAULT_PARTITION__"
    assert [list(one) for one in chosen.values] == [["d", "h"], ["h"]]
    assert chosen.values[0]["h"] == 3 and chosen.values[1]["h"] is None
    assert chosen.predicate.columns() == {"d", "h"}
    with pytest.raises(InvalidInputError, match="not a partition column"):
        PartitionChoice(schema, [{"x": "1"}], timezone.utc)
    with pytest.raises(InvalidInputError, match="is not a value of partition column h"):
        PartitionChoice(schema, [{"h": "x"}], timezone.utc)
