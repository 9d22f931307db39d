"""The procedures of branches, called without Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import AlreadyExistsError, InvalidInputError, NoSuchTableError, NotFoundError
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.types import DataField, IntType
from paimon_sql.procedures import procedures
from paimon_sql.procedures.base import Context
from paimon_sql.storage.write.plan import plan_write
from tests.procedures.rows import rows_of
from tests.storage import commits

Call = Callable[..., dict[str, Any]]
NAMES = ("create_branch", "delete_branch", "rename_branch", "fast_forward", "merge_branch")


@pytest.fixture
def context(tmp_path: Path) -> Context:
    catalog = FileSystemCatalog("paimon", {"warehouse": str(tmp_path)})
    catalog.create_database("d", {})
    schema = new_schema([DataField(0, "id", IntType())], options={"branch-merge.enabled": "true"})
    catalog.create_table(Identifier("d", "t"), schema)
    return Context(catalog, "d")


@pytest.fixture
def call(context: Context) -> Call:
    def run(name: str, *values: Any, **given: Any) -> dict[str, Any]:
        by_name = dict(zip((a.name for a in procedures()[name].arguments), values, strict=False))
        (row,) = rows_of(context, name, **by_name, **given)
        return row

    return run


def insert(context: Context, name: str, *ids: int) -> None:
    table = context.table(name)
    batch = pa.RecordBatch.from_arrays([pa.array(ids, pa.int32())], schema=arrow_schema(table.schema.fields))
    commits.append(table, plan_write(table).run([batch]))


@pytest.mark.parametrize("name", NAMES)
def test_every_procedure_answers_true_first_and_takes_a_dry_run_last(name: str) -> None:
    procedure = procedures()[name]
    assert [f.name for f in procedure.results] == ["result"]
    assert procedure.arguments[-1].name == "dry_run"
    assert procedure.details[-1].name == "note"


def test_create_branch_says_with_what_it_begins(context: Context, call: Call) -> None:
    insert(context, "t", 1, 2)
    call("create_tag", "t", "base")
    planned = call("create_branch", "t", "dev", "base", dry_run=True)
    assert planned["note"] == "dry run, nothing was changed"
    made = call("create_branch", "t", "dev", "base")
    assert made == {**planned, "note": None}
    assert (made["snapshot_id"], made["record_count"], made["schema_id"]) == (1, 2, 0)
    assert call("create_branch", "t", "bare")["snapshot_id"] is None
    assert call("create_branch", "t", "one", snapshot=1)["snapshot_id"] == 1
    again = call("create_branch", table="t", branch="dev", tag="base", ignoreIfExists="TRUE")
    assert again["note"] == "the branch exists already"
    with pytest.raises(AlreadyExistsError, match="dev"):
        call("create_branch", table="t", branch="dev", ignoreIfExists="false")
    with pytest.raises(InvalidInputError, match="ignoreIfExists"):
        call("create_branch", table="t", branch="dev", ignoreIfExists="perhaps")


def test_branches_are_renamed_and_deleted_all_or_none(context: Context, call: Call) -> None:
    insert(context, "t", 1)
    for name in ("a", "b"):
        call("create_branch", "t", name, snapshot=1)
    assert call("rename_branch", "t", "b", "c")["snapshots"] == 1
    with pytest.raises(NotFoundError, match="gone"):
        call("delete_branch", "t", "a, gone")
    planned = call("delete_branch", "t", "a, c", True)
    done = call("delete_branch", "t", "a, c")
    assert done["deleted_branches"] == planned["deleted_branches"] == 2
    assert done["deleted_snapshots"] == 2
    assert "remove_orphan_files" in done["note"]
    with pytest.raises(NoSuchTableError, match="Branch a of table"):
        context.table("t$branch_a")
    with pytest.raises(InvalidInputError, match="blank"):
        call("delete_branch", "t", " , ")


def test_fast_forward_says_what_came_and_went(context: Context, call: Call) -> None:
    insert(context, "t", 1)
    call("create_branch", "t", "dev", snapshot=1)
    insert(context, "t", 2)
    call("create_tag", "t", "gone")
    insert(context, "`t$branch_dev`", 3)
    insert(context, "t$branch_dev", 4)
    call("create_tag", "t$branch_dev", "new")
    planned = call("fast_forward", "t", "dev", True)
    done = call("fast_forward", "t", "dev")
    assert {**planned, "seconds": 0, "note": 0} == {**done, "seconds": 0, "note": 0}
    assert (done["previous_snapshot_id"], done["current_snapshot_id"], done["shared_snapshot_id"]) == (2, 3, 1)
    assert (done["removed_snapshots"], done["added_snapshots"]) == (1, 2)
    assert (done["removed_tags"], done["added_tags"]) == ("gone", "new")
    assert call("fast_forward", "t", "dev")["note"] == "the table has this state already"


def test_merge_branch_says_what_it_brought(context: Context, call: Call) -> None:
    insert(context, "t", 1)
    call("create_branch", "t", "side", snapshot=1)
    insert(context, "t$branch_side", 2, 3)
    planned = call("merge_branch", "t", "side", dry_run=True)
    done = call("merge_branch", "t", "side")
    assert (done["merged_files"], done["merged_records"], done["snapshot_id"]) == (1, 2, 2)
    assert planned["merged_bytes"] == done["merged_bytes"] > 0
    assert call("merge_branch", "t", "side", "main")["note"] == "'main' already contains all files of 'side'"
    with pytest.raises(InvalidInputError, match="source_branch"):
        call("merge_branch", "t", " ")
