"""Partitions whose time is over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_sql.errors import InvalidInputError, InvalidOptionError, UnsupportedError
from paimon_sql.format.metadata.snapshot import CommitKind, Snapshot
from paimon_sql.format.options import TableOptions
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.maintenance.partitions.expiration import (
    PartitionExpiration,
    expire_partitions,
    plan_partition_expiry,
)
from paimon_sql.storage.table.partitions import PartitionTimes
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from tests.storage import commits
from tests.storage.small_tables import compact, insert, make_table, rows_at

LIFE = {"partition.expiration-time": "7 d"}
NOW = (datetime(2024, 3, 10, 12) - datetime(1970, 1, 1)) // timedelta(milliseconds=1)
_LONG_AGO = -(10**15)


def texts(plan: PartitionExpiration) -> list[str]:
    return [p.text for p in plan.partitions]


def partitioned(path: Path, days: Sequence[str | None], options: dict[str, str] | None = None, **more: Any) -> Table:
    table = make_table(path, {**LIFE, **(options or {})}, partition_keys=["p"], **more)
    insert(table, *((i, "v", day) for i, day in enumerate(days)))
    return table


def latest_rows(table: Table) -> list[tuple[Any, ...]]:
    latest = table.snapshots.latest()
    assert latest is not None
    return rows_at(table, latest)


def test_partitions_go_whose_values_are_older_than_their_life(tmp_path: Path) -> None:
    table = partitioned(tmp_path / "t", ["2024-03-02", "2024-03-03", "2024-03-04", "2024-03-03 12:00:00"])
    plan = plan_partition_expiry(table, NOW)
    assert texts(plan) == ["p=2024-03-02", "p=2024-03-03"]
    assert (plan.oldest, plan.left, plan.without_time) == ("p=2024-03-03 12:00:00", 0, [])
    done = expire_partitions(table, plan)
    assert [s and (s.id, s.commit_kind) for s in done.snapshots] == [(2, CommitKind.OVERWRITE)] * 2
    assert [row[2] for row in latest_rows(table)] == ["2024-03-04", "2024-03-03 12:00:00"]
    assert expire_partitions(table, plan_partition_expiry(table, NOW)).snapshots == []
    assert table.snapshots.latest_id() == 2


def test_values_that_tell_no_time_stay_and_are_named(tmp_path: Path) -> None:
    table = partitioned(tmp_path / "t", [None, "", "unknown", "2020-01-01"])
    plan = plan_partition_expiry(table, NOW)
    assert texts(plan) == ["p=2020-01-01"]
    assert sorted(plan.without_time) == ["p=", "p=__DEFAULT_PARTITION__", "p=unknown"]


def test_the_oldest_go_first_when_not_all_may(tmp_path: Path) -> None:
    options = {"partition.timestamp-formatter": "d.M.yyyy", "partition.expiration-max-num": "2"}
    table = partitioned(tmp_path / "t", ["1.12.2020", "2.1.2019", "3.5.2021", "10.1.2020"], options)
    plan = plan_partition_expiry(table, NOW)
    assert (texts(plan), plan.left) == (["p=10.1.2020", "p=2.1.2019"], 2)


def test_a_commit_drops_no_more_than_a_batch(tmp_path: Path) -> None:
    table = partitioned(
        tmp_path / "t", [f"2020-01-0{i}" for i in range(1, 6)], {"partition.expiration-batch-size": "2"}
    )
    done = expire_partitions(table, plan_partition_expiry(table, NOW))
    assert [s and s.id for s in done.snapshots] == [2, 2, 3, 3, 4]
    assert latest_rows(table) == []


def test_keyed_tables_lose_files_of_all_levels_and_their_indexes(tmp_path: Path) -> None:
    schema = {"bucket": "-1", "dynamic-bucket.target-row-num": "1"}
    table = partitioned(tmp_path / "t", ["2020-01-01", "2099-01-01"], schema, primary_keys=["id", "p"])
    compact(table)
    insert(table, (7, "w", "2020-01-01"))
    expire_partitions(table, plan_partition_expiry(table, NOW))
    assert [row[2] for row in latest_rows(table)] == ["2099-01-01"]
    insert(table, (7, "new", "2020-01-01"))
    assert (7, "new", "2020-01-01") in latest_rows(table)


def test_the_last_change_may_tell_the_age(tmp_path: Path) -> None:
    table = partitioned(tmp_path / "t", ["a", "b"], {"partition.expiration-strategy": "update-time"})
    assert texts(plan_partition_expiry(table)) == []
    later = NOW * 0 + 4 * 10**12
    assert texts(plan_partition_expiry(table, later)) == ["p=a", "p=b"]


def test_a_partition_that_changes_meanwhile_stays_if_its_age_is_that_of_the_change(tmp_path: Path) -> None:
    table = partitioned(tmp_path / "t", ["a", "b"], {"partition.expiration-strategy": "update-time"})
    plan = plan_partition_expiry(table, 4 * 10**12)
    plan.partitions[0] = replace(plan.partitions[0], time=plan.partitions[0].time - 1)
    expire_partitions(table, plan)
    assert [row[2] for row in latest_rows(table)] == ["a"]
    assert expire_partitions(table, plan).snapshots == [None, None]
    assert table.snapshots.latest_id() == 2


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"partition.expiration-strategy": "luck"}, InvalidOptionError),
        ({"partition.timestamp-formatter": "bad pattern"}, InvalidOptionError),
        ({"branch-merge.enabled": "true"}, UnsupportedError),
    ],
)
def test_what_cannot_be_understood_drops_nothing(
    tmp_path: Path, options: dict[str, str], error: type[Exception]
) -> None:
    table = partitioned(tmp_path / "t", ["2020-01-01"])
    with pytest.raises(error):
        plan_partition_expiry(table.with_options(options), NOW)


def test_a_table_must_have_partitions_and_say_how_long_they_live(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="no partitions"):
        plan_partition_expiry(make_table(tmp_path / "flat", LIFE), NOW)
    with pytest.raises(InvalidInputError, match="expiration time"):
        plan_partition_expiry(make_table(tmp_path / "t", partition_keys=["p"]), NOW)


def test_a_life_without_end_ends_nothing(tmp_path: Path) -> None:
    table = partitioned(tmp_path / "t", ["0001-01-01"], {"partition.expiration-time": "999999999 d"})
    assert texts(plan_partition_expiry(table, NOW)) == []


TYPED: list[tuple[t.DataType, Any, Any, str]] = [
    (t.DateType(), date(2020, 1, 1), date(2099, 1, 1), "p=2020-01-01"),
    (t.TimestampType(True, 3), datetime(2020, 1, 1, 8), datetime(2099, 1, 1), "p=2020-01-01 08:00:00.000"),
    (t.LocalZonedTimestampType(True, 6), datetime(2020, 1, 1, tzinfo=timezone.utc), datetime(2099, 1, 1), "p=2020"),
]


@pytest.mark.parametrize(("data_type", "old", "new", "text"), TYPED)
@pytest.mark.parametrize("formatter", [None, "yyyyMMdd"])
def test_dates_and_timestamps_tell_their_time_by_themselves(
    tmp_path: Path, data_type: t.DataType, old: Any, new: Any, text: str, formatter: str | None
) -> None:
    fields = [t.DataField(0, "id", t.IntType()), t.DataField(1, "p", data_type)]
    options = {**LIFE, **({"partition.timestamp-formatter": formatter} if formatter else {})}
    schema = new_schema(fields, options=options, partition_keys=["p"])
    table = Table("t", str(tmp_path / "t"), LocalFileIO(), schema)
    assert table.schemas.try_add(schema)
    table = table.with_options({"write-only": "true"})
    rows = pa.RecordBatch.from_pydict({"id": [1, 2, 3], "p": [old, new, None]}, schema=arrow_schema(fields))
    made: list[Snapshot] = commits.append(table, plan_write(table).run([rows]))
    assert len(made) == 1
    (found,) = texts(plan_partition_expiry(table, NOW))
    assert found.startswith(text)


def fields_of(*columns: tuple[str, t.DataType]) -> list[t.DataField]:
    return [t.DataField(i, name, data_type) for i, (name, data_type) in enumerate(columns)]


@given(st.datetimes(datetime(1600, 1, 1), datetime(9999, 1, 1)))
def test_a_pattern_puts_columns_together(at: datetime) -> None:
    at = at.replace(minute=0, second=0, microsecond=0)
    fields = fields_of(("d", t.DateType()), ("dt", t.string_type()), ("hour", t.IntType()), ("h", t.string_type()))
    values = {"d": at.date(), "dt": f"{at:%Y%m%d}", "hour": at.hour, "h": f"{at.hour:02}"}
    expected = (at - datetime(1970, 1, 1)) // timedelta(hours=1) * 3600 * 10**9
    for pattern, formatter in (
        ("$dt$h", "yyyyMMddHH"),
        ("$dt at $hour", "yyyyMMdd 'at' H"),
        ("$d $hour:00:00", None),
        ("$d $h", "yyyy-MM-dd HH"),
    ):
        options = {"partition.timestamp-pattern": pattern}
        if formatter:
            options["partition.timestamp-formatter"] = formatter
        assert PartitionTimes(fields, TableOptions(options)).of(values) == expected


def test_names_in_a_pattern_that_are_no_columns_stay_text() -> None:
    options = TableOptions({"partition.timestamp-pattern": "$year", "partition.timestamp-formatter": "'$year'"})
    assert PartitionTimes(fields_of(("dt", t.string_type())), options).of({"dt": "x"}) is None


def test_a_null_in_a_column_that_the_pattern_does_not_name_does_no_harm() -> None:
    fields = fields_of(("region", t.string_type()), ("dt", t.string_type()))
    options = TableOptions({"partition.timestamp-pattern": "$dt"})
    assert PartitionTimes(fields, options).of({"region": None, "dt": "1970-01-01"}) == 0
    assert PartitionTimes(fields, options).of({"region": "x", "dt": None}) is None


def test_a_strict_table_takes_no_partition_without_a_time(tmp_path: Path) -> None:
    options = {"partition.timestamp-format.strict": "true", "partition.timestamp-formatter": "yyyyMMdd"}
    table = partitioned(tmp_path / "t", ["20240101", "20240102"], options)
    for wrong in ("2024-01-01", None):
        with pytest.raises(InvalidInputError, match="has no time"):
            insert(table, (1, "v", "20240103"), (2, "v", wrong))
    assert len(latest_rows(table)) == 2
    assert not [p for p in Path(table.path).rglob("*") if "20240103" in p.name and list(p.rglob("*.parquet"))]
    loose = make_table(tmp_path / "u", {"partition.timestamp-format.strict": "true"}, partition_keys=["p"])
    insert(loose, (1, "v", "x"))
