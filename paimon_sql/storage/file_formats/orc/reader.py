"""Reading ORC, one stripe after another, and those piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.orc as orc

from paimon_sql.format.bytes.bounded import check_count
from paimon_sql.format.schema import types as t
from paimon_sql.storage.file_formats.base import FileRead, batch_of, canonical, decoding_file
from paimon_sql.storage.file_formats.orc.tail import NAMES, TIMESTAMPS, Kind, OrcTail, read_tail
from paimon_sql.storage.file_formats.orc.timestamps import StripeTimestamps, WithTail, columns_of, plain_tail
from paimon_sql.storage.file_io.base import FileIO
from paimon_sql.storage.file_io.errors import refusals

_PIECE_ROWS, _LEAST_PIECE_ROWS = 16_384, 128
_READ_AHEAD = 32


def read_orc(file_io: FileIO, wanted: FileRead) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The wanted columns of an ORC file as canonical batches, each with its first row's position."""
    with refusals("read", wanted.path), file_io.open_input(wanted.path) as source:
        with decoding_file("no ORC file", wanted.path):
            tail = read_tail(source)
            shown = _shown(source, tail)
        with decoding_file("cannot be read as ORC", wanted.path):
            yield from _stripes(source, tail, shown, wanted)


def _shown(source: pa.NativeFile, tail: OrcTail) -> pa.NativeFile:
    """The file as Arrow's reader gets to see it."""
    if any(tail.kind(column) in TIMESTAMPS for column in range(len(tail.types))):
        return pa.PythonFile(WithTail(source, plain_tail(tail)), mode="r")
    return source


def _stripes(
    source: pa.NativeFile, tail: OrcTail, shown: pa.NativeFile, wanted: FileRead
) -> Iterator[tuple[int, pa.RecordBatch]]:
    columns = columns_of(tail, wanted.columns)
    check_count(sum(stripe.rows for stripe in tail.stripes), 1 << 62, "rows")
    legacy = wanted.option("orc.timestamp-ltz.legacy.type", "true") == "true"
    pieces = _pieces(shown, tail, columns, wanted)
    first = 0
    for stripe in tail.stripes:
        end = first + stripe.rows
        if not wanted.touches(first, stripe.rows):
            first = end
            continue
        times = StripeTimestamps.of(source, tail, stripe, legacy)
        while first < end:
            rows, stored = next(pieces)
            arrays = []
            for field in wanted.wanted:
                if stored is not None and field.name in columns:
                    array = times.complete(stored.column(field.name), columns[field.name], field.type)
                else:
                    array = pa.nulls(rows)
                arrays.append(canonical(array, field, wanted.path))
            yield from wanted.cut(first, batch_of(arrays, wanted.schema, rows))
            first += rows


def _pieces(
    shown: pa.NativeFile, tail: OrcTail, columns: Mapping[str, int], wanted: FileRead
) -> Iterator[tuple[int, pa.RecordBatch | None]]:
    """What is stored of the stripes that are touched: the rows of each batch, and the batch if it has columns.

    No batch goes beyond its stripe. Where some rows only are wanted, the stripes without any are passed over and the
    others come whole, and so does what is read of columns of which but small parts are wanted; otherwise nothing is
    passed over, and no more is decoded than is asked for.
    """
    names = list(columns)
    types = {f.name: f.type for f in wanted.wanted}
    parts = [_Part.of(tail, column, types[name], name) for name, column in columns.items()]
    few = 2 * sum(part.leaves for part in parts) <= sum(_leaves(tail, column) for column in columns.values())
    if not names:
        for stripe in tail.stripes:
            yield from (
                (min(wanted.batch_rows, stripe.rows - at), None) for at in range(0, stripe.rows, wanted.batch_rows)
            )
    elif wanted.row_ranges is not None or few:
        first = 0
        reader = orc.ORCFile(shown)
        # Arrow takes a dot for a step into a struct.
        chosen = None if any("." in name for name in names) else [path for part in parts for path in part.paths]
        for number, stripe in enumerate(tail.stripes):
            if wanted.touches(first, stripe.rows):
                yield stripe.rows, reader.read_stripe(number, chosen)
            first += stripe.rows
    else:
        stored = sum(stripe.data_length for stripe in tail.stripes)
        most = min(_PIECE_ROWS, wanted.rows_at_once(sum(stripe.rows for stripe in tail.stripes), stored))
        yield from _regrouped(_scanned(shown, names, most), tail, most)


@dataclass(frozen=True)
class _Part:
    """The wanted part of a column: the paths that name it to Arrow's reader, and how many leaves it has."""

    paths: list[str]
    leaves: int

    @classmethod
    def of(cls, tail: OrcTail, column: int, wanted: t.DataType, path: str) -> _Part:
        """The part of a column that a type names; a struct of which it names nothing comes whole.

        Maps come whole: a part of one has no path that its key has, too, and without that Arrow ends the process.
        """
        kind, inside, whole = tail.kind(column), tail.children(column), cls([path], _leaves(tail, column))
        if kind == Kind.LIST and isinstance(wanted, t.ArrayType):
            return cls.of(tail, inside[0], wanted.element, path)
        if kind == Kind.STRUCT and isinstance(wanted, t.RowType):
            types = {f.name: f.type for f in wanted.fields}
            names = [name.decode() for name in tail.types[column].texts(NAMES)]
            chosen = [(name, child) for name, child in zip(names, inside, strict=True) if name in types]
            if chosen and len(set(names)) == len(names) and not any("." in name for name in names):
                parts = [cls.of(tail, child, types[name], f"{path}.{name}") for name, child in chosen]
                leaves = sum(part.leaves for part in parts)
                return whole if leaves == whole.leaves else cls([p for part in parts for p in part.paths], leaves)
        return whole


def _leaves(tail: OrcTail, column: int) -> int:
    """How many columns without others inside a column is made of."""
    return sum(_leaves(tail, child) for child in tail.children(column)) or 1


def _scanned(shown: pa.NativeFile, names: list[str], most: int) -> Iterator[pa.RecordBatch]:
    """All stripes in small batches: Arrow decodes many ahead, which together should be as one of those asked for."""
    rows = max(_LEAST_PIECE_ROWS, most // _READ_AHEAD)
    fragment = ds.OrcFileFormat().make_fragment(shown)
    scanner = fragment.scanner(
        columns=names, batch_size=rows, use_threads=False, batch_readahead=0, fragment_readahead=0
    )
    yield from scanner.to_batches()


def _regrouped(batches: Iterator[pa.RecordBatch], tail: OrcTail, most: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Batches put together, none beyond its stripe."""
    for stripe in tail.stripes:
        left = stripe.rows
        while left:
            held: list[pa.RecordBatch] = []
            rows = 0
            while rows < min(most, left):
                batch = next(batches, None)
                if batch is None:
                    raise ValueError(f"a stripe ends {left - rows} rows early")
                held.append(batch)
                rows += held[-1].num_rows
            left -= rows
            yield rows, pa.Table.from_batches(held).combine_chunks().to_batches()[0]
