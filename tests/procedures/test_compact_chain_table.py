"""The procedure compact_chain_table, called without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidInputError, UnsupportedError
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.system_fields import RowKind
from paimon_sql.format.schema.types import BigIntType, DataField, string_type
from paimon_sql.procedures.base import Context
from paimon_sql.storage.branches.management import create_branch
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.schema.changes.base import apply_changes
from paimon_sql.storage.schema.changes.options import SetOption
from paimon_sql.storage.write.plan import plan_write
from tests.procedures.rows import rows_of
from tests.storage import commits

FIELDS = [
    DataField(0, "k", BigIntType()),
    DataField(1, "n", BigIntType()),
    DataField(2, "region", string_type()),
    DataField(3, "dt", string_type()),
]
OPTIONS = {
    "chain-table.enabled": "true",
    "chain-table.chain-partition-keys": "dt",
    "sequence.field": "n",
    "bucket-key": "k",
    "bucket": "2",
    "partition.timestamp-pattern": "$dt",
    "partition.timestamp-formatter": "yyyyMMdd",
}
NAMED = {"scan.fallback-snapshot-branch": "whole", "scan.fallback-delta-branch": "changed"}
Row = tuple[int, int, str, str]


@pytest.fixture
def context(tmp_path: Path) -> Context:
    """A chain table: whole on the 1st, in Rome also on the 3rd, with changes on the 2nd and 3rd."""
    catalog = FileSystemCatalog("paimon", {"warehouse": str(tmp_path)})
    catalog.create_database("d", {})
    name = Identifier("d", "t")
    table = catalog.create_table(
        name, new_schema(FIELDS, primary_keys=["k", "region", "dt"], partition_keys=["region", "dt"], options=OPTIONS)
    )
    changes = [SetOption(key, value) for key, value in NAMED.items()]
    for branch in ("whole", "changed"):
        create_branch(table, branch)
    for asked in (name, Identifier("d", "t", branch="whole"), Identifier("d", "t", branch="changed")):
        catalog.alter_table(asked, lambda s: apply_changes(s, changes, has_data=False))
    context = Context(catalog, "d")
    write(
        context, "t$branch_whole", [(1, 1, "rome", "20250101"), (1, 1, "oslo", "20250101"), (9, 1, "rome", "20250103")]
    )
    write(
        context,
        "t$branch_changed",
        [(2, 1, "rome", "20250102"), (2, 1, "oslo", "20250102"), (3, 1, "oslo", "20250103")],
    )
    write(context, "t$branch_changed", [(1, 2, "oslo", "20250103")], RowKind.DELETE)
    write(context, "t$branch_changed", [(4, 1, "rome", "20250103")])
    return context


def write(context: Context, name: str, rows: Sequence[Row], kind: int = RowKind.INSERT) -> None:
    table = context.table(name)
    schema = arrow_schema(table.schema.fields)
    arrays = [pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), schema, strict=True)]
    batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
    kinds = pa.array([int(kind)] * len(rows), pa.int8())
    commits.append(table, plan_write(table).run([batch.append_column("_VALUE_KIND", kinds)]))


def read(context: Context, name: str, day: str | None = None) -> list[Row]:
    table = context.table(name)
    tasks = [ReadTask(table, split, tuple(table.schema.names)) for split in plan_scan(table).splits]
    found = [tuple(row.values()) for task in tasks for batch in task.batches() for row in batch.to_pylist()]
    return sorted(row for row in found if day in (None, row[3]))


def call(context: Context, partition: str, **given: Any) -> dict[str, Any]:
    (row,) = rows_of(context, "compact_chain_table", **{"table": "t", "partition": partition, **given})
    return row


def test_a_partition_becomes_whole(context: Context) -> None:
    before = read(context, "t")
    dry = call(context, 'region="oslo",dt="20250103"', dry_run=True)
    assert dry["result"] and dry["new_files"] is None and read(context, "t") == before
    done = call(context, 'region="oslo",dt="20250103"')
    assert done["result"] and done["snapshot_id"] == 2 and done["compacted_partitions"] == 1
    assert (dry["old_files"], dry["old_bytes"]) == (done["old_files"], done["old_bytes"])
    rows = [(2, 1, "oslo", "20250103"), (3, 1, "oslo", "20250103")]
    assert [r for r in read(context, "t$branch_whole", "20250103") if r[2] == "oslo"] == rows
    assert read(context, "t") == before
    again = call(context, "region=oslo, dt=20250103")
    assert not again["result"] and "already" in again["note"]


def test_one_that_is_whole_is_made_anew_only_when_asked_to(context: Context) -> None:
    assert not call(context, "dt=20250103")["result"]  # that of Rome is whole
    done = call(context, "dt=20250103", overwrite=True)
    assert done["result"] and done["compacted_partitions"] == 2
    assert read(context, "t$branch_whole", "20250103") == [
        (1, 1, "rome", "20250103"),
        (2, 1, "oslo", "20250103"),
        (2, 1, "rome", "20250103"),
        (3, 1, "oslo", "20250103"),
        (4, 1, "rome", "20250103"),
    ]
    snapshot = context.table("t$branch_whole").snapshots.latest()
    assert snapshot is not None and snapshot.commit_kind.value == "OVERWRITE"


def test_without_changes_nothing_is_done(context: Context) -> None:
    for partition in ("dt=20250104", "region=bari"):
        done = call(context, partition)
        assert not done["result"] and done["note"] == "it has no changes"
    assert not call(context, "dt=20250101", overwrite=True)["result"]


def test_a_partition_without_rows_left_makes_no_snapshot(context: Context) -> None:
    write(context, "t$branch_changed", [(k, 9, "oslo", "20250105") for k in (1, 2, 3)], RowKind.DELETE)
    done = call(context, "region=oslo,dt=20250105")
    assert done["result"] and done["snapshot_id"] is None and done["note"] == "it has no rows left"


def test_wrong_calls_are_refused(context: Context) -> None:
    for partition in ("", " ", ";"):
        with pytest.raises(InvalidInputError, match="No partition"):
            call(context, partition)
    with pytest.raises(InvalidInputError, match="not several"):
        call(context, "dt=20250101;dt=20250102")
    with pytest.raises(InvalidInputError, match="is not a partition"):
        call(context, "k=1")
    context.catalog.create_table(Identifier("d", "plain"), new_schema(FIELDS))
    for table in ("plain", "t$branch_changed"):
        with pytest.raises(UnsupportedError, match="not a chain table"):
            call(context, "dt=20250101", table=table)
