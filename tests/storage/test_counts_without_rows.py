"""Answers that are given without reading rows, or without reading all: those of a plain read, over random tables.

Counts, minima and maxima out of metadata, rows that a condition leaves by partitions, buckets, keys, statistics and
indexes, limits, the first rows in an order, and rows put together by readers are compared with plain Python over all
rows. ``PAIMON_TEST_EXAMPLES`` says how many tables there are.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pyarrow as pa
from hypothesis import given, note, settings
from hypothesis import strategies as st

from paimon_sql.errors import PaimonError
from paimon_sql.format.metadata.index_files import DeletionVector
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_field, arrow_schema
from paimon_sql.format.schema.system_fields import VALUE_KIND, RowKind
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.compact.compaction import compact_due, plan_table
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.expressions.partial_aggregation import (
    CountRows,
    CountValues,
    Extreme,
    PartialAggregate,
    PartialAggregation,
)
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.indexes.global_index import build_index, index_column, plan_index
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.row_level.vectors import mark
from paimon_sql.storage.scan.metadata_aggregates import metadata_aggregates
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.scan.top_n import TopN
from paimon_sql.storage.schema.changes.alter_columns import AddColumn, DropColumn, RenameColumn
from paimon_sql.storage.schema.changes.base import SchemaChange, apply_changes
from paimon_sql.storage.schema.changes.column_types import UpdateColumnType
from paimon_sql.storage.schema.changes.options import SetOption
from paimon_sql.storage.staging.proposal import Overwrite, overwritten
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from tests.storage import commits
from tests.storage.core_tables import again, compact, live, make_table
from tests.storage.predicate_model import holds, predicates
from tests.storage.sample_values import KINDS, Kind, sql_order

EXAMPLES = int(os.environ.get("PAIMON_TEST_EXAMPLES", "40"))
Row = dict[str, Any]
Drawn = TypeVar("Drawn")


class Draw(Protocol):
    """Draws a value."""

    def __call__(self, strategy: st.SearchStrategy[Drawn], label: Any = None) -> Drawn:
        """Draw one."""


_EVOLVING = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "deletion-vectors.enabled": "true"}
_APPEND = {
    "plain": {},
    "vectors": {"deletion-vectors.enabled": "true"},
    "buckets": {"bucket": "3", "bucket-key": "a"},
    "buckets of two columns": {"bucket": "2", "bucket-key": "b,a"},
    "evolving": _EVOLVING,
    "clustered": {"clustering.incremental": "true", "clustering.columns": "a"},
}
_KEYED = {
    "one bucket": {"bucket": "1"},
    "buckets": {"bucket": "3"},
    "dynamic": {"bucket": "-1", "dynamic-bucket.target-row-num": "4"},
    "vectors": {"bucket": "1", "deletion-vectors.enabled": "true"},
    "merged vectors": {"bucket": "2", "deletion-vectors.enabled": "true", "deletion-vectors.merge-on-read": "true"},
    "lookup": {"bucket": "2", "changelog-producer": "lookup"},
    "partial-update": {"bucket": "1", "merge-engine": "partial-update"},
    "aggregation": {"bucket": "1", "merge-engine": "aggregation", "fields.default-aggregate-function": "first_value"},
    "first-row": {"bucket": "2", "merge-engine": "first-row"},
    "sequence": {"bucket": "1", "sequence.field": "b"},
}
_STATS = ("none", "counts", "truncate(1)", "truncate(16)", "full")
_PARTITIONS = ("int", "text", "boolean", "date", "decimal", "double", "timestamp", "bigint")
_KEYS = ("int", "text", "bigint", "date", "decimal", "bytes", "timestamp", "double", "tinyint")
_WIDER: Mapping[str, tuple[str, t.DataType]] = {
    "tinyint": ("int", t.IntType()),
    "int": ("bigint", t.BigIntType()),
    "float": ("double", t.DoubleType()),
}


@dataclass
class World:
    """A table under test, and what its columns are of."""

    table: Table
    kinds: dict[str, Kind]
    pools: dict[str, st.SearchStrategy[Any]]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return self.table.schema.names

    def kind(self, name: str) -> Kind:
        """The kind of a column, its values those of the pool."""
        return Kind(self.kinds[name].type, self.pools[name] | self.kinds[name].values)

    def rows(self) -> st.SearchStrategy[list[Row]]:
        """Rows that may be written."""
        given = {
            f.name: self.pools[f.name] if not f.type.nullable else st.none() | self.pools[f.name]
            for f in self.table.schema.fields
        }
        return st.lists(st.fixed_dictionaries(given), min_size=1, max_size=12)

    def batch(self, rows: Sequence[Row], kinds: Sequence[int] | None = None) -> pa.RecordBatch:
        """Rows as the table takes them."""
        schema = arrow_schema(self.table.schema.fields)
        arrays = [self.kinds[n].array([row[n] for row in rows]).cast(schema.field(n).type) for n in schema.names]
        if kinds is not None:
            schema, arrays = schema.append(arrow_field(VALUE_KIND)), [*arrays, pa.array(kinds, pa.int8())]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    @cached_property
    def _nothing(self) -> list[Row]:
        return []

    def read(self, predicate: Predicate | None = None, **how: Any) -> list[Row]:
        """The rows of a plan."""
        table = again(self.table)
        names = tuple(how.pop("columns", None) or table.schema.names)
        plan = plan_scan(table, predicate, columns=names, **how)
        wanted = plan.condition if predicate is None else predicate
        found: list[Row] = []
        for split in plan.splits:
            for batch in ReadTask(table, split, names, wanted).batches():
                found += _plain_rows(batch)
        return found


def _plain_rows(batch: pa.RecordBatch | pa.Table) -> list[Row]:
    columns = {name: _plain(batch.column(name)) for name in batch.schema.names}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _plain(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    kind = column.type
    if pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp(kind.unit)).cast(pa.int64())
    elif pa.types.is_date32(kind) or pa.types.is_time32(kind):
        column = column.cast(pa.int32())
    values: list[Any] = column.to_pylist()
    return values


def _kept_by_orc(kind: Kind) -> Kind:
    """The kind without the second before 1970, which Java's readers of ORC take for the first one after it."""
    if not isinstance(kind.type, t.TimestampType | t.LocalZonedTimestampType):
        return kind
    second = 10 ** (9 if kind.type.precision > 6 else 6)
    return Kind(kind.type, kind.values.filter(lambda n: n >= 0 or n <= -second))


