"""Interface of file formats: read columns as Arrow batches, and write batches with a table's settings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeVar

import pyarrow as pa

from paimon_sql.errors import (
    ConstraintViolationError,
    CorruptFileError,
    InvalidOptionError,
    PaimonError,
    UnsupportedError,
)
from paimon_sql.format.options.table.data_file import FILE_BLOCK_SIZE, FILE_COMPRESSION, FILE_COMPRESSION_ZSTD_LEVEL
from paimon_sql.format.options.values import Kind, Option, TableOptions, option
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_field, arrow_schema
from paimon_sql.format.variant.shredding.infer import ShapeHistory
from paimon_sql.storage.expressions.kernels.conform import Leaf, conform
from paimon_sql.storage.file_io.base import FileIO, translate_errors

BATCH_ROWS = 65_536
_BATCH_BYTES = 4 * 1024 * 1024
"""Approximate maximum size of a batch of wide rows."""
_DECODING_ERRORS = (
    *(pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowSerializationError, pa.ArrowCapacityError),
    *(pa.ArrowMemoryError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError),
)
"""Errors of decoders on corrupt data; Arrow runs out of memory before it allocates what corrupt sizes claim."""


@contextmanager
def decoding_file(complaint: str, path: str) -> Iterator[None]:
    """Translate errors of a decoder of data files to CorruptFileError.

    Args:
        complaint: beginning of the message, such as "cannot be read as ORC".
        path: the file.
    """
    try:
        yield
    except PaimonError:
        raise
    except _DECODING_ERRORS as error:
        raise CorruptFileError(f"{complaint}: {error or type(error).__name__}", path=path) from error


@dataclass(frozen=True, slots=True)
class ColumnRange:
    """A file's own statistics of a column in a row group; None is unknown.

    ``low`` and ``high`` are bounds as Python values, not necessarily existing values.
    """

    low: object
    high: object
    null_count: int | None


class RowGroupFilter(Protocol):
    """Decides by statistics which row groups of a file may contain matching rows."""

    @property
    def columns(self) -> Collection[str]:
        """The names of the file's columns whose statistics it needs."""

    def may_match(self, row_count: int, columns: Mapping[str, ColumnRange]) -> bool:
        """Return False only if no row of the group matches; columns without statistics are absent."""


