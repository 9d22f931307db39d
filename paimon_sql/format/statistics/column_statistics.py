"""Column statistics: collected by mode, stored as rows of bounds (spec: Manifest, _VALUE_STATS).

Bounds follow Java's order of values: -0.0 is below 0.0, and NaN above all others. As in Java, the file format
determines which columns have bounds and null counts: nested columns never have bounds (in Parquet not even counts), nor
have TIMESTAMPs above precision 6 in Parquet and binary columns in ORC.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.options.operations.changelog import CHANGELOG_FILE_STATS_MODE
from paimon_sql.format.options.table import data_file
from paimon_sql.format.options.table.data_file import StatsMode, StoredStats
from paimon_sql.format.options.values import TableOptions
from paimon_sql.format.rows.binary_row import RowCodec
from paimon_sql.format.rows.decode import decode_columns
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.system_fields import KEY_PREFIX, RESERVED_NAMES

_NESTED = t.ArrayType | t.MapType | t.MultisetType | t.RowType | t.VectorType | t.VariantType
_TEMPORAL = t.DateType | t.TimeType | t.TimestampType | t.LocalZonedTimestampType
_SURROGATES = range(0xD800, 0xE000)
_LAST_CODE_POINT = 0x10FFFF


def has_bounds(data_type: t.DataType, file_format: str) -> bool:
    """Whether statistics of files of a format have a min and a max value of columns of a type."""
    if isinstance(data_type, _NESTED | t.BlobType):
        return False
    if file_format == "parquet" and isinstance(data_type, t.TimestampType | t.LocalZonedTimestampType):
        return data_type.precision <= 6
    return not (file_format == "orc" and isinstance(data_type, t.BinaryType | t.VarBinaryType))


def has_counts(data_type: t.DataType, file_format: str) -> bool:
    """Whether statistics of files of a format have the null count of columns of a type."""
    return not (file_format == "parquet" and isinstance(data_type, _NESTED))


class StatsCollector:
    """Collects the statistics of columns over record batches.

    Args:
        fields: the columns, matched by name in each batch.
        modes: the statistics mode of each column.
        file_format: the format of the data file, which determines the columns with statistics; for partitions it is
            "avro", which has statistics of the most columns.
        dense: whether stored rows omit columns without statistics (``metadata.stats-dense-store``); those of keys
            and partitions never do.
    """

    def __init__(
        self,
        fields: Sequence[t.DataField],
        modes: Sequence[StatsMode],
        *,
        file_format: str = "parquet",
        dense: bool = True,
    ) -> None:
        self._columns = [_Column(f, mode, file_format) for f, mode in zip(fields, modes, strict=True)]
        self._dense = dense

    def update(self, batch: pa.RecordBatch | pa.Table) -> None:
        """Add the rows of a batch.

        Raises:
            InvalidInputError: the batch lacks a column, or has it twice.
        """
        for column in self._columns:
            if not column.counted:
                continue
            at = batch.schema.get_field_index(column.field.name)
            if at < 0:
                raise InvalidInputError(f"A batch lacks the column '{column.field.name}' or has it twice.")
            column.update(batch.column(at))

    def finish(self) -> tuple[SimpleStats, tuple[str, ...] | None]:
        """The statistics of all rows, and the names of their columns; None for all columns."""
        stored = [c for c in self._columns if c.counted] if self._dense else self._columns
        codec = RowCodec([c.field.type for c in stored])
        bounds = [c.bounds() for c in stored]
        stats = SimpleStats(
            codec.encode([low for low, _ in bounds]),
            codec.encode([high for _, high in bounds]),
            tuple(c.null_count if c.counted else None for c in stored),
        )
        return stats, None if len(stored) == len(self._columns) else tuple(c.field.name for c in stored)


class _Column:
    """Accumulated statistics of one column; bounds are values of ``RowCodec``, temporal ones as numbers."""

    def __init__(self, field: t.DataField, mode: StatsMode, file_format: str) -> None:
        self.field = field
        self.counted = mode.kept is not StoredStats.NOTHING and has_counts(field.type, file_format)
        self.null_count = 0
        self._bounded = mode.kept is StoredStats.BOUNDS and has_bounds(field.type, file_format)
        self._length = mode.length
        self._low: Any = None
        self._high: Any = None

    def update(self, array: pa.Array | pa.ChunkedArray) -> None:
        self.null_count += array.null_count
        if not self._bounded or array.null_count == len(array):
            return
        if array.type != (target := arrow_type(self.field.type)):
            array = array.cast(target)
        rank = None
        if t.is_floating(self.field.type):
            low, high = _float_bounds(array)
            rank = _float_rank
        else:
            found = pc.min_max(array)
            as_count = isinstance(self.field.type, _TEMPORAL)
            low, high = (found[end].value if as_count else found[end].as_py() for end in ("min", "max"))
        self._low = low if self._low is None else min(self._low, low, key=rank)
        self._high = high if self._high is None else max(self._high, high, key=rank)

    def bounds(self) -> tuple[object, object]:
        """The min and max value, truncated by the mode; both None if there are none or the max has no upper bound."""
        if self._length is None or not isinstance(self._high, str | bytes):
            return self._low, self._high
        high = truncate_high(self._high, self._length)
        return (None, None) if high is None else (self._low[: self._length], high)


def _float_bounds(array: pa.Array | pa.ChunkedArray) -> tuple[float, float]:
    values = array.drop_null().to_numpy()
    numbers = values[~np.isnan(values)]
    if not len(numbers):
        return float("nan"), float("nan")
    low, high = numbers.min(), numbers.max()
    # The kernels treat both zeros as equal and may return either.
    if low == 0:
        low = -0.0 if np.signbit(numbers[numbers == 0]).any() else 0.0
    if high == 0:
        high = -0.0 if np.signbit(numbers[numbers == 0]).all() else 0.0
    return float(low), float("nan") if len(numbers) < len(values) else float(high)


def _float_rank(value: float) -> tuple[bool, float, float]:
    """Sort key for the order of Java's floats: -0.0 below 0.0, NaN last."""
    return (True, 0.0, 0.0) if value != value else (False, value, float(np.copysign(1, value)))


