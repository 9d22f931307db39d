"""Rows that outlive their time: compactions drop them, reads do not."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.schema.types import DataField, DataType, IntType, TimestampType, string_type
from paimon_sql.storage.table.record_expiration import RecordExpiration
from paimon_sql.storage.table.table import Table
from tests.storage import commits
from tests.storage.core_tables import again, compact, insert, live, make_table, remove, rows, triggered, written

NOW = int(time.time())
HOUR = 3600
OLD, FRESH = NOW - 2 * HOUR, NOW + 48 * HOUR


def columns(kind: DataType | None = None) -> list[DataField]:
    return [DataField(0, "id", IntType()), DataField(1, "v", string_type()), DataField(2, "at", kind or IntType())]


def expiring(path: Path, options: Mapping[str, str] | None = None, kind: DataType | None = None) -> Table:
    options = {"record-level.expire-time": "1 h", "record-level.time-field": "at", **(options or {})}
    return make_table(path / "t", {"write-only": "true", **options}, columns=columns(kind), keys=("id",))


def test_expired_rows_are_read_until_a_compaction_drops_them(tmp_path: Path) -> None:
    table = expiring(tmp_path)
    insert(table, (1, "old", OLD), (2, "fresh", FRESH), (3, "timeless", None))
    insert(table, (4, "old", 0))
    assert [r[0] for r in rows(table)] == [1, 2, 3, 4]
    compact(table)
    assert rows(table) == [(2, "fresh", FRESH), (3, "timeless", None)]


def test_a_file_on_the_deepest_level_is_rewritten_once_it_holds_expired_rows(tmp_path: Path) -> None:
    table = expiring(tmp_path, {"record-level.expire-time": "10 d"})
    insert(table, (1, "a", OLD), (2, "b", FRESH))
    insert(table, (3, "c", FRESH))
    compact(table)
    assert compact(table) is None
    sooner = again(table, {"record-level.expire-time": "1 h"})
    compact(sooner)
    assert [r[0] for r in rows(table)] == [2, 3]
    assert compact(sooner) is None
    compact(again(table, {"record-level.expire-time": "0 s", "record-level.time-field": "at"}))
    assert [r[0] for r in rows(table)] == [2, 3]


def test_a_table_of_expired_rows_becomes_empty(tmp_path: Path) -> None:
    table = expiring(tmp_path)
    insert(table, (1, "a", OLD))
    compact(table)
    assert rows(table) == [] and list(live(table)) == []


def test_a_lone_file_is_not_moved_with_its_expired_rows(tmp_path: Path) -> None:
    table = expiring(tmp_path, {"target-file-size": "1 b"})
    insert(table, (1, "a", OLD), (2, "b", FRESH))
    compact(table)
    assert [r[0] for r in rows(table)] == [2]


def test_columns_without_statistics_do_not_make_a_file_due(tmp_path: Path) -> None:
    table = expiring(tmp_path, {"record-level.expire-time": "10 d", "metadata.stats-mode": "none"})
    insert(table, (1, "a", OLD), (2, "b", FRESH))
    compact(table)
    assert compact(again(table, {"record-level.expire-time": "1 h"})) is None


def test_each_version_of_a_row_has_its_own_time(tmp_path: Path) -> None:
    options = {"merge-engine": "aggregation", "fields.v.aggregate-function": "listagg"}
    table = expiring(tmp_path, {**options, "fields.at.aggregate-function": "last_value"})
    insert(table, (1, "a", OLD))
    insert(table, (1, "b", FRESH))
    assert rows(table) == [(1, "a,b", FRESH)]
    compact(table)
    assert rows(table) == [(1, "b", FRESH)]


def test_the_time_may_have_been_renamed(tmp_path: Path) -> None:
    table = expiring(tmp_path, {"record-level.expire-time": "10 d"}, TimestampType(True, 6))
    insert(table, (1, "a", datetime.fromtimestamp(OLD, timezone.utc)), (2, "b", None))
    insert(table, (3, "a", datetime.fromtimestamp(FRESH, timezone.utc)))
    compact(table)
    renamed = [*columns()[:2], DataField(2, "since", TimestampType(True, 6))]
    options = {**table.schema.options, "record-level.expire-time": "1 h", "record-level.time-field": "since"}
    schema = replace(table.schema, id=1, fields=tuple(renamed), options=options)
    assert table.schemas.try_add(schema)
    table = Table(table.name, table.path, table.file_io, schema)
    compact(table)
    assert [r[0] for r in rows(table)] == [2, 3]


def test_deletes_stay_deletes(tmp_path: Path) -> None:
    table = expiring(tmp_path)
    insert(table, (1, "a", FRESH), (2, "b", FRESH))
    remove(table, (1, "a", FRESH))
    compact(table)
    assert [r[0] for r in rows(table)] == [2]


@pytest.mark.parametrize(
    "options",
    [
        {"deletion-vectors.enabled": "true", "changelog-producer": "lookup"},
        {"merge-engine": "first-row"},
        {"changelog-producer": "lookup"},
        {"changelog-producer": "full-compaction"},
        {"deletion-vectors.enabled": "true"},
    ],
    ids=lambda o: "-".join(o.values()),
)
def test_no_key_shows_twice_however_rows_are_merged(tmp_path: Path, options: dict[str, str]) -> None:
    table = expiring(tmp_path, {"record-level.expire-time": "10 d", **options})
    insert(table, (1, "old", OLD), (2, "fresh", FRESH))
    compact(table)
    eager = again(table, {"record-level.expire-time": "1 h", "write-only": "false"})
    messages = written(eager, (1, "new", FRESH), (4, "old", OLD))
    commits.append(again(eager), [*messages, *triggered(eager, messages)])
    keys = [r[0] for r in rows(table)]
    assert len(keys) == len(set(keys)) and 1 in keys
    compact(again(table, {"record-level.expire-time": "1 h"}))
    assert [r[0] for r in rows(table)] == [1, 2]


_SECONDS = st.integers(-(10**9), 3 * 10**9)


def _clock(seconds: int) -> datetime:
    return datetime.fromtimestamp(0, timezone.utc) + timedelta(seconds=seconds)


_CASES: dict[str, tuple[pa.DataType, Callable[[int], Any]]] = {
    "int": (pa.int32(), lambda s: s % 2**31),
    "bigint": (pa.int64(), lambda s: s),
    "millis": (pa.int64(), lambda s: 10**12 + s * 1000 % 10**12),
    "timestamp": (pa.timestamp("ms"), _clock),
    "fine timestamp": (pa.timestamp("ns"), _clock),
    "zoned timestamp": (pa.timestamp("us", "UTC"), _clock),
}


@pytest.mark.parametrize("case", _CASES)
@given(st.lists(st.none() | _SECONDS, max_size=6), _SECONDS)
def test_a_row_lives_for_as_long_as_its_time_says(case: str, times: list[int | None], now: int) -> None:
    kind, from_seconds = _CASES[case]
    expiry = RecordExpiration("at", 100, now)
    values = [None if s is None else from_seconds(s) for s in times]

    def seconds(value: datetime | int) -> int:
        if isinstance(value, datetime):
            return int(value.timestamp())
        return value // 1000 if value >= 10**12 else value

    expected = [v is None or now <= seconds(v) + 100 for v in values]
    assert expiry.alive(pa.array(values, kind)).tolist() == expected


def test_rows_cannot_expire_without_a_time(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", {"record-level.expire-time": "1 h"}, columns=columns(), keys=("id",))
    with pytest.raises(InvalidOptionError, match=r"record-level\.time-field"):
        RecordExpiration.of(table)
    assert (
        RecordExpiration.of(make_table(tmp_path / "a", {"record-level.expire-time": "1 h"}, columns=columns())) is None
    )
