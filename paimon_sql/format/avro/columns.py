"""Columnar decoding of Avro records to Arrow, without a Python object per value.

The end of a record is known only after decoding it, but every block begins with a record. So there is one cursor per
block, and all cursors advance through their n-th records together, field by field, as NumPy arrays. This pays for
files of many blocks, such as large manifests.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from paimon_sql.format.avro.schemas import AvroField, AvroType
from paimon_sql.format.bytes.memory import Bytes, Longs, Mask, binary_array, offsets_of, range_index
from paimon_sql.format.bytes.varints import MAX_SIGNED_BYTES, decoded_at, signed

MIN_BLOCKS = 64
"""Min blocks from which decoding by columns is faster than by records."""
_SLACK = 16


class IrregularError(Exception):
    """The blocks are damaged or have types that cannot be decoded by columns; decode them by records."""


def decode_columns(blocks: Sequence[tuple[int, bytes]], fields: Sequence[AvroField], schema: pa.Schema) -> pa.Table:
    """Decode the records of blocks to a table.

    Args:
        blocks: the number of records and the uncompressed bytes of each block.
        fields: the fields of the writer's schema: numbers, strings, bytes, arrays and unions with null.
        schema: the result's columns, matched by name; a field without a column is skipped, a column without a field
            is null.

    Raises:
        IrregularError: a field has another type, or the bytes are not such records.
        pa.ArrowInvalid: a value does not fit its column.
    """
    counts = np.array([count for count, _ in blocks], np.int64)
    sizes = np.array([len(block) for _, block in blocks], np.int64)
    data = np.frombuffer(b"".join([*(block for _, block in blocks), bytes(_SLACK)]), np.uint8)
    readers = [(field["name"], _reader(field["type"])) for field in fields]
    ends = np.cumsum(sizes)
    first_rows = np.cumsum(counts) - counts
    order = np.argsort(-counts, kind="stable")
    cursors, rows = (ends - sizes)[order], first_rows[order]
    descending = counts[order]
    try:
        for turn in range(int(counts.max(initial=0))):
            live = int(np.searchsorted(-descending, -turn, "left"))
            at, row = cursors[:live], rows[:live] + turn
            for _, reader in readers:
                at = reader.read(data, at, row)
            cursors[:live] = at
    except ValueError as error:
        raise IrregularError("a value reaches beyond its block") from error
    if not np.array_equal(cursors, ends[order]):
        raise IrregularError("the records of a block do not fill it")
    total, by_name = int(counts.sum()), dict(readers)
    columns = [
        by_name[f.name].finish(data, total, f.type) if f.name in by_name else pa.nulls(total, f.type) for f in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


class _Numbers:
    """Reads ``int`` and ``long``; ``slots`` are the indexes of the values in the column."""

    def __init__(self) -> None:
        self.slots: list[Longs] = []
        self.values: list[Longs] = []

    def read(self, data: Bytes, at: Longs, slots: Longs) -> Longs:
        values, at = _varints(data, at)
        self.slots.append(slots)
        self.values.append(values)
        return at

    def finish(self, data: Bytes, total: int, kind: pa.DataType) -> pa.Array:
        values, missing = _placed(_joined(self.values), _joined(self.slots), total)
        return pa.array(values, pa.int64(), mask=missing).cast(kind)


class _Bytes:
    """Reads ``string`` and ``bytes``."""

    def __init__(self) -> None:
        self.slots: list[Longs] = []
        self.starts: list[Longs] = []
        self.ends: list[Longs] = []

    def read(self, data: Bytes, at: Longs, slots: Longs) -> Longs:
        lengths, starts = _varints(data, at)
        if np.any(lengths < 0) or np.any(lengths > len(data)):
            raise IrregularError("a string has an invalid length")
        self.slots.append(slots)
        self.starts.append(starts)
        self.ends.append(starts + lengths)
        return self.ends[-1]

    def finish(self, data: Bytes, total: int, kind: pa.DataType) -> pa.Array:
        slots, starts = _joined(self.slots), _joined(self.starts)
        order = np.argsort(starts, kind="stable")
        # Sorted by offset, one array covers all data: value, gap, value, gap ...
        bounds = np.stack([starts[order], _joined(self.ends)[order]], axis=1).ravel()
        if len(bounds) and (bounds[-1] > len(data) or bounds[-1] >= 2**31):
            raise IrregularError("the data are too large for one array")
        covering = binary_array(data, bounds) if len(bounds) else pa.nulls(0, pa.binary())
        indexes, missing = _placed(np.arange(0, len(bounds), 2), slots[order], total)
        return covering.take(pa.array(indexes, mask=missing)).cast(kind)


class _Optional:
    """Reads a union of null and one other type."""

    def __init__(self, inner: _Numbers | _Bytes | _Arrays, present: int) -> None:
        self.inner = inner
        self.present = present

    def read(self, data: Bytes, at: Longs, slots: Longs) -> Longs:
        branch, at = _varints(data, at)
        if np.any((branch != 0) & (branch != 1)):
            raise IrregularError("a union has two branches")
        present = branch == self.present
        if present.all():
            return self.inner.read(data, at, slots)
        if present.any():
            at[present] = self.inner.read(data, at[present], slots[present])
        return at

    def finish(self, data: Bytes, total: int, kind: pa.DataType) -> pa.Array:
        return self.inner.finish(data, total, kind)


class _Arrays:
    """Reads arrays of one block, as all writers encode them unless they are huge."""

    def __init__(self, items: _Numbers | _Bytes | _Optional) -> None:
        self.items = items
        self.slots: list[Longs] = []
        self.counts: list[Longs] = []
        self.seen = 0

    def read(self, data: Bytes, at: Longs, slots: Longs) -> Longs:
        counts, at = _varints(data, at)
        if np.any(counts < 0) or np.any(counts > len(data)):
            raise IrregularError("an array is written in blocks of known size")
        self.slots.append(slots)
        self.counts.append(counts)
        # Items are numbered in the order of reading; `finish` sorts them by record.
        firsts = self.seen + np.cumsum(counts) - counts
        self.seen += int(counts.sum())
        for turn in range(int(counts.max(initial=0))):
            live = counts > turn
            at[live] = self.items.read(data, at[live], firsts[live] + turn)
        filled = counts > 0
        if filled.any():
            more, at[filled] = _varints(data, at[filled])
            if more.any():
                raise IrregularError("an array is written in several blocks")
        return at

    def finish(self, data: Bytes, total: int, kind: pa.DataType) -> pa.Array:
        slots, found = _joined(self.slots), _joined(self.counts)
        counts, missing = _placed(found, slots, total)
        firsts, _ = _placed(np.cumsum(found) - found, slots, total)
        order = range_index(firsts, counts)
        items = self.items.finish(data, self.seen, kind.value_type).take(pa.array(order))
        lists = pa.ListArray.from_arrays(pa.array(offsets_of(counts), pa.int32()), items, mask=pa.array(missing))
        return lists.cast(kind)


_Reader = _Numbers | _Bytes | _Optional | _Arrays


def _reader(kind: AvroType) -> _Reader:
    name = kind["type"] if isinstance(kind, dict) else kind
    if isinstance(name, list):
        if len(name) != 2 or "null" not in name:
            raise IrregularError("a union is more than an optional value")
        present = 1 - name.index("null")
        inner = _reader(name[present])
        if isinstance(inner, _Optional):
            raise IrregularError("a union is inside a union")
        return _Optional(inner, present)
    if name in ("int", "long"):
        return _Numbers()
    if name in ("string", "bytes"):
        return _Bytes()
    if isinstance(kind, dict) and name == "array":
        items = _reader(kind["items"])
        if isinstance(items, _Arrays):
            raise IrregularError("an array is inside an array")
        return _Arrays(items)
    raise IrregularError(f"a field is of type {name}")


def _varints(data: Bytes, at: Longs) -> tuple[Longs, Longs]:
    """Decode the zigzag varints at some offsets; with the end offset of each."""
    numbers, ends = decoded_at(data, at, MAX_SIGNED_BYTES)
    return signed(numbers), ends


def _joined(parts: list[Longs]) -> Longs:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _placed(values: Longs, slots: Longs, total: int) -> tuple[Longs, Mask]:
    """A column with values in some slots; with the mask of the others."""
    column, missing = np.zeros(total, np.int64), np.ones(total, np.bool_)
    column[slots], missing[slots] = values, False
    return column, missing