def truncate_high(value: str | bytes, length: int) -> str | bytes | None:
    """An upper bound of a value, of at most ``length`` characters or bytes; None if there is none.

    A longer value is truncated, and its last character that has a successor is incremented. (Java can reach a surrogate
    here, which has no UTF-8 encoding; the next valid character is used instead.)
    """
    if len(value) <= length:
        return value
    for end in range(length, 0, -1):
        if isinstance(value, str):
            successor = ord(value[end - 1]) + 1
            if successor in _SURROGATES:
                successor = _SURROGATES.stop
            if successor <= _LAST_CODE_POINT:
                return value[: end - 1] + chr(successor)
        elif value[end - 1] < 0xFF:
            return value[: end - 1] + bytes([value[end - 1] + 1])
    return None


@dataclass(frozen=True, slots=True)
class ColumnStats:
    """Statistics of one column over many files, one value per file, null if unknown.

    ``low`` and ``high`` have the column's Arrow type; NaN is replaced by null, because no kernel orders it.
    ``null_count`` is an int64 array.
    """

    low: pa.Array
    high: pa.Array
    null_count: pa.Array


def decode_stats_columns(
    min_rows: Sequence[bytes] | pa.Array | pa.ChunkedArray,
    max_rows: Sequence[bytes] | pa.Array | pa.ChunkedArray,
    null_counts: Sequence[Sequence[int | None] | None] | pa.Array | pa.ChunkedArray,
    types: Sequence[t.DataType],
) -> list[ColumnStats]:
    """Decode statistics of many files over columns of the same types.

    All columns of a file without statistics (rows without fields) are unknown.

    Args:
        min_rows: the serialized rows of min values.
        max_rows: the serialized rows of max values.
        null_counts: the null counts, one list per file.
        types: the types of the columns of the statistics, in the order of the dense columns if there are such.
    """
    lows = decode_columns(types, min_rows, overflow_to_null=True)
    highs = decode_columns(types, max_rows, overflow_to_null=True)
    counts = _null_count_columns(null_counts, len(types))
    return [
        ColumnStats(_without_nan(low), _without_nan(high), count)
        for low, high, count in zip(lows, highs, counts, strict=True)
    ]