@st.composite
def worlds(draw: st.DrawFn, path: Path) -> World:
    """An empty table."""
    keyed = draw(st.booleans())
    names = {"a": draw(st.sampled_from(sorted(KINDS))), "b": draw(st.sampled_from(sorted(KINDS)))}
    if keyed:
        names = {"k": draw(st.sampled_from(_KEYS)), **names}
    else:
        names = {"id": "int", **names}
    partitions = ["p"] if draw(st.booleans()) else []
    if partitions:
        names["p"] = draw(st.sampled_from(_PARTITIONS))
    kinds = {name: KINDS[kind] for name, kind in names.items()}
    options = {
        **draw(st.sampled_from(list((_KEYED if keyed else _APPEND).values()))),
        "file.format": draw(st.sampled_from(["parquet", "parquet", "orc", "avro"])),
        "metadata.stats-mode": draw(st.sampled_from(_STATS)),
        "metadata.stats-dense-store": draw(st.sampled_from(["true", "false"])),
        "write-only": draw(st.sampled_from(["true", "false"])),
    }
    if draw(st.integers(0, 3)) == 0:
        options["parquet.block.size"] = options["orc.stripe.size"] = "64"
    index = draw(st.sampled_from(["", "", "bloom-filter", "bitmap", "bsi", "range-bitmap"]))
    if index:
        options[f"file-index.{index}.columns"] = draw(st.sampled_from(["a", "b"]))
    if options["file.format"] == "orc":
        kinds = {name: _kept_by_orc(kind) for name, kind in kinds.items()}
    keys = ["k", *partitions] if keyed else []
    fields = [DataField(i, name, kind.type) for i, (name, kind) in enumerate(kinds.items())]
    table = make_table(path, options, columns=fields, keys=keys, partitions=partitions)
    sizes = {name: 2 if name == "p" or kind.type == KINDS["boolean"].type else 5 for name, kind in kinds.items()}
    pools = {
        name: st.sampled_from(draw(st.lists(kind.values, min_size=sizes[name], max_size=sizes[name], unique_by=repr)))
        for name, kind in kinds.items()
    }
    return World(table, kinds, pools)


# ---- what becomes of a table -----------------------------------------------------------------------------------------


