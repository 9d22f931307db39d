"""Partial aggregates, put together once more, are what plain Python makes of all rows at once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.storage.expressions import partial_aggregation
from paimon_sql.storage.expressions.partial_aggregation import (
    CountRows,
    CountValues,
    Extreme,
    PartialAggregate,
    PartialAggregation,
    Sum,
    WideSum,
)
from tests.storage.sample_values import KINDS, Kind, sql_order

EXACT = Context(prec=100)
NUMBERS = {
    **{name: KINDS[name] for name in ("tinyint", "int", "bigint", "double", "decimal")},
    "short decimal": Kind(t.DecimalType(True, 2, 1), st.integers(-99, 99).map(lambda n: Decimal(n).scaleb(-1))),
    "longest decimal": Kind(t.DecimalType(True, 32, 4), st.sampled_from([10**32 - 1, 1 - 10**32, 5]).map(Decimal)),
}
NUMBERS["longest decimal"] = Kind(
    NUMBERS["longest decimal"].type,
    NUMBERS["longest decimal"].values.map(lambda d: d.scaleb(-4, EXACT)),
)


def sum_of(column: str, kind: t.DataType) -> PartialAggregate:
    if isinstance(kind, (t.BigIntType, t.DecimalType)):
        return WideSum(column, kind)
    return Sum(column, isinstance(kind, t.DoubleType))


def alike(value: Any) -> Any:
    """What values that make one group have in common; NaN is one value, and so is zero."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def total(values: Iterable[Any]) -> Any:
    known = [v for v in values if v is not None]
    if not known:
        return None
    if isinstance(known[0], float):
        return "NaN" if math.isnan(found := sum(known)) else found
    found = Decimal(0)
    for value in known:
        found = EXACT.add(found, Decimal(value))
    return found


def least(values: Iterable[Any]) -> Any:
    return alike(min((v for v in values if v is not None), key=sql_order, default=None))


def greatest(values: Iterable[Any]) -> Any:
    return alike(max((v for v in values if v is not None), key=sql_order, default=None))


def modelled(rows: Sequence[dict[str, Any]], groups: Sequence[str]) -> dict[Any, list[Any]]:
    found: dict[Any, list[dict[str, Any]]] = {} if groups else {(): []}
    for row in rows:
        found.setdefault(tuple(alike(row[g]) for g in groups), []).append(row)
    return {
        key: [
            len(members),
            sum(m["v"] is not None for m in members),
            total(m["n"] for m in members),
            least(m["v"] for m in members),
            greatest(m["v"] for m in members),
        ]
        for key, members in found.items()
    }


def put_together(batches: Iterable[pa.RecordBatch], groups: int) -> dict[Any, list[Any]]:
    parts: dict[Any, list[list[Any]]] = {}
    for batch in batches:
        columns = [raw(c) for c in batch.columns]
        for row in zip(*columns, strict=True):
            parts.setdefault(tuple(alike(v) for v in row[:groups]), []).append(list(row[groups:]))
    steps = (sum, sum, total, least, greatest)
    return {
        key: [step(p[i] for p in found) for i, step in enumerate(steps)]  # type: ignore[operator]
        for key, found in parts.items()
    }


