"""Merge engines over windows: like plain folding, and the same however the rows are spread over files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.format.schema.schema import TableSchema, new_schema
from paimon_sql.format.schema.system_fields import SEQUENCE_NUMBER, VALUE_KIND, RowKind
from paimon_sql.format.schema.types import DataField, IntType
from paimon_sql.storage.merge.registry import merge_engine
from paimon_sql.storage.merge.windows import RowOrder, Window

Row = dict[str, Any]
NAMES = ("k", "a", "b", "c", "g", "h")
INSERT, BEFORE, AFTER, DELETE = RowKind


def schema_of(**options: str) -> TableSchema:
    fields = [DataField(i, name, IntType(name != "k")) for i, name in enumerate(NAMES)]
    texts = {key.replace("__", ".").replace("_", "-"): text for key, text in options.items()}
    return new_schema(fields, options=texts, primary_keys=["k"], partition_keys=[])


def table_of(rows: Sequence[Row], first: int = 0) -> pa.Table:
    columns = {name: pa.array([row.get(name) for row in rows], pa.int32()) for name in NAMES}
    columns[SEQUENCE_NUMBER.name] = pa.array(range(first, first + len(rows)), pa.int64())
    columns[VALUE_KIND.name] = pa.array([row.get("kind", INSERT) for row in rows], pa.int8())
    return pa.table(columns)


def window_of(table: pa.Table) -> Window:
    return Window(table, *RowOrder(("k",), ((SEQUENCE_NUMBER.name, False),)).sort(table))


def merged(schema: TableSchema, rows: Sequence[Row]) -> list[Row]:
    found: list[Row] = merge_engine(schema).merge(window_of(table_of(rows))).to_pylist()
    return found


def live(schema: TableSchema, table: pa.Table) -> list[Row]:
    parts = merge_engine(schema).live_rows(window_of(table), NAMES)
    return sorted((row for part in parts for row in part.to_pylist()), key=lambda row: row["k"])


def in_files(schema: TableSchema, files: Sequence[Sequence[Row]]) -> pa.Table:
    """What a writer leaves in files, in the order in which they are merged."""
    engine, parts, first = merge_engine(schema), [], 0
    for rows in files:
        window = window_of(table_of(rows, first))
        parts += [engine.merge(part) for part in engine.split(window)]
        first += len(rows)
    return pa.concat_tables(parts)


def rows_of(*kinds: RowKind) -> st.SearchStrategy[list[list[Row]]]:
    small = st.none() | st.integers(0, 3)
    row = st.fixed_dictionaries(
        {"k": st.integers(0, 2), "kind": st.sampled_from(kinds), **dict.fromkeys(NAMES[1:], small)}
    )
    return st.lists(st.lists(row, max_size=5), max_size=4)


# ---- models: a row after the other


def newest(rows: Sequence[Row]) -> Row | None:
    return None if rows[-1]["kind"] in (BEFORE, DELETE) else rows[-1]


def newest_insert(rows: Sequence[Row]) -> Row | None:
    return first(rows[::-1])


def filled(rows: Sequence[Row]) -> Row | None:
    """Partial update without groups; a delete removes, and what comes after begins with the values that it bears."""
    begun, is_there = dict.fromkeys(NAMES), False
    for row in rows:
        if row["kind"] == DELETE:
            begun, is_there = row, False
        elif row["kind"] != BEFORE:
            begun, is_there = {**begun, **{n: row[n] for n in NAMES if row[n] is not None}}, True
    return begun if is_there else None


def in_groups(groups: dict[tuple[str, ...], str], removing: str | None = None) -> Any:
    """Partial update with sequence groups."""
    free = [n for n in NAMES if n not in {m for o, member in groups.items() for m in (*o, member)}]

    def at_least(new: Row, old: Row, ordering: tuple[str, ...]) -> bool:
        key = [[(r[n] is not None, r[n] or 0) for n in ordering] for r in (new, old)]
        return key[0] >= key[1]

    def model(rows: Sequence[Row]) -> Row | None:
        if len(rows) == 1:
            return newest(rows)
        so_far, inserted = dict.fromkeys(NAMES), False
        for row in rows:
            retracts = row["kind"] in (BEFORE, DELETE)
            fresh = {
                ordering: any(row[n] is not None for n in ordering) and at_least(row, so_far, ordering)
                for ordering in groups
            }
            if row["kind"] == DELETE and any(fresh[o] for o in groups if removing in o):
                so_far, inserted = dict.fromkeys(NAMES), False
                continue
            for ordering, member in groups.items():
                if fresh[ordering]:
                    so_far |= {n: row[n] for n in ordering}
                    so_far[member] = None if retracts else row[member]
            if not retracts:
                so_far |= {n: row[n] for n in free if row[n] is not None}
            inserted |= not retracts
        return so_far if inserted else None

    return model


def first(rows: Sequence[Row]) -> Row | None:
    return next((row for row in rows if row["kind"] in (INSERT, AFTER)), None)


def summed(rows: Sequence[Row]) -> Row | None:
    """Aggregation with a sum of a, the rest as last_non_null_value; a delete removes."""
    so_far: Row | None = None
    for row in rows:
        if row["kind"] == DELETE:
            so_far = None
            continue
        old = so_far or dict.fromkeys(NAMES)
        so_far = {**old, **{n: row[n] for n in NAMES if row[n] is not None}}
        so_far["a"] = old["a"] if row["a"] is None else (old["a"] or 0) + row["a"]
    return so_far


ALL, UPSERTS = (INSERT, BEFORE, AFTER, DELETE), (INSERT, AFTER)
PARTIAL = {"merge_engine": "partial-update"}
TWO_GROUPS = {"fields.g.sequence-group": "a", "fields.h.sequence-group": "b"}
WIDE_GROUP = {"fields.g,h.sequence-group": "a"}
CASES: dict[str, tuple[dict[str, str], Any, tuple[RowKind, ...]]] = {
    "deduplicate": ({}, newest, ALL),
    "deduplicate, deletes ignored": ({"ignore_delete": "true"}, newest_insert, ALL),
    "partial update": (PARTIAL, filled, UPSERTS),
    "partial update, deletes remove": ({**PARTIAL, "partial-update.remove-record-on-delete": "true"}, filled, ALL),
    "two groups": ({**PARTIAL, **TWO_GROUPS}, in_groups({("g",): "a", ("h",): "b"}), ALL),
    "a group of two": ({**PARTIAL, **WIDE_GROUP}, in_groups({("g", "h"): "a"}), ALL),
    "a group that removes": (
        {**PARTIAL, **TWO_GROUPS, "partial-update.remove-record-on-sequence-group": "h"},
        in_groups({("g",): "a", ("h",): "b"}, "h"),
        ALL,
    ),
    "first row": ({"merge_engine": "first-row", "ignore_delete": "true"}, first, ALL),
    "sum, deletes remove": (
        {
            "merge_engine": "aggregation",
            "fields.a.aggregate-function": "sum",
            "aggregation.remove-record-on-delete": "true",
        },
        summed,
        (INSERT, AFTER, DELETE),
    ),
}


def expected(model: Any, rows: Sequence[Row]) -> list[Row]:
    keys = sorted({row["k"] for row in rows})
    found = [model([row for row in rows if row["k"] == k]) for k in keys]
    return [{n: row[n] for n in NAMES} for row in found if row is not None]


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=30)
@given(data=st.data())
def test_an_engine_merges_like_its_model(case: str, data: st.DataObject) -> None:
    options, model, kinds = CASES[case]
    rows = [row for file in data.draw(rows_of(*kinds)) for row in file]
    assert live(schema_of(**options), table_of(rows)) == expected(model, rows)


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=30)
@given(data=st.data())
def test_rows_merged_file_by_file_merge_to_the_same(case: str, data: st.DataObject) -> None:
    options, model, kinds = CASES[case]
    files = [file for file in data.draw(rows_of(*kinds)) if file]
    if files:
        table = in_files(schema_of(**options), files)
        assert live(schema_of(**options), table) == expected(model, [row for file in files for row in file])
