"""System tables of tables made here: time travel, what is hidden, and the texts of values."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.errors import NoSuchSnapshotError
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_schema, arrow_type
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.types import DataField
from paimon_sql.format.text.values import java_text
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.maintenance.tags.management import create_tag
from paimon_sql.storage.staging.proposal import Overwrite, overwritten
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from paimon_sql.system_tables import system_tables
from paimon_sql.system_tables.formatting import java_strings, pair_strings
from tests.storage import commits

QUICK = settings(max_examples=60)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    columns = [
        DataField(0, "id", t.IntType(False)),
        DataField(1, "v", t.string_type()),
        DataField(2, "d", t.DateType()),
    ]
    schema = new_schema(columns, partition_keys=("d",), options={"bucket": "-1"})
    table = Table("t", str(tmp_path / "t"), LocalFileIO(), schema)
    assert table.schemas.try_add(schema)
    return table


def insert(table: Table, *rows: tuple[Any, ...], overwrite: bool = False) -> None:
    schema = arrow_schema(table.schema.fields)
    arrays = [pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), schema, strict=True)]
    messages = plan_write(table, Overwrite() if overwrite else None).run(
        [pa.RecordBatch.from_arrays(arrays, schema=schema)]
    )
    if overwrite:
        commits.overwrite(table, messages, lambda latest: overwritten(table, latest, Overwrite(), messages))
    else:
        commits.append(table, messages)


def rows(table: Table, name: str, *columns: str, **options: str) -> list[tuple[Any, ...]]:
    keys = {f"scan.{k.replace('_', '-')}": v for k, v in options.items()}
    found = system_tables()[name].rows(replace(table).with_options(keys or {"x": "y"}))
    assert found.schema == arrow_schema(system_tables()[name].columns)
    return [tuple(r.values()) for r in found.select(list(columns)).to_pylist()]


DAY = dt.date(2024, 2, 29)


def test_every_system_table_of_an_empty_table_is_empty_or_tells_its_definition(table: Table) -> None:
    for name in ("files", "manifests", "partitions", "buckets", "tags", "branches", "consumers", "snapshots"):
        assert rows(table, name, system_tables()[name].columns[0].name) == []
    assert rows(table, "options", "key", "value") == [("bucket", "-1")]
    assert rows(table, "schemas", "schema_id", "partition_keys", "primary_keys", "options") == [
        (0, '["d"]', "[]", '{"bucket":"-1"}')
    ]


def test_files_and_manifests_follow_time_travel(table: Table) -> None:
    insert(table, (1, "a", DAY))
    insert(table, (2, "b", DAY), (3, None, None))
    create_tag(table, "one", 1)
    assert rows(table, "files", "partition", "record_count", snapshot_id="1") == [("{2024-02-29}", 1)]
    assert rows(table, "files", "record_count", tag_name="one") == [(1,)]
    assert sorted(rows(table, "files", "partition", "null_value_counts")) == [
        ("{2024-02-29}", "{d=0, id=0, v=0}"),
        ("{2024-02-29}", "{d=0, id=0, v=0}"),
        ("{null}", "{d=1, id=0, v=1}"),
    ]
    assert rows(table, "manifests", "num_added_files", "min_partition_stats", version="1") == [(1, "{2024-02-29}")]
    assert len(rows(table, "manifests", "file_name")) == 2
    with pytest.raises(NoSuchSnapshotError, match="50"):
        rows(table, "manifests", "file_name", snapshot_id="50")
    assert len(rows(table, "snapshots", "snapshot_id", snapshot_id="1")) == 2


def test_files_show_columns_of_then_under_time_travel(table: Table) -> None:
    insert(table, (1, "a", DAY))
    table.schemas.evolve(
        lambda s: replace(s, id=1, fields=(*s.fields, DataField(3, "w", t.BigIntType())), highest_field_id=3)
    )
    newest = table.schemas.latest()
    assert newest is not None
    today = replace(table, schema=newest)
    assert rows(today, "files", "null_value_counts") == [("{d=0, id=0, v=0, w=1}",)]
    assert rows(today, "files", "null_value_counts", snapshot_id="1") == [("{d=0, id=0, v=0}",)]


def test_partitions_and_buckets_count_what_is_live(table: Table) -> None:
    insert(table, (1, "a", DAY), (2, "b", None))
    insert(table, (3, "c", DAY))
    assert rows(table, "partitions", "partition", "record_count", "file_count", "total_buckets", "done") == [
        ("d=2024-02-29", 2, 2, -1, False),
        ("d=__DEFAULT_PARTITION__", 1, 1, -1, False),
    ]
    assert rows(table, "buckets", "partition", "bucket", "record_count", "file_count") == [
        ("{2024-02-29}", 0, 2, 2),
        ("{null}", 0, 1, 1),
    ]
    insert(table, (9, "z", DAY), overwrite=True)
    assert rows(table, "partitions", "partition", "deleted_record_count") == [("d=2024-02-29", 0)]
    newest = rows(table, "files", "creation_time")
    assert rows(table, "buckets", "last_update_time") == newest
    assert abs(newest[0][0] - dt.datetime.now()) < timedelta(minutes=5)


def test_a_snapshot_whose_expiry_is_under_way_is_not_shown(table: Table) -> None:
    for i in range(3):
        insert(table, (i, "a", DAY))
    table.snapshots.directory.reset_hint("EARLIEST", 2)
    assert rows(table, "snapshots", "snapshot_id") == [(2,), (3,)]


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (timedelta(hours=36), "PT36H"),
        (timedelta(days=7), "PT168H"),
        (timedelta(minutes=90), "PT1H30M"),
        (timedelta(milliseconds=1), "PT0.001S"),
        (timedelta(seconds=61), "PT1M1S"),
    ],
)
def test_tags_show_their_life_as_iso_text(table: Table, length: timedelta, text: str) -> None:
    insert(table, (1, "a", DAY))
    create_tag(table, "t", 1, length)
    create_tag(table, "plain", 1)
    assert rows(table, "tags", "tag_name", "snapshot_id", "record_count", "time_retained") == [
        ("plain", 1, 1, None),
        ("t", 1, 1, text),
    ]
    assert rows(table, "tags", "commit_time")[0] == rows(table, "snapshots", "commit_time")[0]


def test_consumers_and_branches_are_listed(table: Table) -> None:
    table.consumers.reset("job", 7)
    Path(table.branches.root("dev")).mkdir(parents=True)
    assert rows(table, "consumers", "consumer_id", "next_snapshot_id") == [("job", 7)]
    ((name, made),) = rows(table, "branches", "branch_name", "create_time")
    assert name == "dev"
    assert abs(made - dt.datetime.now()) < timedelta(minutes=5)


VALUES: list[tuple[t.DataType, st.SearchStrategy[Any]]] = [
    (t.BooleanType(), st.booleans()),
    (t.TinyIntType(), st.integers(-128, 127)),
    (t.BigIntType(), st.integers(-(2**63), 2**63 - 1)),
    (t.FloatType(), st.floats(width=32)),
    (t.DoubleType(), st.floats()),
    (t.DecimalType(True, 38, 10), st.decimals(-(10**27), 10**27, places=10)),
    (t.DecimalType(True, 5, 0), st.integers(-99999, 99999).map(Decimal)),
    (t.string_type(), st.text()),
    (t.DateType(), st.dates()),
    (t.TimeType(True, 3), st.times().map(lambda v: v.replace(microsecond=v.microsecond // 1000 * 1000))),
    (t.TimestampType(True, 6), st.datetimes()),
    (t.TimestampType(True, 0), st.datetimes().map(lambda v: v.replace(microsecond=0))),
    (
        t.LocalZonedTimestampType(True, 3),
        st.datetimes().map(lambda v: v.replace(microsecond=v.microsecond // 1000 * 1000)),
    ),
    (t.VarBinaryType(True, 100), st.binary(max_size=8)),
]


@pytest.mark.parametrize(("data_type", "values"), VALUES, ids=[v[0].sql() for v in VALUES])
def test_columns_print_like_single_values(data_type: t.DataType, values: st.SearchStrategy[Any]) -> None:
    @QUICK
    @given(st.lists(st.none() | values, max_size=6))
    def check(found: list[Any]) -> None:
        array = pa.array(found, arrow_type(data_type))
        expected = [None if v is None else java_text(_plain(v, data_type), data_type) for v in found]
        assert java_strings(array, data_type).to_pylist() == expected

    check()


def _plain(value: Any, data_type: t.DataType) -> Any:
    if isinstance(data_type, t.TimeType):
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000
    return value


def test_pairs_are_sorted_by_name_as_java_sorts_them() -> None:
    names = ["b", "\U0001f600", "a", "\uffee", "B"]
    columns = [pa.array([n + "!", None], pa.string()) for n in names]
    texts = pair_strings(names, columns, 2).to_pylist()
    assert texts[0] == "{B=B!, a=a!, b=b!, \U0001f600=\U0001f600!, \uffee=\uffee!}"
    assert texts[1].count("=null") == 5
    assert pair_strings([], [], 2).to_pylist() == ["{}", "{}"]