def stats_fields(fields: Sequence[t.DataField], stats_cols: Sequence[str] | None) -> list[t.DataField]:
    """The columns of a file's statistics, from the columns of its schema and its ``_VALUE_STATS_COLS``.

    Raises:
        InvalidInputError: the schema lacks a column.
    """
    if stats_cols is None:
        return list(fields)
    by_name = {f.name: f for f in fields}
    try:
        return [by_name[name] for name in stats_cols]
    except KeyError as missing:
        raise InvalidInputError(
            f"Statistics refer to the column {missing}, which is not in the file's schema."
        ) from None


def _without_nan(array: pa.Array) -> pa.Array:
    if not pa.types.is_floating(array.type):
        return array
    return pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)


def _null_count_columns(null_counts: Sequence[Sequence[int | None] | None] | pa.Array, width: int) -> list[pa.Array]:
    lists = pa.array(null_counts, pa.list_(pa.int64())) if isinstance(null_counts, Sequence) else null_counts
    if isinstance(lists, pa.ChunkedArray):
        lists = lists.combine_chunks()
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    known = lengths == width
    if (~known & (lengths > 0)).any():
        raise InvalidInputError(f"Null counts of {lengths[~known].max()} columns were read as of {width} columns.")
    offsets = lists.offsets.to_numpy()[:-1]
    return [lists.values.take(pa.array(np.where(known, offsets + i, 0), mask=~known)) for i in range(width)]


FULL = StatsMode(StoredStats.BOUNDS)
"""Null counts and complete bounds, as for partitions in manifests."""
KEY_MODE = StatsMode(StoredStats.BOUNDS, 128)
"""The mode of key and system columns."""


def column_modes(
    options: Mapping[str, str],
    names: Sequence[str],
    *,
    level: int | None = None,
    changelog: bool = False,
    key_names: Collection[str] = (),
) -> list[StatsMode]:
    """The statistics mode of each column of a file.

    The option ``fields.<name>.stats-mode`` takes precedence. Of the other columns, system and key columns have
    truncated bounds; ``metadata.stats-keep-first-n-columns`` turns statistics off for all but the first n of the
    remaining columns; the others have the file's mode.

    Args:
        options: the table's options.
        names: the columns of the file, including system columns (``_KEY_id``).
        level: the LSM level of the file, for ``metadata.stats-mode.per.level``; None for a table without primary key.
        changelog: whether the file is a changelog file, for ``changelog-file.stats-mode``.
        key_names: the key columns if the file stores them only as value columns (``data-file.thin-mode``).
    """
    read = TableOptions(options)
    default, keep_first = _file_mode(read, level, changelog), read.get(data_file.METADATA_STATS_KEEP_FIRST_N_COLUMNS)
    modes = []
    seen = 0
    for name in names:
        if (own := read.get(data_file.FIELD_STATS_MODE, name)) is not None:
            modes.append(own)
        elif name.startswith(KEY_PREFIX) or name in RESERVED_NAMES or name in key_names:
            modes.append(KEY_MODE)
            continue
        else:
            modes.append(default if keep_first < 0 or seen < keep_first else StatsMode(StoredStats.NOTHING))
        seen += 1
    return modes


def _file_mode(options: TableOptions, level: int | None, changelog: bool) -> StatsMode:
    if changelog and (mode := options.get(CHANGELOG_FILE_STATS_MODE)) is not None:
        return mode
    by_level = {} if level is None else options.get(data_file.METADATA_STATS_MODE_PER_LEVEL)
    return by_level[level] if level in by_level else options.get(data_file.METADATA_STATS_MODE)


EMPTY_ROW = bytes(12)
"""The serialized row without fields: the partition of an unpartitioned table, the key of a table without one."""


class SimpleStats(NamedTuple):
    """Statistics of some columns: a row of minima, a row of maxima and the null count of each column.

    The rows are serialized (see `RowCodec`), one field per column; decoding them needs the columns' types.
    A null in a row means that the bound is unknown or that the column has only nulls; ``null_counts``, or an item of
    it, is None if nulls were not counted.
    """

    min_values: bytes
    max_values: bytes
    null_counts: tuple[int | None, ...] | None


EMPTY_STATS = SimpleStats(EMPTY_ROW, EMPTY_ROW, ())
"""The statistics of no columns."""
