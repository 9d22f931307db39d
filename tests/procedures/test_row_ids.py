"""Procedures for rows with ids: what they answer, with and without dry_run, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidInputError, InvalidOptionError
from paimon_sql.format.metadata.index_files import DeletionVector
from paimon_sql.format.metadata.manifest import entries
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.types import DataField, IntType, string_type
from paimon_sql.procedures.base import Context
from paimon_sql.storage.data_files.live_files import live_files
from paimon_sql.storage.row_level.vectors import mark
from paimon_sql.storage.write.plan import plan_write
from tests.procedures.rows import rows_of
from tests.storage import commits

FIELDS = [DataField(0, "id", IntType()), DataField(1, "p", string_type())]
EVOLVING = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "deletion-vectors.enabled": "true"}


@pytest.fixture
def context(tmp_path: Path) -> Context:
    catalog = FileSystemCatalog("paimon", {"warehouse": str(tmp_path / "warehouse")})
    catalog.create_database("d", {})
    context = Context(catalog, "d")
    for name, options, partitions in (
        ("t", EVOLVING, ["p"]),
        ("flat", EVOLVING, []),
        ("plain", {"row-tracking.enabled": "true"}, ["p"]),
        ("empty", EVOLVING, ["p"]),
    ):
        catalog.create_table(Identifier("d", name), new_schema(FIELDS, partition_keys=partitions, options=options))
    for name in ("t", "flat", "plain"):
        for p in "aba":
            table = context.table(name)
            columns = [pa.array([1, 2], pa.int32()), pa.array([p, p])]
            batch = pa.RecordBatch.from_arrays(columns, schema=arrow_schema(table.schema.fields))
            commits.append(table, plan_write(table).run([batch]))
    return context


def call(context: Context, name: str, **arguments: Any) -> dict[str, Any]:
    (row,) = rows_of(context, name, **arguments)
    return row


def delete_first_rows(context: Context, name: str) -> None:
    table = context.table(name)
    base = table.snapshots.latest()
    gone = [(e, DeletionVector([0])) for e in entries(live_files(table, base).entries)]
    commits.append(table, mark(table, base, gone))


def test_row_ids_are_given_anew_once(context: Context) -> None:
    dry = call(context, "reassign_row_id", table="t", dry_run=True)
    assert (dry["partitions"], dry["files"], dry["rows"], dry["next_row_id"], dry["snapshot_id"]) == (1, 2, 4, 10, None)
    assert dry["result"].startswith("Skipped: dry run")
    assert context.table("t").snapshots.latest_id() == 3
    done = call(context, "reassign_row_id", table="t")
    assert (done["result"].split(".")[0], done["rows"], done["snapshot_id"]) == ("Success", 4, 4)
    once_more = call(context, "reassign_row_id", table="t")
    assert (once_more["rows"], once_more["snapshot_id"], once_more["next_row_id"]) == (0, None, 10)
    assert "are contiguous already" in once_more["result"]


def test_row_ids_of_chosen_partitions_are_given_anew(context: Context) -> None:
    assert call(context, "reassign_row_id", table="t", partitions="p=b")["snapshot_id"] is None
    assert call(context, "reassign_row_id", table="t", partitions="p=a")["snapshot_id"] == 4


def test_tables_without_partitions_keep_their_ids(context: Context) -> None:
    answer = call(context, "reassign_row_id", table="flat")
    assert (answer["result"], answer["rows"], answer["next_row_id"]) == ("Skipped: the table has no partitions.", 0, 6)


def test_marked_rows_are_left_out_of_chosen_partitions(context: Context) -> None:
    nothing = call(context, "materialize_deletion_vectors", table="t")
    assert (nothing["result"], nothing["snapshot_id"], nothing["note"]) == (True, None, "no rows are marked as deleted")
    delete_first_rows(context, "t")
    dry = call(context, "materialize_deletion_vectors", table="t", dry_run=True)
    assert (dry["deleted_rows"], dry["old_files"], dry["new_files"], dry["snapshot_id"]) == (3, 3, None, None)
    done = call(context, "materialize_deletion_vectors", table="t", where="p = 'a'")
    assert (done["deleted_rows"], done["old_files"], done["new_files"], done["snapshot_id"]) == (2, 2, 1, 5)
    done = call(context, "materialize_deletion_vectors", table="t", partitions="p=b", options="target-file-size=1 mb")
    assert (done["deleted_rows"], done["old_files"], done["new_files"]) == (1, 1, 1)


@pytest.mark.parametrize("name", ["reassign_row_id", "materialize_deletion_vectors"])
def test_only_tables_with_data_evolution_will_do(context: Context, name: str) -> None:
    with pytest.raises(InvalidInputError, match=r"data-evolution\.enabled"):
        call(context, name, table="plain")


def test_calls_that_make_no_sense_are_refused(context: Context) -> None:
    with pytest.raises(InvalidInputError, match="is empty"):
        call(context, "reassign_row_id", table="empty")
    assert call(context, "materialize_deletion_vectors", table="empty")["snapshot_id"] is None
    with pytest.raises(InvalidInputError, match="together"):
        call(context, "materialize_deletion_vectors", table="t", partitions="p=a", where="p = 'a'")
    with pytest.raises(InvalidOptionError, match="compactions keep row ids"):
        call(context, "compact", table="t", options="data-evolution.compaction.rewrite-row-ids=true")
