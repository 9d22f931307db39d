"""Formatting of the values of system tables, by Arrow column: strings, and timestamps in local time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import PaimonError
from paimon_sql.format.layout.partitions import PartitionPaths
from paimon_sql.format.rows.decode import decode_columns
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.columns.schema_evolution import evolve
from paimon_sql.storage.expressions.casts import cast

_STRING = t.string_type()
_NULL = "null"
_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_TIMESTAMPS = t.TimestampType | t.LocalZonedTimestampType
_BYTES = t.BinaryType | t.VarBinaryType | t.BlobType


def java_strings(array: pa.Array, data_type: t.DataType) -> pa.Array:
    """Format values as Java's ``toString``: a date is its day number, a timestamp has a ``T``; nulls stay null.

    Java prints the address of a byte array; here it is hexadecimal digits (see ``format.text.values.java_text``).
    """
    if array.null_count == len(array):
        return pa.nulls(len(array), pa.string())
    if isinstance(data_type, t.DateType | t.TimeType):
        return array.cast(pa.int32()).cast(pa.string())
    if isinstance(data_type, _TIMESTAMPS):
        return _printed_timestamps(array)
    if isinstance(data_type, _BYTES):
        encoded = array.dictionary_encode()
        digits = pa.array(["0x" + value.hex() for value in encoded.dictionary.to_pylist()], pa.string())
        return digits.take(encoded.indices)
    if isinstance(data_type, t.CharType | t.VarCharType):
        return array
    return cast(array, data_type, _STRING)


def _printed_timestamps(array: pa.Array) -> pa.Array:
    """Format without zone, with 0, 3, 6 or 9 decimals, and without seconds if these are 0 (Java: ``LocalDateTime``)."""
    text = array.cast(pa.timestamp(array.type.unit)).cast(pa.string())
    text = pc.replace_substring(text, " ", "T", max_replacements=1)
    text = pc.replace_substring_regex(text, r"\.0+$", "")
    text = pc.replace_substring_regex(text, r"^(.*\.\d{3}(?:\d{3})*?)(?:000)+$", r"\1")
    return pc.replace_substring_regex(text, r"^(.*T\d\d:\d\d):00$", r"\1")


def evolved(array: pa.Array, written: t.DataType, shown: t.DataType) -> pa.Array:
    """Cast bounds of a column to its current type; null if they cannot be cast."""
    try:
        return evolve(array, written, shown)
    except (PaimonError, pa.ArrowException):
        return pa.nulls(len(array), pa.string())


def partition_labels(schema: TableSchema, partitions: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Format serialized partitions as ``{a, 1}``."""
    return _by_partition(PartitionPaths.of(schema).label, partitions)


def partition_names(schema: TableSchema, partitions: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Format serialized partitions as ``dt=a/h=1``."""
    return _by_partition(PartitionPaths.of(schema).name, partitions)


def _by_partition(text: Callable[[bytes], str], partitions: pa.ChunkedArray | pa.Array) -> pa.Array:
    encoded = one_chunk(partitions).dictionary_encode()
    return pa.array([text(p) for p in encoded.dictionary.to_pylist()], pa.string()).take(encoded.indices)


def key_strings(fields: Sequence[t.DataField], rows: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Format serialized keys as ``[a, 1]``."""
    columns = decode_columns([f.type for f in fields], rows, overflow_to_null=True)
    strings = [pc.fill_null(java_strings(c, f.type), _NULL) for c, f in zip(columns, fields, strict=True)]
    return pc.binary_join_element_wise("[", pc.binary_join_element_wise(*strings, ", "), "]", "")


def pair_strings(names: Sequence[str], columns: Sequence[pa.Array], rows: int) -> pa.Array:
    """Format rows as ``{a=1, b=null}``, in the order of the names.

    Args:
        names: the names of the columns.
        columns: their values as strings.
        rows: the number of rows.
    """
    if not names:
        return pa.array(["{}"] * rows, pa.string())
    # Java sorts by UTF-16 units.
    order = sorted(range(len(names)), key=lambda i: names[i].encode("utf-16-be"))
    parts = [part for i in order for part in (f", {names[i]}=", columns[i])]
    parts[0] = "{" + parts[0][2:]
    return pc.binary_join_element_wise(*parts, "}", "", null_handling="replace", null_replacement=_NULL)


def counted(number: int, one: str, more: str) -> str:
    """Format a number with what it counts: ``1 file``, ``1,200 files``."""
    return f"{number:,} {one if number == 1 else more}"


def size_text(size: float) -> str:
    """Format a size in bytes: ``12 B``, ``1.5 KiB``, ``220.0 MiB``."""
    if size < 1024:
        return f"{size:.0f} B"
    power = min(int(math.log(size, 1024)), len(_UNITS))
    return f"{size / 1024**power:,.1f} {_UNITS[power - 1]}"


def one_chunk(array: pa.ChunkedArray | pa.Array) -> pa.Array:
    """The array in one chunk."""
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def wall_clock(epoch_millis: int) -> datetime:
    """Convert milliseconds since the epoch, as of commits, to local time."""
    seconds, millis = divmod(epoch_millis, 1000)
    try:
        return datetime.fromtimestamp(seconds) + timedelta(milliseconds=millis)
    except (ValueError, OverflowError, OSError):
        return datetime(1970, 1, 1) + timedelta(milliseconds=epoch_millis)


def wall_clocks(wall_millis: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """Convert local times in milliseconds, as of file creations (Paimon: `DataFileMeta`), to timestamps."""
    return wall_millis.cast(pa.timestamp("ms")).cast(pa.timestamp("us"))


def epoch_millis(wall: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Convert times of `wall_clocks` to milliseconds since the epoch."""
    return pa.array([None if w is None else round(w.timestamp() * 1000) for w in wall.to_pylist()], pa.int64())