@dataclass(frozen=True, slots=True)
class FileRead:
    """The parameters for reading a data file.

    Attributes:
        path: the file.
        size: its size in bytes, None if unknown.
        fields: the file's columns, in its order, including system columns.
        columns: the names of the requested columns, in the requested order.
        predicate: a hint for skipping row groups; rows are not filtered.
        batch_rows: maximum rows per batch.
        row_ranges: the requested positions, as sorted ``(first, last + 1)``; None for all rows.
        options: the table's options, for formats that depend on them.
        is_lookup: whether the rows of few keys are read, so that the same file is probably read again soon.
    """

    path: str
    fields: Sequence[t.DataField]
    columns: Sequence[str]
    size: int | None = None
    predicate: RowGroupFilter | None = None
    batch_rows: int = BATCH_ROWS
    row_ranges: Sequence[tuple[int, int]] | None = None
    options: Mapping[str, str] | None = None
    is_lookup: bool = False

    @property
    def wanted(self) -> list[t.DataField]:
        """The fields of the requested columns."""
        by_name = {f.name: f for f in self.fields}
        return [by_name[name] for name in self.columns]

    @property
    def schema(self) -> pa.Schema:
        """The schema of the batches."""
        return arrow_schema(self.wanted)

    def touches(self, first: int, count: int) -> bool:
        """Whether any of ``count`` rows from ``first`` is requested."""
        if self.row_ranges is None:
            return count > 0
        return any(low < first + count and first < high for low, high in self.row_ranges)

    def rows_at_once(self, rows: int, size: int) -> int:
        """Return how many rows to decode at a time, given the bytes that some rows take."""
        return max(1, min(self.batch_rows, rows * _BATCH_BYTES // max(1, size)))

    def cut(self, first: int, batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield the requested slices of a batch whose first row has position ``first``, each within ``batch_rows``."""
        end = first + batch.num_rows
        for low, high in [(first, end)] if self.row_ranges is None else self.row_ranges:
            start, stop = max(low, first), min(high, end)
            for at in range(start, stop, self.batch_rows):
                yield at, batch.slice(at - first, min(self.batch_rows, stop - at))


class DataFileWriter(ABC):
    """Writes one data file; it exists completely after `close`, and not at all after `abort`."""

    path: str

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows; the batch has the file's columns, in its order, of the canonical Arrow types."""

    @property
    @abstractmethod
    def bytes_written(self) -> int:
        """The approximate size of the file if it were closed now."""

    @abstractmethod
    def close(self) -> int:
        """Finish the file; return its size in bytes."""

    @abstractmethod
    def abort(self) -> None:
        """Delete the file."""


class StreamWriter(DataFileWriter):
    """A writer of one file through one output stream, which its constructor opens."""

    def __init__(self, file_io: FileIO, path: str) -> None:
        self.path = path
        self._file_io = file_io
        self._stream = file_io.open_output(path)

    @property
    def bytes_written(self) -> int:
        return int(self._stream.tell())

    def close(self) -> int:
        with translate_errors("write", self.path):
            self._end()
            size = int(self._stream.tell())
            self._stream.close()
        return size

    def _end(self) -> None:
        """Write what follows the last rows; nothing by default."""

    def abort(self) -> None:
        if not self._stream.closed:
            self._stream.close()
        self._file_io.delete(self.path)


def refuse_nulls(path: str, columns: Iterable[pa.Array], fields: Sequence[t.DataField]) -> None:
    """Raise `ConstraintViolationError` if a column of a file that is NOT NULL has a null."""
    for column, field in zip(columns, fields, strict=True):
        if column.null_count and not field.type.nullable:
            raise ConstraintViolationError(f"{path}: column '{field.name}' is NOT NULL and got a null.")


class FileFormat(ABC):
    """Data files of one format.

    Class attributes:
        name: value of the option ``file.format``, and suffix of the files.
        is_general: whether its files support any columns, so that it can be a table's format.
        is_columnar: whether some columns are read without decoding the others.
        shreds_maps: whether its files can store frequent keys of maps as columns (shared shredding).
    """

    name: ClassVar[str]
    is_general: ClassVar[bool] = True
    is_columnar: ClassVar[bool] = True
    shreds_maps: ClassVar[bool] = False

    @abstractmethod
    def batches(self, file_io: FileIO, wanted: FileRead) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield a file's rows in order, as batches of the canonical Arrow types.

        Each comes with the 0-based position of its first row in the file. A column that the file lacks is null.

        Raises:
            MissingFileError: the file is missing.
            CorruptFileError: it is not of this format, is corrupt, or a column has an incompatible type.
        """

    def open_writer(
        self,
        file_io: FileIO,
        path: str,
        fields: Sequence[t.DataField],
        options: Mapping[str, str] | None = None,
        *,
        compression: str | None = None,
        history: ShapeHistory | None = None,
    ) -> DataFileWriter:
        """Open a new file.

        Args:
            file_io: the file system.
            path: the file's final path; its name must be new.
            fields: the file's columns, including system columns, with their ids.
            options: the table's options.
            compression: overrides ``file.compression``, such as by ``file.compression.per.level``.
            history: variant statistics of earlier files of the same writer.

        Raises:
            InvalidOptionError: the format does not support a compression or setting.
            UnsupportedError: the format does not support a column's type.
        """
        return self.writer(file_io, path, fields, WriteSettings.of(self.name, options, compression, history))

    @abstractmethod
    def writer(
        self, file_io: FileIO, path: str, fields: Sequence[t.DataField], settings: WriteSettings
    ) -> DataFileWriter:
        """Implement `open_writer`, with the settings of the options."""

    def column_names(self, file_io: FileIO, path: str) -> list[str]:
        """Return the top-level columns of a file of any origin, in its order.

        Raises:
            CorruptFileError: the file is not of this format.
        """
        with translate_errors("read", path), file_io.open_input(path) as source:
            try:
                return self.names_in(source, path)
            except (pa.ArrowInvalid, KeyError, TypeError, ValueError) as error:
                raise CorruptFileError(f"it is not a valid {self.name} file: {error}", path=path) from error

    def names_in(self, source: pa.NativeFile, path: str) -> list[str]:
        """Implement `column_names` for an open file; optional for formats that are not general."""
        raise UnsupportedError(f"Files of the format {self.name} have no columns of their own.")

    def distinct_values(self, file_io: FileIO, path: str) -> Mapping[str, int]:
        """About how many values columns have in a row group of a file, by name, as its metadata tell; by default none.

        Raises:
            MissingFileError: the file is missing.
            CorruptFileError: it is not of this format.
        """
        return {}

    def check_fields(self, fields: Sequence[t.DataField]) -> None:  # noqa: B027
        """Raise `UnsupportedError` with the column's name if the format does not support a column; by default none."""


def canonical(array: pa.Array, field: t.DataField, path: str, leaf: Leaf | None = None) -> pa.Array:
    """Convert a column as read to the canonical Arrow type of its field.

    Raises:
        CorruptFileError: the file's column has an incompatible type.
    """
    target = arrow_field(field).type
    try:
        return conform(array, target, leaf)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise CorruptFileError(
            f"column '{field.name}' holds {array.type} and cannot be read as {field.type.sql()}: {error}", path=path
        ) from error


def batch_of(columns: Sequence[pa.Array], schema: pa.Schema, rows: int) -> pa.RecordBatch:
    """Return a batch of ``rows`` rows, possibly without columns."""
    if not columns:
        return pa.RecordBatch.from_struct_array(pa.Array.from_buffers(pa.struct([]), rows, [None]))
    return pa.RecordBatch.from_arrays(list(columns), schema=schema)


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WriteSettings:
    """The settings of one file.

    Attributes:
        format: the format's name, the prefix of its own options.
        compression: the codec's name in lower case, as set by the option.
        zstd_level: the level for zstd.
        block_size: ``file.block-size`` in bytes, None if not set.
        options: the table's options.
        history: variant statistics of earlier files of the same writer, if used.
    """

    format: str
    compression: str
    zstd_level: int
    block_size: int | None
    options: Mapping[str, str]
    history: ShapeHistory | None = None

    @classmethod
    def of(
        cls, name: str, options: Mapping[str, str] | None, compression: str | None, history: ShapeHistory | None = None
    ) -> WriteSettings:
        """Create the settings from a table's options."""
        given = options or {}
        read = TableOptions(given)
        chosen = given.get(f"{name}.compression") or given.get(f"{name}.compress")
        return cls(
            name,
            (chosen or compression or read.get(FILE_COMPRESSION)).strip().lower(),
            read.get(FILE_COMPRESSION_ZSTD_LEVEL),
            read.get(FILE_BLOCK_SIZE),
            given,
            history,
        )

    def read(self, kind: Kind[T], key: str, default: T) -> T:
        """Return the value of a setting of the format, which is of a kind of options."""
        if key not in self.options:
            return default
        return Option(key, kind.name, kind.parse, None, "A setting of the format.").read(self.options[key])

    def size(self, key: str, default: int) -> int:
        """Return a size in bytes."""
        return self.read(option.memory_size, key, default)

    def flags_by_column(self, key: str) -> dict[str, bool]:
        """Return the booleans of ``<key>#<column>``, by column."""
        return {column: self.read(option.boolean, f"{key}#{column}", False) for column in self.texts_by_column(key)}

    def texts_by_column(self, key: str) -> dict[str, str]:
        """Return the values of ``<key>#<column>``, by column."""
        prefix = f"{key}#"
        return {k.removeprefix(prefix): v for k, v in self.options.items() if k.startswith(prefix)}

    def codec(self, codecs: Mapping[str, str]) -> str:
        """Return the writer's name of the compression.

        Raises:
            InvalidOptionError: the format does not support it.
        """
        if self.compression not in codecs:
            raise unknown_compression(self.format, self.compression, codecs)
        return codecs[self.compression]


def unknown_compression(format_name: str, compression: str, known: Iterable[str]) -> InvalidOptionError:
    """Return the error for an unsupported compression."""
    return InvalidOptionError(
        f"Unsupported compression '{compression}' of {format_name} files.",
        key="file.compression",
        remedy=f"Choose one of {', '.join(sorted(known))}.",
    )
