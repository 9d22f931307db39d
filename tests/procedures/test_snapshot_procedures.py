"""The procedures about snapshots, tags and consumers, called without Spark."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import (
    AlreadyExistsError,
    InvalidInputError,
    InvalidOptionError,
    NoSuchSnapshotError,
    NoSuchTableError,
)
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.types import DataField, IntType
from paimon_sql.procedures import procedures
from paimon_sql.procedures.base import Context
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from tests.procedures.rows import rows_of
from tests.storage import commits

Call = Callable[..., dict[str, Any]]


@pytest.fixture
def context(tmp_path: Path) -> Context:
    catalog = FileSystemCatalog("paimon", {"warehouse": str(tmp_path)})
    catalog.create_database("d", {})
    catalog.create_table(Identifier("d", "t"), new_schema([DataField(0, "id", IntType())]))
    return Context(catalog, "d")


@pytest.fixture
def call(context: Context) -> Call:
    def run(name: str, **given: Any) -> dict[str, Any]:
        (row,) = rows_of(context, name, **given)
        return row

    return run


@pytest.fixture
def table(context: Context) -> Table:
    return context.table("t")


def insert(context: Context, count: int) -> None:
    for i in range(count):
        table = context.table("t")
        batch = pa.RecordBatch.from_arrays([pa.array([i], pa.int32())], schema=arrow_schema(table.schema.fields))
        commits.append(table, plan_write(table).run([batch]))


def versions(table: Table) -> list[int]:
    return table.snapshots.directory.versions()


def test_every_procedure_tells_its_arguments_and_an_example() -> None:
    for name in ("expire_snapshots", "create_tag", "delete_tag", "rename_tag", "replace_tag", "rollback"):
        procedure = procedures()[name]
        assert procedure.arguments[0].name == "table"
        assert procedure.example.startswith(f"CALL sys.{name}(")
        assert procedure.summary.endswith(".")
    names = [a.name for a in procedures()["expire_snapshots"].arguments]
    assert names == ["table", "retain_max", "retain_min", "older_than", "max_deletes", "options", "dry_run"]


def test_the_last_snapshot_stays(context: Context, call: Call, table: Table) -> None:
    insert(context, 1)
    note = call("expire_snapshots", table="t", retain_min=1)["note"]
    assert note == "snapshot 1 is retained: the last snapshot is retained"


def test_expire_snapshots_says_what_it_did(context: Context, call: Call, table: Table) -> None:
    insert(context, 8)
    idle = call("expire_snapshots", table="t")
    assert (idle["deleted_snapshots_count"], idle["first_expired_snapshot"], idle["note"]) == (
        0,
        None,
        "snapshot 1 is retained: the last 10 snapshots are retained",
    )
    planned = call("expire_snapshots", table="d.t", retain_max=3, retain_min=1, dry_run=True)
    assert planned["note"].startswith("dry run, nothing was deleted")
    assert versions(table) == list(range(1, 9))
    done = call("expire_snapshots", table="paimon.d.t", retain_max=3, retain_min=1)
    assert (done["deleted_snapshots_count"], done["first_expired_snapshot"], done["last_expired_snapshot"]) == (5, 1, 5)
    assert (done["deleted_data_files"], done["earliest_snapshot"], done["latest_snapshot"]) == (0, 6, 8)
    assert done["deleted_manifests"] == planned["deleted_manifests"] > 0
    assert done["deleted_bytes"] == planned["deleted_bytes"] > 0
    assert versions(table) == [6, 7, 8]


def test_expire_snapshots_takes_times_and_options(context: Context, call: Call) -> None:
    insert(context, 6)
    assert call("expire_snapshots", table="t", older_than="2001-01-01", retain_min=1)["deleted_snapshots_count"] == 0
    future = "2099-01-01 00:00:00"
    one = call("expire_snapshots", table="t", older_than=future, retain_min=3, max_deletes=1)
    assert one["deleted_snapshots_count"] == 1
    options = "snapshot.num-retained.min=1, snapshot.num-retained.max=2, snapshot.expire.limit=2"
    assert call("expire_snapshots", table="t", options=options)["deleted_snapshots_count"] == 2


@pytest.mark.parametrize(
    "arguments",
    [
        {"retain_max": 3},
        {"retain_max": 2, "retain_min": 4},
        {"retain_min": 0},
        {"max_deletes": -1},
        {"older_than": "yesterday"},
        {"options": "snapshot.num-retained.min"},
        {"options": "snapshot.num-retained.mni=3"},
        {"options": "snapshot.num-retained.min=many"},
    ],
)
def test_expire_snapshots_refuses_what_makes_no_sense(context: Context, call: Call, arguments: dict[str, Any]) -> None:
    insert(context, 2)
    with pytest.raises(InvalidInputError):
        call("expire_snapshots", table="t", **arguments)


def test_an_unknown_option_names_the_nearest(context: Context, call: Call) -> None:
    with pytest.raises(InvalidOptionError, match=r"Did you mean snapshot.num-retained.min\?"):
        call("expire_snapshots", table="t", options="snapshot.num-retained.mni=3")


def test_unknown_and_blank_tables_are_refused(call: Call) -> None:
    with pytest.raises(NoSuchTableError):
        call("expire_snapshots", table="missing")
    with pytest.raises(InvalidInputError):
        call("create_tag", table="", tag="x")


def test_tags_are_made_replaced_renamed_and_deleted(context: Context, call: Call, table: Table) -> None:
    insert(context, 3)
    made = call("create_tag", table="t", tag="kept", snapshot=2, time_retained="36 h")
    assert made == {"result": True, "snapshot_id": 2, "record_count": 2, "retained": "36 h", "note": None}
    assert call("create_tag", table="t", tag="newest")["snapshot_id"] == 3
    with pytest.raises(AlreadyExistsError, match="kept"):
        call("create_tag", table="t", tag="kept")
    with pytest.raises(InvalidInputError, match="time_retained"):
        call("create_tag", table="t", tag="x", time_retained="long")
    with pytest.raises(NoSuchSnapshotError, match="44"):
        call("create_tag", table="t", tag="x", snapshot=44)
    assert call("replace_tag", table="t", tag="kept", snapshot=3)["snapshot_id"] == 3
    assert call("rename_tag", table="t", tag="kept", target_tag="held")["result"]
    deleted = call("delete_tag", table="t", tag="held, nobody")
    assert (deleted["deleted_tags"], deleted["unknown_tags"]) == (1, "nobody")
    assert table.tags.names() == ["newest"]
    with pytest.raises(InvalidInputError, match="blank"):
        call("delete_tag", table="t", tag=" , ")


def test_deleting_a_tag_tells_what_it_freed(context: Context, call: Call) -> None:
    insert(context, 2)
    call("create_tag", table="t", tag="one", snapshot=1)
    call("expire_snapshots", table="t", retain_max=1, retain_min=1)
    freed = call("delete_tag", table="t", tag="one")
    assert freed["deleted_files"] > 0
    assert freed["deleted_bytes"] > 0


def test_rollback_needs_exactly_one_target(context: Context, call: Call, table: Table) -> None:
    with pytest.raises(NoSuchSnapshotError):
        call("rollback", table="t", snapshot=1)
    insert(context, 5)
    call("create_tag", table="t", tag="two", snapshot=2)
    call("create_tag", table="t", tag="5", snapshot=4)
    for wrong in ({}, {"snapshot": 1, "tag": "two"}, {"version": "1", "snapshot": 1}, {"version": " "}):
        with pytest.raises(InvalidInputError, match="one of version, snapshot and tag"):
            call("rollback", table="t", **wrong)
    done = call("rollback", table="t", version="5")
    assert (done["previous_snapshot_id"], done["current_snapshot_id"], done["removed_snapshots"]) == (5, 5, 0)
    done = call("rollback", table="t", tag="5")
    assert (done["current_snapshot_id"], done["removed_snapshots"], done["removed_tags"]) == (4, 1, None)
    done = call("rollback", table="t", version="two")
    assert (done["previous_snapshot_id"], done["current_snapshot_id"], done["removed_tags"]) == (4, 2, "5")
    assert versions(table) == [1, 2]


def test_rollback_to_a_time(context: Context, call: Call) -> None:
    insert(context, 2)
    done = call("rollback_to_timestamp", table="t", timestamp=int(time.time() * 1000) + 5)
    assert (done["previous_snapshot_id"], done["current_snapshot_id"]) == (2, 2)
    with pytest.raises(NoSuchSnapshotError):
        call("rollback_to_timestamp", table="t", timestamp=1000)
    with pytest.raises(NoSuchSnapshotError):
        call("rollback_to_watermark", table="t", watermark=1000)


def test_consumers_are_reset_and_cleared(context: Context, call: Call, table: Table) -> None:
    insert(context, 2)
    for name, following in (("app-1", 1), ("app-2", 2), ("web-1", 1)):
        assert call("reset_consumer", table="t", consumerId=name, nextSnapshotId=following)["result"]
    assert call("reset_consumer", table="t", consumerId="app-1", nextSnapshotId=2)["previous_snapshot_id"] == 1
    with pytest.raises(NoSuchSnapshotError, match="12"):
        call("reset_consumer", table="t", consumerId="late", nextSnapshotId=12)
    assert call("reset_consumer", table="t", consumerId="web-1")["removed"]
    assert not call("reset_consumer", table="t", consumerId="unknown")["removed"]
    cleared = call("clear_consumers", table="t", includingConsumers="app.*", excludingConsumers=".*2")
    assert (cleared["removed_consumers"], cleared["names"]) == (1, "app-1")
    with pytest.raises(InvalidInputError, match="regular expression"):
        call("clear_consumers", table="t", includingConsumers="(")
    assert call("clear_consumers", table="t")["removed_consumers"] == 1
    assert table.consumers.names() == []
