"""The procedure compact, called without Spark: what its arguments choose and which it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_sql.catalog.filesystem_catalog import FileSystemCatalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import InvalidInputError, PaimonError
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.schema import new_schema
from paimon_sql.format.schema.types import DataField, IntType
from paimon_sql.procedures.base import Context
from paimon_sql.storage.write.plan import plan_write
from tests.procedures.rows import rows_of
from tests.storage import commits

Call = Callable[..., dict[str, Any]]
COLUMNS = (DataField(0, "a", IntType()), DataField(1, "b", IntType()), DataField(2, "p", IntType()))


@pytest.fixture
def context(tmp_path: Path) -> Context:
    catalog = FileSystemCatalog("paimon", {"warehouse": str(tmp_path)})
    catalog.create_database("d", {})
    only = {"write-only": "true"}
    catalog.create_table(Identifier("d", "t"), new_schema(COLUMNS, partition_keys=["p"], options=only))
    keyed = {**only, "bucket": "4"}
    catalog.create_table(Identifier("d", "k"), new_schema(COLUMNS, primary_keys=["a"], options=keyed))
    context = Context(catalog, "d")
    for name in ("t", "k"):
        for n in range(3):
            table = context.table(name)
            values = [pa.array([(i * 7 + n) % 20 for i in range(20)], pa.int32())] * 2 + [
                pa.array([0, 1] * 10, pa.int32())
            ]
            batch = pa.RecordBatch.from_arrays(values, schema=pa.schema(arrow_schema(table.schema.fields)))
            commits.append(table, plan_write(table).run([batch]))
    return context


@pytest.fixture
def call(context: Context) -> Call:
    def run(table: str, **given: Any) -> dict[str, Any]:
        (row,) = rows_of(context, "compact", table=table, **given)
        return row

    return run


def test_an_order_says_what_it_rewrote(call: Call) -> None:
    found = call("t", order_strategy="ZOrder", order_by=" a , `b`")
    assert (found["result"], found["compacted_files"], found["new_files"], found["note"]) == (True, 6, 2, None)
    assert found["snapshot_id"] == 4


def test_an_order_keeps_to_the_chosen_partitions(call: Call) -> None:
    assert call("t", order_strategy="order", order_by="A", where="p = 1")["compacted_files"] == 3
    assert call("t", order_strategy="hilbert", order_by="a", partitions="p=7")["note"] == "no rows to sort"


def test_without_an_order_files_are_merged(call: Call) -> None:
    assert call("t", order_strategy="none", options="compaction.min.file-num=3")["new_files"] == 2
    assert call("t", order_strategy=" ", order_by="")["snapshot_id"] is None


def test_buckets_are_numbers_and_ranges(call: Call) -> None:
    assert call("k", buckets="0-1, 3")["compacted_files"] == 9
    assert call("k", buckets="0-3")["compacted_files"] == 3


def test_partitions_with_new_files_are_not_idle(call: Call) -> None:
    assert call("k", partition_idle_time="1 d")["snapshot_id"] is None
    assert call("k", partition_idle_time="0 s")["compacted_files"] == 12


@pytest.mark.parametrize(
    ("table", "given", "said"),
    [
        ("t", {"order_strategy": "spiral", "order_by": "a"}, "spiral"),
        ("t", {"order_strategy": "zorder"}, "no column"),
        ("t", {"order_strategy": "zorder", "order_by": "a,p"}, "p"),
        ("t", {"order_strategy": "none", "order_by": "a"}, "order_by"),
        ("t", {"order_by": "a"}, "order_by"),
        ("t", {"order_strategy": "order", "order_by": "a", "partition_idle_time": "1 d"}, "partition_idle_time"),
        ("t", {"buckets": "0"}, "buckets"),
        ("k", {"order_strategy": "order", "order_by": "b"}, "primary key"),
        ("k", {"buckets": "4"}, "'4'"),
        ("k", {"buckets": "2-1"}, "'2-1'"),
        ("k", {"buckets": "0,,1"}, "''"),
        ("k", {"buckets": "x"}, "'x'"),
        ("k", {"partition_idle_time": "soon"}, "partition_idle_time"),
        ("k", {"compact_strategy": "some"}, "some"),
        ("t", {"partitions": "p=1", "where": "p = 1"}, "together"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(call: Call, table: str, given: dict[str, str], said: str) -> None:
    with pytest.raises(PaimonError, match=said):
        call(table, **given)


def test_a_blank_column_is_none(call: Call) -> None:
    with pytest.raises(InvalidInputError, match="no column"):
        call("t", order_strategy="order", order_by=" , ")