def _insert(world: World, draw: Draw) -> None:
    rows = draw(world.rows())
    note(f"insert {rows}")
    _append(world, world.batch(rows))


def _append(world: World, batch: pa.RecordBatch, overwrite: Overwrite | None = None) -> None:
    table = again(world.table)
    task = plan_write(table, overwrite)
    messages = task.run([batch])
    if table.layout.groups_files:
        every = messages
    else:
        every = [*messages, *compact_due(table, messages, LocalExecutor(1), overwrite)]
    if overwrite is None:
        commits.append(table, every)
        return
    commits.overwrite(table, every, lambda latest: overwritten(table, latest, overwrite, every))


def _overwrite(world: World, draw: Draw) -> None:
    rows = draw(world.rows())
    note(f"overwrite {rows}")
    _append(world, world.batch(rows), Overwrite(dynamic=bool(world.table.schema.partition_keys)))


def _remove(world: World, draw: Draw) -> None:
    if not world.table.schema.primary_keys:
        _mark(world, draw)
        return
    rows = draw(world.rows())
    note(f"delete {rows}")
    _append(world, world.batch(rows, [RowKind.DELETE] * len(rows)))


def _mark(world: World, draw: Draw) -> None:
    """Mark rows of a file as deleted."""
    table = again(world.table)
    files = live(table)
    if not files or table.schema.options.get("deletion-vectors.enabled") != "true":
        return
    snapshot = table.snapshots.latest()
    entry = draw(st.sampled_from(files))
    gone = draw(st.sets(st.integers(0, entry.file.row_count - 1), min_size=1))
    note(f"mark {sorted(gone)} of {entry.file.file_name}")
    commits.append(table, mark(table, snapshot, [(entry, DeletionVector(sorted(gone)))]))


def _compact(world: World, draw: Draw) -> None:
    table = again(world.table)
    full = draw(st.booleans())
    note(f"compact {full}")
    if table.schema.primary_keys:
        compact(table, full=full)
    else:
        commits.compact(table, plan_table(table, full=full).run(LocalExecutor(1)))


def _alter(world: World, draw: Draw) -> None:
    free = [n for n in world.columns if n not in (*world.table.schema.partition_keys, *world.table.schema.primary_keys)]
    name = draw(st.sampled_from(free))
    deed = draw(st.sampled_from(["add", "rename", "drop", "again", "widen", "stats"]))
    number = world.table.schema.highest_field_id + world.table.schema.id
    if deed == "add":
        _change(world, *_added(world, f"n{number}", draw))
    elif deed == "rename":
        new = f"r{number}"
        if _change(world, RenameColumn((name,), new)):
            world.kinds[new], world.pools[new] = world.kinds.pop(name), world.pools.pop(name)
    elif deed in ("drop", "again") and len(free) > 1:
        if _change(world, DropColumn((name,))) and deed == "again":
            _change(world, *_added(world, name, draw))
    elif deed == "widen":
        held = next((w for k, w in _WIDER.items() if KINDS[k].type == world.kinds[name].type), None)
        if held is not None and _change(world, UpdateColumnType((name,), held[1])):
            pool = world.pools[name]
            world.kinds[name] = KINDS[held[0]]
            world.pools[name] = pool | KINDS[held[0]].values
    elif deed == "stats":
        _change(world, SetOption("metadata.stats-mode", draw(st.sampled_from(_STATS))))


def _added(world: World, name: str, draw: Draw) -> tuple[SchemaChange]:
    kind = _kept_by_orc(KINDS[draw(st.sampled_from(sorted(KINDS)))])
    world.kinds[name] = kind
    world.pools[name] = st.sampled_from(draw(st.lists(kind.values, min_size=1, max_size=4)))
    return (AddColumn((name,), kind.type),)


def _change(world: World, *changes: SchemaChange) -> bool:
    note(f"alter {changes}")
    with suppress(PaimonError):
        table = world.table
        schema = table.schemas.evolve(lambda s: apply_changes(s, changes, has_data=True, case_sensitive=True))
        world.table = Table(table.name, table.path, table.file_io, schema)
        return True
    return False


def _index(world: World, draw: Draw) -> None:
    table = again(world.table)
    if not table.layout.groups_files:
        return
    with suppress(PaimonError):
        column = index_column(table, draw(st.sampled_from(world.columns)), draw(st.sampled_from(["btree", "bitmap"])))
        note(f"index {column}")
        plan = plan_index(table, column, table.snapshots.latest(), None)
        commits.change_indexes(again(table), build_index(again(table), LocalExecutor(1), plan))