def raw(column: pa.Array) -> list[Any]:
    """The values of a column as the samples have them: times as counts."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    elif pa.types.is_date32(column.type) or pa.types.is_time32(column.type):
        column = column.cast(pa.int32())
    return list(column.to_pylist())


@given(st.data())
def test_partial_aggregates_add_up_to_those_of_all_rows(data: st.DataObject) -> None:
    kinds = {
        "g": KINDS[data.draw(st.sampled_from(sorted(KINDS)), "group")],
        "h": KINDS["boolean"],
        "n": NUMBERS[data.draw(st.sampled_from(sorted(NUMBERS)), "number")],
        "v": KINDS[data.draw(st.sampled_from(sorted(KINDS)), "value")],
    }
    pools = {name: data.draw(st.lists(st.none() | k.values, min_size=1, max_size=5)) for name, k in kinds.items()}
    if isinstance(kinds["n"].type, t.DoubleType):
        pools["n"] = data.draw(st.lists(st.integers(-8, 8).map(float) | st.just(math.nan), min_size=1))
    rows = data.draw(st.lists(st.fixed_dictionaries({name: st.sampled_from(p) for name, p in pools.items()})))
    groups = data.draw(st.sampled_from([(), ("g",), ("g", "h"), ("h",)]), "groups")
    wanted = PartialAggregation(
        groups,
        (
            CountRows(),
            CountValues("v"),
            sum_of("n", kinds["n"].type),
            Extreme("v", kinds["v"].type, "min"),
            Extreme("v", kinds["v"].type, "max"),
        ),
    )
    step = data.draw(st.integers(1, 9), "batch")
    batches = [
        pa.record_batch({name: kinds[name].array([r[name] for r in part]) for name in kinds}).select(wanted.columns)
        for part in (rows[i : i + step] for i in range(0, len(rows), step))
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partial_aggregation, "_PORTION_ROWS", data.draw(st.integers(1, 12), "portion"))
        patch.setattr(partial_aggregation, "_WORTH_IT", data.draw(st.sampled_from([0.0, 0.5, 1.1]), "worth it"))
        patch.setattr(partial_aggregation, "_BATCH_ROWS", 3)
        made = list(wanted.of(iter(batches)))
    for batch in made:
        assert batch.schema.names == list(wanted.names)
        types = [*(kinds[g].type for g in groups), *(a.type for a in wanted.aggregates)]
        assert [f.type for f in batch.schema] == [arrow_type(kind) for kind in types]
    assert put_together(made, len(groups)) == modelled(rows, groups)


def aggregated(wanted: PartialAggregation, *batches: dict[str, pa.Array]) -> list[dict[str, Any]]:
    return [row for b in wanted.of(pa.record_batch(b) for b in batches) for row in b.to_pylist()]


def test_a_sum_of_long_numbers_never_wraps_around() -> None:
    most = 2**63 - 1
    wanted = PartialAggregation((), (WideSum("n", t.BigIntType()), CountRows()))
    rows = aggregated(wanted, {"n": pa.array([most, most, 5, None])})
    assert sum(r["sum(n)"] for r in rows) == 2 * most + 5
    assert sum(r["count(*)"] for r in rows) == 4
    assert sorted(r["sum(n)"] for r in rows) == [5, most, most]
    (row,) = aggregated(wanted, {"n": pa.array([most, -most, -most, most, -7])})
    assert row == {"sum(n)": -7, "count(*)": 5}
    assert sum(r["sum(n)"] for r in aggregated(wanted, {"n": pa.array([-(2**63)] * 3)})) == -3 * 2**63


def test_sums_of_short_decimals_take_no_more_rows_than_there_were() -> None:
    wanted = PartialAggregation(("g",), (WideSum("n", t.DecimalType(True, 3, 1)), WideSum("m", t.BigIntType())))
    count = 100_000
    rows = {
        "g": pa.array([i % 2 for i in range(count)], pa.int32()),
        "n": pa.array([Decimal("99.9"), Decimal("-0.1")] * (count // 2), pa.decimal128(3, 1)),
        "m": pa.array([1] * count, pa.int64()),
    }
    made = list(wanted.of([pa.record_batch(rows)]))
    found = [row for b in made for row in b.to_pylist()]
    assert len(found) <= count
    assert max(b.num_rows for b in made) <= 65_536
    for group, expected in ((0, Decimal("99.9") * (count // 2)), (1, Decimal("-0.1") * (count // 2))):
        assert sum(r["sum(n)"] for r in found if r["g"] == group and r["sum(n)"] is not None) == expected
        assert sum(r["sum(m)"] or 0 for r in found if r["g"] == group) == count // 2


def test_no_rows_make_one_group_of_all_and_no_group_of_a_column() -> None:
    aggregates = (CountRows(), CountValues("n"), WideSum("n", t.BigIntType()), Extreme("n", t.BigIntType(), "max"))
    (row,) = aggregated(PartialAggregation((), aggregates))
    assert row == {"count(*)": 0, "count(n)": 0, "sum(n)": None, "max(n)": None}
    assert aggregated(PartialAggregation(("n",), aggregates)) == []


def test_rows_go_on_as_they_are_where_groups_are_nearly_as_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partial_aggregation, "_PORTION_ROWS", 4)
    wanted = PartialAggregation(("k",), (CountRows(), Sum("k", False)))
    found = aggregated(wanted, {"k": pa.array([1, 2, 3, 3], pa.int32())}, {"k": pa.array([4, 4, 4, 4], pa.int32())})
    assert [r["k"] for r in found] == [1, 2, 3, 4, 4, 4, 4]
    few = aggregated(wanted, {"k": pa.array([3, 3, 3, 3], pa.int32())}, {"k": pa.array([4, 4, 4, 4], pa.int32())})
    assert [(r["k"], r["count(*)"], r["sum(k)"]) for r in few] == [(3, 4, 12), (4, 4, 16)]


def test_long_texts_make_portions_of_fewer_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partial_aggregation, "_PORTION_BYTES", 1000)
    batch = {"k": pa.array(["x" * 600] * 3)}
    assert [r["count(*)"] for r in aggregated(PartialAggregation(("k",), (CountRows(),)), *[batch] * 3)] == [3, 3, 3]


def test_groups_alone_are_their_distinct_values() -> None:
    wanted = PartialAggregation(("k", "j"), ())
    values = {"k": pa.array(["a", None, "a", None]), "j": pa.array([1, None, 1, 2])}
    assert aggregated(wanted, values) == [{"k": "a", "j": 1}, {"k": None, "j": None}, {"k": None, "j": 2}]


def test_an_answer_has_no_two_columns_of_one_name() -> None:
    wanted = PartialAggregation(("count(*)",), (CountRows(), CountRows()))
    assert wanted.names == ("count(*)", "count(*)'", "count(*)''")
    assert str(wanted) == "groups by count(*): count(*), count(*)"
    assert str(PartialAggregation((), (CountRows(),))) == "aggregates count(*)"
    assert str(PartialAggregation(("a", "b"), ())) == "groups by a, b"
