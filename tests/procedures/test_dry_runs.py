"""Dry runs: every procedure that changes something has one; it changes nothing and tells what the real run does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.catalog_objects import FunctionSchema, ViewSchema
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.types import BooleanType, DataField, IntType, string_type
from paimon_sql.procedures import procedures
from paimon_sql.procedures.base import Context
from paimon_sql.procedures.values import NOTHING_DONE
from paimon_sql.storage.write.plan import plan_write
from tests.procedures.rows import rows_of
from tests.storage import commits

FIELDS = [DataField(0, "id", IntType()), DataField(1, "v", string_type())]
IN_THE_CONNECTORS_PLACE = {"compact_manifest", "remove_orphan_files", "remove_unexisting_files", "drop_global_index"}
"""Where the connector has the argument itself, others may stand behind it."""

CALLS: dict[str, dict[str, Any]] = {
    "compact": {"table": "keyed"},
    "rescale": {"table": "rescaled", "bucket_num": 3},
    "rewrite_file_index": {"table": "indexed"},
    "rollback": {"table": "keyed", "version": "1"},
    "rollback_to_timestamp": {"table": "keyed", "timestamp": 4_000_000_000_000},
    "reset_consumer": {"table": "keyed", "consumerId": "c", "nextSnapshotId": 2},
}
UNKNOWN_BEFORE = {"new_files", "new_bytes", "snapshot_id", "seconds", "note"}


@pytest.fixture
def context(tmp_path: Path) -> Context:
    catalog = FileSystemCatalog("paimon", {"warehouse": str(tmp_path / "warehouse")})
    catalog.create_database("d", {})
    context = Context(catalog, "d")
    for name, keys, options in (
        ("keyed", ["id"], {"bucket": "1", "write-only": "true"}),
        ("rescaled", ["id"], {"bucket": "1"}),
        ("plain", [], {"write-only": "true"}),
        ("indexed", [], {"write-only": "true"}),
        ("postponed", ["id"], {"bucket": "-2", "postpone.default-bucket-num": "1"}),
    ):
        catalog.create_table(Identifier("d", name), new_schema(FIELDS, primary_keys=keys, options=options))
        for n in range(3):
            table = context.table(name)
            values = [pa.array([n, 7], pa.int32()), pa.array(["a", "b"])]
            batch = pa.RecordBatch.from_arrays(values, schema=arrow_schema(table.schema.fields))
            commits.append(table, plan_write(table).run([batch]))
    asked = {"file-index.bitmap.columns": "v"}
    catalog.alter_table(Identifier("d", "indexed"), lambda s: replace(s, id=s.id + 1, options={**s.options, **asked}))
    return context


def called(context: Context, name: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    return rows_of(context, name, **arguments)


def files(context: Context) -> dict[str, bytes]:
    root = Path(context.catalog.options["warehouse"])
    return {str(p): p.read_bytes() for p in root.rglob("*") if p.is_file()}


@pytest.mark.parametrize("name", procedures())
def test_every_procedure_has_a_dry_run(name: str) -> None:
    arguments = procedures()[name].arguments
    (dry_run,) = (a for a in arguments if a.name == "dry_run")
    assert isinstance(dry_run.type, BooleanType)
    assert not dry_run.required
    assert dry_run is arguments[-1] or name in IN_THE_CONNECTORS_PLACE


@pytest.mark.parametrize("name", CALLS)
def test_a_dry_run_tells_what_the_real_run_does(context: Context, name: str) -> None:
    before = files(context)
    planned = called(context, name, {**CALLS[name], "dry_run": True})
    assert files(context) == before
    done = called(context, name, CALLS[name])
    assert [{k: v for k, v in row.items() if k not in UNKNOWN_BEFORE} for row in planned] == [
        {k: v for k, v in row.items() if k not in UNKNOWN_BEFORE} for row in done
    ]
    assert planned[0]["note"]


def test_a_dry_run_on_a_view_or_function_says_so(context: Context) -> None:
    context.catalog.create_view(Identifier("d", "v"), ViewSchema(tuple(FIELDS), "SELECT 1"))
    context.catalog.create_function(Identifier("d", "f"), FunctionSchema(tuple(FIELDS), tuple(FIELDS[:1])))
    before = files(context)
    change = '{"action": "setOption", "key": "k", "value": "w"}'
    (viewed,) = called(
        context, "alter_view_dialect", {"view": "v", "action": "add", "query": "SELECT 2", "dry_run": True}
    )
    (changed,) = called(context, "alter_function", {"function": "f", "change": change, "dry_run": True})
    assert files(context) == before
    assert (viewed["dialects"], viewed["note"], changed["note"]) == ("spark", NOTHING_DONE, NOTHING_DONE)
    (changed,) = called(context, "alter_function", {"function": "f", "change": change})
    assert changed["note"] is None


@pytest.mark.parametrize(
    ("table", "given"),
    [
        ("plain", {"options": "compaction.min.file-num=2"}),
        ("plain", {"order_strategy": "order", "order_by": "id"}),
        ("postponed", {}),
        ("keyed", {"compact_strategy": "minor"}),
    ],
)
def test_a_compaction_tells_before_it_runs_what_it_takes(context: Context, table: str, given: dict[str, str]) -> None:
    before = files(context)
    (planned,) = called(context, "compact", {"table": table, **given, "dry_run": True})
    assert files(context) == before
    (done,) = called(context, "compact", {"table": table, **given})
    assert planned["compacted_files"] == done["compacted_files"]
    assert planned["compacted_bytes"] == done["compacted_bytes"]
    assert (planned["snapshot_id"], planned["new_files"]) == (None, None)