_DEEDS: Sequence[Callable[[World, Draw], None]] = (
    *(_insert, _insert, _insert, _remove, _remove),
    *(_compact, _overwrite, _alter, _alter, _index),
)


# ---- what is asked ---------------------------------------------------------------------------------------------------


def _canonical(row: Row) -> tuple[Any, ...]:
    """A row as something that is equal for equal rows: NaN equals itself, zeros keep their sign."""
    return tuple((name, repr(value) if value == value else "nan") for name, value in sorted(row.items()))


def _bag(rows: Sequence[Row]) -> Counter[tuple[Any, ...]]:
    return Counter(map(_canonical, rows))


def _ask_rows(world: World, rows: list[Row], draw: Draw) -> None:
    kinds = {name: world.kind(name) for name in world.columns}
    predicate = draw(predicates(kinds))
    columns = draw(st.lists(st.sampled_from(world.columns), unique=True, min_size=1))
    note(f"where {predicate} of {columns}")
    expected = [{n: row[n] for n in columns} for row in rows if holds(predicate, row, kinds)]
    assert _bag(world.read(predicate, columns=columns)) == _bag(expected)


def _ask_limit(world: World, rows: list[Row], draw: Draw) -> None:
    limit = draw(st.integers(0, 12))
    note(f"limit {limit}")
    found = world.read(limit=limit)
    assert len(found) >= min(limit, len(rows)) and not _bag(found) - _bag(rows)


def _ask_count(world: World, rows: list[Row], draw: Draw) -> None:
    keys = world.table.schema.partition_keys
    kinds = {name: world.kind(name) for name in keys}
    predicate = draw(predicates(kinds)) if bool(kinds) and draw(st.booleans()) else None
    note(f"count where {predicate}")
    plan = plan_scan(again(world.table), predicate)
    expected = [row for row in rows if predicate is None or holds(predicate, row, kinds)]
    if plan.counts_rows:
        assert plan.row_count == len(expected)


def _aggregate(world: World, draw: Draw) -> PartialAggregate:
    name = draw(st.sampled_from(world.columns))
    kind = world.table.schema.field(name).type
    makers: list[PartialAggregate] = [CountRows(), CountValues(name)]
    if t.is_ordered(kind):
        makers += [Extreme(name, kind, "min"), Extreme(name, kind, "max")]
    return draw(st.sampled_from(makers))


def _ask_aggregates(world: World, rows: list[Row], draw: Draw) -> None:
    keys = list(world.table.schema.partition_keys)
    by_metadata = draw(st.booleans())
    groups = draw(st.lists(st.sampled_from(keys), unique=True)) if keys else []
    if not by_metadata and draw(st.booleans()):
        ordered = [n for n in world.columns if t.is_ordered(world.table.schema.field(n).type)]
        groups = draw(st.lists(st.sampled_from(ordered), unique=True, max_size=2))
    aggregates = tuple(draw(st.lists(st.builds(lambda: _aggregate(world, draw)), max_size=4)))
    wanted = PartialAggregation(tuple(groups), aggregates)
    asked = keys if by_metadata else world.columns
    kinds = {name: world.kind(name) for name in asked}
    predicate = draw(predicates(kinds)) if bool(kinds) and draw(st.booleans()) else None
    note(f"{wanted} where {predicate}, by metadata: {by_metadata}")
    chosen = [row for row in rows if predicate is None or holds(predicate, row, kinds)]
    table = again(world.table)
    if by_metadata:
        told = metadata_aggregates(table, wanted, predicate)
        if told is not None:
            _compare(wanted, told.rows, chosen)
            keys_found = [
                tuple(v + 0.0 if isinstance(v, float) else v for v in r.values()) for r in told.rows.to_pylist()
            ]
            assert len({repr(k[: len(groups)]) for k in keys_found}) == len(told.rows)
            assert groups or len(told.rows) == 1
        return
    if not wanted.columns:
        return
    plan = plan_scan(table, predicate, columns=wanted.columns)
    parts = [
        batch
        for split in plan.splits
        for batch in wanted.of(ReadTask(table, split, wanted.columns, predicate).batches())
    ]
    if parts:
        _compare(wanted, pa.Table.from_batches(parts), chosen)


