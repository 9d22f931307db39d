"""Global indexes: Java finds rows by the B-trees that we write, and we by those that it writes."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.procedures.base import Context
from paimon_sql.procedures.indexes.create_global_index import CreateGlobalIndex
from paimon_sql.storage.expressions.predicates import Comparison, IsNull, Predicate, StartsWith
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from tests.storage import commits

from .java import JavaPaimon

ROWS = 400
NULLS = 7
"""Every so many rows have no values."""
COLUMNS: dict[str, tuple[t.DataType, Any]] = {
    "texts": (t.string_type(), lambda i: f"é{i % 37:02}"),
    "bools": (t.BooleanType(), lambda i: i % 2 == 0),
    "bytes": (t.TinyIntType(), lambda i: i % 11 - 5),
    "shorts": (t.SmallIntType(), lambda i: (i % 37 - 18) * 1000),
    "ints": (t.IntType(), lambda i: (i % 37 - 18) * 10**8),
    "longs": (t.BigIntType(), lambda i: (i % 37 - 18) * 10**17),
    "doubles": (t.DoubleType(), lambda i: (i % 37 - 18) / 8),
    "small": (t.DecimalType(True, 9, 2), lambda i: Decimal(i % 37 - 18) / 4),
    "great": (t.DecimalType(True, 30, 2), lambda i: Decimal(i % 37 - 18) * 10**20),
    "days": (t.DateType(), lambda i: dt.date(1900, 1, 1) + dt.timedelta(days=i % 37 * 1000)),
    "millis": (t.TimestampType(True, 3), lambda i: dt.datetime(1960, 1, 1) + dt.timedelta(days=i % 37 * 700)),
    "micros": (t.TimestampType(True, 6), lambda i: dt.datetime(1960, 1, 1, 0, 0, 0, i % 37 * 27_001)),
}
FIELDS = [t.DataField(0, "id", t.IntType()), *(t.DataField(i, n, c[0]) for i, (n, c) in enumerate(COLUMNS.items(), 1))]
TRACKED = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "btree-index.block-size": "256 b"}


def values(name: str) -> list[Any]:
    return [None if i % NULLS == 0 else COLUMNS[name][1](i) for i in range(ROWS)]


def made(warehouse: Path, name: str) -> Context:
    """A table with these rows, in two files."""
    catalog = FileSystemCatalog("paimon", {"warehouse": str(warehouse)})
    if not catalog.database_exists("default"):
        catalog.create_database("default", {})
    catalog.create_table(Identifier("default", name), new_schema(FIELDS, options=TRACKED))
    table = catalog.table(Identifier("default", name))
    schema = arrow_schema(table.schema.fields)
    columns = [pa.array(range(ROWS), pa.int32()), *(pa.array(values(n), schema.field(n).type) for n in COLUMNS)]
    batch = pa.RecordBatch.from_arrays(columns, schema=schema)
    for part in (batch.slice(0, 150), batch.slice(150)):
        fresh = replace(table)
        commits.append(fresh, plan_write(fresh).run([part]))
    return Context(catalog, "default")


def ids(table: Table, predicate: Predicate) -> list[int]:
    """The ids of the rows for which a condition is true."""
    tasks = [ReadTask(table, split, ("id",), predicate) for split in plan_scan(table, predicate).splits]
    return sorted(i for task in tasks for batch in task.batches() for i in batch.column("id").to_pylist())


@pytest.mark.parametrize("compression", ["none", "zstd", "lz4"])
def test_java_finds_rows_by_our_btrees(java: JavaPaimon, warehouse: Path, tmp_path: Path, compression: str) -> None:
    name = f"ours_{compression}"
    context = made(warehouse, name)
    options = f"btree-index.compression={compression}"
    for column in COLUMNS:
        arguments = CreateGlobalIndex.Arguments(table=name, index_column=column, index_type="btree", options=options)
        row = CreateGlobalIndex().call(context, arguments)
        assert (row.result, row.rows) == (True, ROWS)
    questions, expected = [], []
    for column in COLUMNS:
        held = values(column)
        wanted = held[5]
        text = str(wanted).lower() if isinstance(wanted, bool) else str(wanted)
        questions += [f"default.{name}\t{column}\t=\t{text}", f"default.{name}\t{column}\tnull\t{text}"]
        expected += [[i for i in range(ROWS) if held[i] == wanted], list(range(0, ROWS, NULLS))]
        if column != "bools":
            questions.append(f"default.{name}\t{column}\t<\t{text}")
            expected.append([i for i in range(ROWS) if held[i] is not None and held[i] < wanted])
    asked = tmp_path / "questions"
    asked.write_text("\n".join(questions))
    found = [rows for _, rows in java.filtered(warehouse, asked)]
    for question, rows, wanted_rows in zip(questions, found, expected, strict=True):
        assert rows == wanted_rows, question


def test_we_find_rows_by_javas_btrees(java: JavaPaimon, warehouse: Path) -> None:
    context = made(warehouse, "theirs")
    for column in ("texts", "longs", "great", "micros"):
        java.build_btree(warehouse, "default.theirs", column)
    for column in ("texts", "longs", "great", "micros"):
        table, held = context.table("theirs"), values(column)
        wanted = pa.scalar(held[5], arrow_schema(table.schema.fields).field(column).type)
        near = [i for i in range(ROWS) if held[i] == held[5]]
        plan = plan_scan(table, Comparison(column, "=", wanted))
        assert plan.rows_from_indexes == len(near)
        assert ids(table, Comparison(column, "=", wanted)) == near
        assert plan_scan(table, IsNull(column)).rows_from_indexes == len(range(0, ROWS, NULLS))
    texts = values("texts")
    assert plan_scan(context.table("theirs"), StartsWith("texts", "é1")).rows_from_indexes == sum(
        bool(text) and text.startswith("é1") for text in texts
    )
