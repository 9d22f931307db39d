"""Aggregates that metadata tell: those that the rows give, or none."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.format.metadata.index_files import DeletionVector
from paimon_sql.format.schema.types import DataField, DoubleType, IntType, string_type
from paimon_sql.storage.expressions.partial_aggregation import (
    CountRows,
    CountValues,
    Extreme,
    PartialAggregate,
    PartialAggregation,
)
from paimon_sql.storage.expressions.predicates import Comparison
from paimon_sql.storage.row_level.vectors import mark
from paimon_sql.storage.scan.metadata_aggregates import metadata_aggregates
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.table.table import Table
from tests.storage.commits import append
from tests.storage.core_tables import again, insert, live, make_table

ALL = PartialAggregation((), (CountRows(),))
LEAST, GREATEST = (Extreme("id", IntType(), how) for how in ("min", "max"))
BY_P = PartialAggregation(("p",), (CountRows(), CountValues("v"), LEAST, GREATEST, Extreme("p", string_type(), "min")))


def rows_of(table: Table, wanted: PartialAggregation, predicate: Comparison | None = None) -> list[dict[str, object]]:
    found = metadata_aggregates(again(table), wanted, predicate)
    assert found is not None
    return sorted(found.rows.to_pylist(), key=str)


@settings(max_examples=25)
@given(
    st.lists(
        st.lists(
            st.tuples(st.none() | st.integers(-5, 5), st.sampled_from(["a", None]), st.sampled_from(["x", None])),
            min_size=1,
            max_size=4,
        ),
        max_size=4,
    )
)
def test_they_are_what_the_rows_give(
    tmp_path_factory: pytest.TempPathFactory, commits: list[list[tuple[int | None, str | None, str | None]]]
) -> None:
    table = make_table(tmp_path_factory.mktemp("t"), partitions=["p"])
    for rows in commits:
        insert(again(table), *rows)
    every = [row for rows in commits for row in rows]

    def told(of: list[tuple[int | None, str | None, str | None]]) -> dict[str, object]:
        ids = [i for i, _, _ in of if i is not None]
        texts = [v for _, v, _ in of if v is not None]
        return {
            "count(*)": len(of),
            "count(v)": len(texts),
            "min(id)": min(ids, default=None),
            "max(id)": max(ids, default=None),
        }

    parts = {p: [row for row in every if row[2] == p] for p in {row[2] for row in every}}
    wanted = [{"p": p, **told(rows), "min(p)": p} for p, rows in parts.items()]
    assert rows_of(table, BY_P) == sorted(wanted, key=str)
    whole = PartialAggregation((), (CountRows(), CountValues("v"), LEAST, GREATEST))
    assert rows_of(table, whole) == [told(every)]
    in_x = Comparison("p", "=", pa.scalar("x"))
    assert rows_of(table, whole, in_x) == [told(parts.get("x", []))]


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5)), max_size=4))
def test_rows_that_deletion_vectors_delete_do_not_count(
    tmp_path_factory: pytest.TempPathFactory, rounds: list[tuple[int, int]]
) -> None:
    table = make_table(tmp_path_factory.mktemp("t"), {"deletion-vectors.enabled": "true"}, partitions=["p"])
    wanted, marked = 0, False
    for rows, deleted in rounds:
        insert(table, *((i, "v", "xy"[i % 2]) for i in range(rows)))
        wanted += rows
        table = again(table)
        first = live(table)[0]
        if deleted and not marked:
            gone = min(deleted, first.file.row_count)
            marked = gone < first.file.row_count  # else the file goes
            append(table, mark(table, table.snapshots.latest(), [(first, DeletionVector(range(gone)))]))
            wanted -= gone
    assert rows_of(table, ALL) == [{"count(*)": wanted}]
    assert plan_scan(again(table)).row_count == wanted
    assert (metadata_aggregates(again(table), BY_P) is None) == marked


@pytest.mark.parametrize(
    ("options", "keys", "aggregates"),
    [
        ({}, ["id"], [CountRows()]),
        ({"row-tracking.enabled": "true", "data-evolution.enabled": "true"}, [], [CountRows()]),
        ({"incremental-between": "1,2"}, [], [CountRows()]),
        ({"metadata.stats-mode": "none"}, [], [LEAST]),
        ({"metadata.stats-mode": "none"}, [], [CountValues("id")]),
        ({"metadata.stats-mode": "counts"}, [], [GREATEST]),
        ({}, [], [Extreme("v", string_type(), "min")]),
        ({}, [], [Extreme("d", DoubleType(), "max")]),
    ],
)
def test_what_is_not_exact_is_not_told(
    tmp_path: Path, options: dict[str, str], keys: list[str], aggregates: list[PartialAggregate]
) -> None:
    columns = [DataField(0, "id", IntType()), DataField(1, "v", string_type()), DataField(2, "d", DoubleType())]
    stored = {k: v for k, v in options.items() if "incremental" not in k}
    table = make_table(tmp_path / "t", stored, columns=columns, keys=keys)
    for _ in range(2):
        insert(table, (1, "a", 0.5))
    assert metadata_aggregates(again(table, options), PartialAggregation((), tuple(aggregates))) is None


def test_a_condition_on_other_columns_is_not_decided(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", partitions=["p"])
    insert(table, (1, "a", "x"))
    assert metadata_aggregates(again(table), ALL, Comparison("id", "=", pa.scalar(1, pa.int32()))) is None
    assert metadata_aggregates(again(table), PartialAggregation(("v",), (CountRows(),))) is None
