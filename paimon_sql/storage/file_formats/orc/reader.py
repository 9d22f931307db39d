"""ORC reader: stripe by stripe, in batches within a stripe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.orc as orc

from paimon_sql.format.bytes.bounded import check_count
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.data_file import ORC_TIMESTAMP_LTZ_LEGACY_TYPE
from paimon_sql.format.schema import types as t
from paimon_sql.storage.file_formats.base import FileRead, batch_of, canonical, decoding_file
from paimon_sql.storage.file_formats.orc.tail import TIMESTAMPS, Kind, OrcTail, read_tail
from paimon_sql.storage.file_formats.orc.timestamps import StripeTimestamps, WithTail, plain_tail
from paimon_sql.storage.file_io.base import FileIO, translate_errors

_MAX_BATCH_ROWS, _MIN_BATCH_ROWS = 16_384, 128
_READ_AHEAD = 32


def read_orc(file_io: FileIO, wanted: FileRead) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the requested columns of an ORC file as canonical batches, each with its first row's position."""
    with translate_errors("read", wanted.path), file_io.open_input(wanted.path) as source:
        with decoding_file("not an ORC file", wanted.path):
            tail = read_tail(source)
            arrow_source = _for_arrow(source, tail)
        with decoding_file("cannot be read as ORC", wanted.path):
            yield from _stripes(source, tail, arrow_source, wanted)


def _for_arrow(source: pa.NativeFile, tail: OrcTail) -> pa.NativeFile:
    """Return the file as Arrow's reader must see it."""
    if any(tail.kind(column) in TIMESTAMPS for column in range(len(tail.types))):
        return pa.PythonFile(WithTail(source, plain_tail(tail)), mode="r")
    return source


def _stripes(
    source: pa.NativeFile, tail: OrcTail, arrow_source: pa.NativeFile, wanted: FileRead
) -> Iterator[tuple[int, pa.RecordBatch]]:
    stored_columns = tail.fields_of(0)
    columns = {name: stored_columns[name] for name in wanted.columns if name in stored_columns}
    check_count(sum(stripe.rows for stripe in tail.stripes), 1 << 62, "rows")
    legacy = TableOptions(wanted.options or {}).get(ORC_TIMESTAMP_LTZ_LEGACY_TYPE)
    pieces = _pieces(arrow_source, tail, columns, wanted)
    first = 0
    for stripe in tail.stripes:
        end = first + stripe.rows
        if not wanted.touches(first, stripe.rows):
            first = end
            continue
        times = StripeTimestamps(source, tail, tail.stripe_footer(source, stripe), legacy)
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
    arrow_source: pa.NativeFile, tail: OrcTail, columns: Mapping[str, int], wanted: FileRead
) -> Iterator[tuple[int, pa.RecordBatch | None]]:
    """Yield the stored batches of the stripes that are read: number of rows, and the batch if it has columns.

    No batch crosses a stripe. If only some rows are requested, stripes without any are skipped and the others are read
    completely, as are columns of which only small parts are requested; otherwise nothing is skipped, and at most a
    requested batch is decoded at a time.
    """
    names = list(columns)
    types = {f.name: f.type for f in wanted.wanted}
    parts = [_Part.of(tail, column, types[name], name) for name, column in columns.items()]
    is_small_part = 2 * sum(part.leaves for part in parts) <= sum(_leaves(tail, column) for column in columns.values())
    if not names:
        for stripe in tail.stripes:
            yield from (
                (min(wanted.batch_rows, stripe.rows - at), None) for at in range(0, stripe.rows, wanted.batch_rows)
            )
    elif wanted.row_ranges is not None or is_small_part:
        first = 0
        reader = orc.ORCFile(arrow_source)
        # Arrow interprets a dot as a step into a struct.
        chosen = None if any("." in name for name in names) else [path for part in parts for path in part.paths]
        for number, stripe in enumerate(tail.stripes):
            if wanted.touches(first, stripe.rows):
                yield stripe.rows, reader.read_stripe(number, chosen)
            first += stripe.rows
    else:
        stored = sum(stripe.data_length for stripe in tail.stripes)
        max_rows = min(_MAX_BATCH_ROWS, wanted.rows_at_once(sum(stripe.rows for stripe in tail.stripes), stored))
        yield from _combined(_scanned(arrow_source, names, max_rows), tail, max_rows)


@dataclass(frozen=True)
class _Part:
    """The requested part of a column: its paths for Arrow's reader, and its number of leaves."""

    paths: list[str]
    leaves: int

    @classmethod
    def of(cls, tail: OrcTail, column: int, wanted: t.DataType, path: str) -> _Part:
        """Return the part of a column that a type requests; a struct without a requested field is read completely.

        Maps are read completely: a part of one has no path that does not match its key, too, and without the key Arrow
        crashes.
        """
        kind, inside, full = tail.kind(column), tail.children(column), cls([path], _leaves(tail, column))
        if kind == Kind.LIST and isinstance(wanted, t.ArrayType):
            return cls.of(tail, inside[0], wanted.element, path)
        if kind == Kind.STRUCT and isinstance(wanted, t.RowType):
            types = {f.name: f.type for f in wanted.fields}
            fields = tail.fields_of(column)
            chosen = {name: child for name, child in fields.items() if name in types}
            if chosen and len(fields) == len(inside) and not any("." in name for name in fields):
                parts = [cls.of(tail, child, types[name], f"{path}.{name}") for name, child in chosen.items()]
                leaves = sum(part.leaves for part in parts)
                return full if leaves == full.leaves else cls([p for part in parts for p in part.paths], leaves)
        return full


def _leaves(tail: OrcTail, column: int) -> int:
    """Return the number of leaves of a column."""
    return sum(_leaves(tail, child) for child in tail.children(column)) or 1


def _scanned(arrow_source: pa.NativeFile, names: list[str], max_rows: int) -> Iterator[pa.RecordBatch]:
    """Yield all stripes in small batches: Arrow reads many ahead, together about as large as one requested batch."""
    rows = max(_MIN_BATCH_ROWS, max_rows // _READ_AHEAD)
    fragment = ds.OrcFileFormat().make_fragment(arrow_source)
    scanner = fragment.scanner(
        columns=names, batch_size=rows, use_threads=False, batch_readahead=0, fragment_readahead=0
    )
    yield from scanner.to_batches()


def _combined(batches: Iterator[pa.RecordBatch], tail: OrcTail, max_rows: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Combine batches within a stripe."""
    for stripe in tail.stripes:
        remaining = stripe.rows
        while remaining:
            collected: list[pa.RecordBatch] = []
            rows = 0
            while rows < min(max_rows, remaining):
                batch = next(batches, None)
                if batch is None:
                    raise ValueError(f"a stripe ends {remaining - rows} rows early")
                collected.append(batch)
                rows += collected[-1].num_rows
            remaining -= rows
            yield rows, pa.Table.from_batches(collected).combine_chunks().to_batches()[0]
