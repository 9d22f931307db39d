"""The procedures about what ends or begins by time: tags, partitions, consumers; called without Spark."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidInputError, InvalidOptionError, NoSuchSnapshotError, PaimonError
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.types import DataField, DateType, IntType, string_type
from paimon_sql.procedures import procedures
from paimon_sql.procedures.base import Context
from paimon_sql.storage.write.plan import plan_write
from tests.procedures.rows import rows_of
from tests.storage import commits

Call = Callable[..., list[dict[str, Any]]]
FIELDS = [
    DataField(0, "id", IntType()),
    DataField(1, "dt", string_type()),
    DataField(2, "day", DateType()),
]


@pytest.fixture
def context(tmp_path: Path) -> Context:
    catalog = FileSystemCatalog("paimon", {"warehouse": str(tmp_path)})
    catalog.create_database("d", {})
    catalog.create_table(Identifier("d", "t"), new_schema(FIELDS, partition_keys=["dt"]))
    catalog.create_table(Identifier("d", "two"), new_schema(FIELDS, partition_keys=["day", "dt"]))
    return Context(catalog, "d")


@pytest.fixture
def call(context: Context) -> Call:
    def run(name: str, **given: Any) -> list[dict[str, Any]]:
        assert procedures()[name].arguments[-1].name == "dry_run"
        return rows_of(context, name, **given)

    return run


def insert(context: Context, *days: str | None, table: str = "t", **options: str) -> None:
    opened = context.table(table).with_options(options)
    rows: dict[str, list[Any]] = {"id": list(range(len(days))), "dt": list(days), "day": [20_000] * len(days)}
    batch = pa.RecordBatch.from_pydict(
        {n: pa.array(v, pa.int32()).cast(pa.date32()) if n == "day" else v for n, v in rows.items()},
        schema=arrow_schema(FIELDS),
    )
    commits.append(opened, plan_write(opened).run([batch]))


def state(context: Context) -> set[tuple[str, int]]:
    root = Path(context.table("t").path)
    return {(str(p), p.stat().st_mtime_ns) for p in root.rglob("*") if p.is_file()}


def test_a_dry_run_names_the_partitions_that_the_real_one_drops(context: Context, call: Call) -> None:
    insert(context, "2020-01-01", "2020-01-02", "2020-01-02", "9999-01-01", "x")
    given = {"table": "t", "expiration_time": "30 d"}
    before = state(context)
    planned = call("expire_partitions", **given, dry_run=True)
    assert state(context) == before
    done = call("expire_partitions", **given)
    assert [(r["expired_partitions"], r["record_count"], r["snapshot_id"]) for r in done] == [
        ("dt=2020-01-01", 1, 2),
        ("dt=2020-01-02", 2, 2),
    ]
    same = ("expired_partitions", "record_count", "file_count", "file_size_in_bytes")
    assert [[r[c] for c in same] for r in planned] == [[r[c] for c in same] for r in done]
    assert planned[0]["note"] == "dry run, nothing was changed; no time in the values of dt=x"
    (nothing,) = call("expire_partitions", **given)
    assert nothing["expired_partitions"] == "No expired partitions."
    assert nothing["note"] == "the oldest is dt=9999-01-01; no time in the values of dt=x"


def test_arguments_of_expiry_stand_over_options_and_those_over_the_tables(context: Context, call: Call) -> None:
    insert(context, "01/02/2020", "03/02/2020", "04/02/2020")
    options = "partition.timestamp-formatter=dd/MM/yyyy,partition.expiration-max-num=2"
    rows = call("expire_partitions", table="t", expiration_time="1 d", max_expires=1, options=options)
    assert [r["expired_partitions"] for r in rows] == ["dt=01/02/2020"]
    assert rows[0]["note"] == "2 more are due in later runs"
    assert len(call("expire_partitions", table="t", expiration_time="1 d", options=options)) == 2


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({}, InvalidInputError),
        ({"expiration_time": "a while"}, InvalidOptionError),
        ({"expiration_time": "1 d", "expire_strategy": "luck"}, InvalidOptionError),
        ({"expiration_time": "1 d", "max_expires": 0}, InvalidOptionError),
        ({"expiration_time": "1 d", "timestamp_formatter": "qqq?"}, InvalidOptionError),
        ({"expiration_time": "1 d", "options": "no=1"}, InvalidOptionError),
    ],
)
def test_bad_arguments_of_expiry_are_refused(
    context: Context, call: Call, given: dict[str, Any], error: type[PaimonError]
) -> None:
    insert(context, "2020-01-01")
    with pytest.raises(error):
        call("expire_partitions", table="t", **given)


def test_partitions_are_marked_in_the_folders_of_their_values(context: Context, call: Call) -> None:
    (row,) = call("mark_partition_done", table="two", partitions="day=2024-10-04,dt='a/b';day=2024-10-04", dry_run=True)
    assert (row["marked_partitions"], row["directories"]) == (2, "day=20000/dt=a%2Fb, day=20000")
    root = Path(context.table("two").path)
    assert not list(root.rglob("_SUCCESS"))
    call("mark_partition_done", table="two", partitions="dt='a/b', day=2024-10-04")
    assert [str(p.relative_to(root)) for p in root.rglob("_SUCCESS")] == ["day=20000/dt=a%2Fb/_SUCCESS"]


@pytest.mark.parametrize("partitions", ["", " ; ", "nothing=1", "dt=a", "day=soon,dt=a", "day", "day=2024-01-01,x=1"])
def test_partitions_that_are_none_are_not_marked(call: Call, partitions: str) -> None:
    with pytest.raises(InvalidInputError):
        call("mark_partition_done", table="two", partitions=partitions)


def test_a_table_without_partitions_says_so(context: Context, call: Call) -> None:
    context.catalog.create_table(Identifier("d", "flat"), new_schema(FIELDS))
    with pytest.raises(InvalidInputError, match="'dt=1' is not a partition: the table is not partitioned"):
        call("mark_partition_done", table="flat", partitions="dt=1")


def test_a_dry_run_of_tags_changes_nothing_and_says_what_would_go(context: Context, call: Call) -> None:
    for _ in range(3):
        insert(context, "a")
    call("create_tag", table="t", tag="one", snapshot=1)
    call("create_tag", table="t", tag="again", snapshot=1)
    call("expire_snapshots", table="t", retain_max=1, retain_min=1)
    before = state(context)
    assert call("create_tag", table="t", tag="new", dry_run=True)[0]["snapshot_id"] == 3
    assert call("rename_tag", table="t", tag="one", target_tag="uno", dry_run=True)[0]["snapshot_id"] == 1
    assert call("replace_tag", table="t", tag="one", dry_run=True)[0]["snapshot_id"] == 3
    (planned,) = call("delete_tag", table="t", tag="one,again,none", dry_run=True)
    rows = call("expire_tags", table="t", older_than="2999-01-01", dry_run=True)
    assert state(context) == before
    assert [(r["expired_tags"], r["snapshot_id"]) for r in rows] == [("again", 1), ("one", 1)]
    assert sum(r["deleted_files"] for r in rows) == planned["deleted_files"] > 0
    (done,) = call("delete_tag", table="t", tag="one,again,none")
    assert {**planned, "note": None} == done
    for bad in ("create_tag", "replace_tag", "rename_tag"):
        with pytest.raises(PaimonError):
            more = {"target_tag": "x"} if bad == "rename_tag" else {"snapshot": 1}
            call(bad, table="t", tag="gone", dry_run=True, **more)


def test_tags_that_are_over_are_named_with_the_reason(context: Context, call: Call) -> None:
    (row,) = call("expire_tags", table="t")
    assert (row["expired_tags"], row["note"]) == ("No expired tags.", "the table has no tag")
    insert(context, "a")
    call("create_tag", table="t", tag="ever")
    os.utime(context.table("t").tags.path("ever"), (1, 1))
    (row,) = call("expire_tags", table="t")
    assert row["note"] == "no tag has expired"
    (row,) = call("expire_tags", table="t", older_than="2000-01-01")
    assert row["expired_tags"] == "ever"
    assert "it was created at 19" in row["note"]


def test_the_snapshot_of_a_tag_may_be_named_by_time_or_watermark(context: Context, call: Call) -> None:
    for mark in ("1000", "2000", "3000"):
        insert(context, "a", **{"end-input.watermark": mark})
    times = {s.id: s.time_millis for s in context.table("t").snapshots.all()}
    call("create_tag", table="t", tag="first", snapshot=1)
    call("expire_snapshots", table="t", retain_max=2, retain_min=1)
    (row,) = call("create_tag_from_timestamp", table="t", tag="epoch", timestamp=0)
    assert row == {
        "tagName": "epoch",
        "snapshot": 1,
        "commit_time": times[1],
        "watermark": "1000",
        "record_count": 1,
        "retained": None,
        "note": None,
    }
    (row,) = call("create_tag_from_timestamp", table="t", tag="last", timestamp=times[2] + 1, time_retained="1 d")
    assert (row["snapshot"], row["retained"]) == (3, "1 d")
    assert [
        call("create_tag_from_watermark", table="t", tag=f"w{mark}", watermark=mark)[0]["snapshot"]
        for mark in (5, 1000, 1001, 2001)
    ] == [1, 1, 2, 3]
    with pytest.raises(NoSuchSnapshotError):
        call("create_tag_from_timestamp", table="t", tag="future", timestamp=times[3] + 1)
    with pytest.raises(NoSuchSnapshotError):
        call("create_tag_from_watermark", table="t", tag="future", watermark=3001)
    with pytest.raises(InvalidInputError):
        call("create_tag_from_timestamp", table="t", tag="never")


def test_a_snapshot_without_a_watermark_shows_null(context: Context, call: Call) -> None:
    insert(context, "a")
    assert call("create_tag_from_timestamp", table="t", tag="x", timestamp=0, dry_run=True)[0]["watermark"] == "null"


def test_due_tags_are_made_when_asked(context: Context, call: Call) -> None:
    insert(context, "a")
    (row,) = call("trigger_tag_automatic_creation", table="t")
    assert row["note"] == "'tag.automatic-creation' is 'none'"
    table = context.table("t")
    options = {"tag.automatic-creation": "process-time"}
    assert table.schemas.try_add(replace(new_schema(FIELDS, partition_keys=["dt"], options=options), id=1))
    (planned,) = call("trigger_tag_automatic_creation", table="t", dry_run=True)
    assert context.table("t").tags.names() == []
    (done,) = call("trigger_tag_automatic_creation", table="t")
    assert planned["created_tags"] == done["created_tags"] == context.table("t").tags.names()[0]
    assert call("trigger_tag_automatic_creation", table="t")[0]["note"] == "no period without a tag has ended"


def test_a_dry_run_leaves_consumers_alone(context: Context, call: Call) -> None:
    insert(context, "a")
    call("reset_consumer", table="t", consumerId="job", nextSnapshotId=1)
    assert call("reset_consumer", table="t", consumerId="job", dry_run=True)[0]["removed"]
    assert call("reset_consumer", table="t", consumerId="none")[0]["note"] == "there is no such consumer"
    assert call("clear_consumers", table="t", dry_run=True)[0]["names"] == "job"
    assert context.table("t").consumers.names() == ["job"]
    assert call("clear_consumers", table="t", includingConsumers="x")[0]["note"] == "no consumer matches"