def _compare(wanted: PartialAggregation, found: pa.Table, rows: list[Row]) -> None:
    """Partial aggregates, put together, against those of plain rows."""

    def key(values: Sequence[Any]) -> tuple[Any, ...]:
        return tuple("nan" if v != v else v + 0.0 if isinstance(v, float) else v for v in values)

    plain = [list(v) for v in zip(*(_plain(found.column(i)) for i in range(found.num_columns)), strict=True)]
    width = len(wanted.groups)
    parts: dict[tuple[Any, ...], list[list[Any]]] = {}
    for values in plain:
        parts.setdefault(key(values[:width]), []).append(values[width:])
    expected: dict[tuple[Any, ...], list[Row]] = {} if width else {(): []}
    for row in rows:
        expected.setdefault(key([row[g] for g in wanted.groups]), []).append(row)
    for group, told in parts.items():
        assert group in expected, group
        for i, aggregate in enumerate(wanted.aggregates):
            assert _same(_together(aggregate, [t[i] for t in told]), _of(aggregate, expected[group])), aggregate
    if not width and not parts:
        return
    assert parts.keys() == expected.keys()


def _of(aggregate: PartialAggregate, rows: list[Row]) -> Any:
    if isinstance(aggregate, CountRows):
        return len(rows)
    values = [row[aggregate.columns[0]] for row in rows if row[aggregate.columns[0]] is not None]
    if isinstance(aggregate, CountValues):
        return len(values)
    assert isinstance(aggregate, Extreme)
    return _extreme(aggregate, values)


def _together(aggregate: PartialAggregate, parts: list[Any]) -> Any:
    if isinstance(aggregate, Extreme):
        return _extreme(aggregate, [p for p in parts if p is not None])
    return sum(parts)


def _extreme(aggregate: Extreme, values: list[Any]) -> Any:
    choose = min if aggregate.function == "min" else max
    return choose(values, key=sql_order, default=None)


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) or (one != one and other != other)


def _ask_first(world: World, rows: list[Row], draw: Draw) -> None:
    ordered = [n for n in world.columns if t.is_ordered(world.table.schema.field(n).type)]
    if not ordered:
        return
    column, limit = draw(st.sampled_from(ordered)), draw(st.integers(1, 8))
    descending, nulls_first = draw(st.booleans()), draw(st.booleans())
    second = draw(st.sampled_from([None, *(n for n in ordered if n != column)]))
    top = TopN(column, descending, nulls_first, limit, alone=second is None)
    keys = world.table.schema.partition_keys
    kinds = {name: world.kind(name) for name in keys}
    predicate = draw(predicates(kinds)) if bool(kinds) and draw(st.booleans()) else None
    note(f"{top}, then by {second}, where {predicate}")

    def place(row: Row) -> tuple[Any, ...]:
        def of(name: str, down: bool, first: bool) -> tuple[Any, ...]:
            value = row[name]
            return ((value is None) != first, _Reversed(sql_order(value)) if down else sql_order(value))

        return (*of(column, descending, nulls_first), *(of(second, False, True) if second else ()))

    chosen = [row for row in rows if predicate is None or holds(predicate, row, kinds)]
    left = [r for r in world.read(predicate, top=top) if predicate is None or holds(predicate, r, kinds)]
    first, told = (sorted(some, key=place)[:limit] for some in (chosen, left))
    assert list(map(place, told)) == list(map(place, first))


@dataclass(order=False)
class _Reversed:
    value: Any = field()

    def __lt__(self, other: _Reversed) -> bool:
        return bool(other.value < self.value)


_QUESTIONS: Sequence[Callable[[World, list[Row], Draw], None]] = (
    *(_ask_rows, _ask_rows, _ask_rows, _ask_limit, _ask_count),
    *(_ask_aggregates, _ask_aggregates, _ask_first, _ask_first),
)


@settings(max_examples=EXAMPLES)
@given(st.data())
def test_they_are_those_of_a_plain_read(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = data.draw(worlds(Path(folder) / "t"))
        note(f"{world.table.schema}")
        for deed in [_insert, *data.draw(st.lists(st.sampled_from(_DEEDS), min_size=1, max_size=7)), _insert]:
            with suppress(PaimonError):
                deed(world, data.draw)
        rows = world.read()
        note(f"holds {rows}")
        for ask in data.draw(st.lists(st.sampled_from(_QUESTIONS), min_size=6, max_size=12)):
            ask(world, rows, data.draw)
