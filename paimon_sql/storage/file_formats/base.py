"""What a file format must do: read a data file's columns as Arrow batches, and write batches into a new file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import pyarrow as pa

from paimon_sql.errors import CorruptFileError, PaimonError, UnsupportedError
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_field, arrow_schema
from paimon_sql.format.variant.shredding.adaptive import ShapeHistory
from paimon_sql.storage.expressions.kernels.conform import Leaf, conform
from paimon_sql.storage.file_formats.settings import WriteSettings
from paimon_sql.storage.file_io.base import FileIO
from paimon_sql.storage.file_io.errors import refusals

BATCH_ROWS = 65_536
_BATCH_BYTES = 4 * 1024 * 1024
"""About how big wide rows make a batch at most."""
_BROKEN = (
    *(pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowSerializationError, pa.ArrowCapacityError),
    *(pa.ArrowMemoryError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError),
)
"""What decoders fail with that are given garbage; Arrow's runs out of memory before it takes what garbage claims."""


@contextmanager
def decoding_file(complaint: str, path: str) -> Iterator[None]:
    """Turn what a decoder of data files raises inside into a CorruptFileError.

    Args:
        complaint: what the message begins with, such as "cannot be read as ORC".
        path: the file.
    """
    try:
        yield
    except PaimonError:
        raise
    except _BROKEN as error:
        raise CorruptFileError(f"{complaint}: {error or type(error).__name__}", path=path) from error


@dataclass(frozen=True, slots=True)
class ColumnRange:
    """What a file's own statistics say of a column in a group of rows; None stands for not known.

    ``low`` and ``high`` are bounds as Python values, not necessarily values that occur.
    """

    low: Any
    high: Any
    null_count: int | None


class RowGroupFilter(Protocol):
    """Decides from statistics which groups of rows of a file can hold a row of interest."""

    def may_match(self, row_count: int, columns: Mapping[str, ColumnRange]) -> bool:
        """False only if no row of the group can be wanted; columns without statistics are absent."""


@dataclass(frozen=True, slots=True)
class FileRead:
    """One reading of a data file.

    Attributes:
        path: the file.
        size: its size in bytes, None if not known.
        fields: the columns that the file holds, in its order, system columns included.
        columns: the names of the columns wanted, in the order wanted.
        predicate: a hint for passing over row groups; rows are never filtered one by one.
        batch_rows: the most rows in one batch.
        row_ranges: the positions wanted, as sorted ``(first, last + 1)``; None for all rows.
        threads: whether columns may be decoded in parallel.
        options: the table's options, for formats whose reading depends on one.
    """

    path: str
    fields: Sequence[t.DataField]
    columns: Sequence[str]
    size: int | None = None
    predicate: RowGroupFilter | None = None
    batch_rows: int = BATCH_ROWS
    row_ranges: Sequence[tuple[int, int]] | None = None
    threads: bool = False
    options: Mapping[str, str] | None = None

    def option(self, key: str, default: str) -> str:
        """The value of a table option."""
        return (self.options or {}).get(key, default)

    @property
    def wanted(self) -> list[t.DataField]:
        """The fields of the wanted columns."""
        by_name = {f.name: f for f in self.fields}
        return [by_name[name] for name in self.columns]

    @property
    def schema(self) -> pa.Schema:
        """The schema of the batches."""
        return arrow_schema(self.wanted)

    def touches(self, first: int, count: int) -> bool:
        """Whether any of ``count`` rows from ``first`` on is wanted."""
        if self.row_ranges is None:
            return count > 0
        return any(low < first + count and first < high for low, high in self.row_ranges)

    def rows_at_once(self, rows: int, size: int) -> int:
        """How many rows are decoded at a time where some rows are known to take that many bytes."""
        return max(1, min(self.batch_rows, rows * _BATCH_BYTES // max(1, size)))

    def cut(self, first: int, batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The wanted stretches of a batch whose first row stands at ``first``, none longer than ``batch_rows``."""
        end = first + batch.num_rows
        for low, high in [(first, end)] if self.row_ranges is None else self.row_ranges:
            start, stop = max(low, first), min(high, end)
            for at in range(start, stop, self.batch_rows):
                yield at, batch.slice(at - first, min(self.batch_rows, stop - at))


class DataFileWriter(ABC):
    """Writes one data file; after `close` it stands there whole, after `abort` it is gone."""

    path: str

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows; the batch's columns are those of the file, in its order, of the canonical Arrow types."""

    @property
    @abstractmethod
    def bytes_written(self) -> int:
        """About how big the file would be if it were closed now."""

    @abstractmethod
    def close(self) -> int:
        """Finish the file; its size in bytes."""

    @abstractmethod
    def abort(self) -> None:
        """Drop the file and what was written."""


class FileFormat(ABC):
    """Data files of one format.

    Class attributes:
        name: that of the option ``file.format`` and of the files' suffix.
        is_general: whether files of it hold any columns, so that it can be a table's format.
    """

    name: ClassVar[str]
    is_general: ClassVar[bool] = True

    def read(
        self,
        file_io: FileIO,
        path: str,
        file_size: int | None,
        file_fields: Sequence[t.DataField],
        columns: Sequence[str],
        *,
        predicate: RowGroupFilter | None = None,
        batch_rows: int = BATCH_ROWS,
        row_ranges: Sequence[tuple[int, int]] | None = None,
        threads: bool = False,
        options: Mapping[str, str] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """A file's rows in its order, as batches of the canonical Arrow types; see `FileRead` for the arguments.

        A column that the file lacks comes as nulls.

        Raises:
            MissingFileError: the file is not there.
            CorruptFileError: it is no file of this format, is damaged, or a column holds something else.
        """
        for _, batch in self.read_with_positions(
            file_io,
            path,
            file_size,
            file_fields,
            columns,
            predicate=predicate,
            batch_rows=batch_rows,
            row_ranges=row_ranges,
            threads=threads,
            options=options,
        ):
            yield batch

    def read_with_positions(
        self,
        file_io: FileIO,
        path: str,
        file_size: int | None,
        file_fields: Sequence[t.DataField],
        columns: Sequence[str],
        *,
        predicate: RowGroupFilter | None = None,
        batch_rows: int = BATCH_ROWS,
        row_ranges: Sequence[tuple[int, int]] | None = None,
        threads: bool = False,
        options: Mapping[str, str] | None = None,
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The batches of `read`, each with the position in the file of its first row, counted from 0."""
        wanted = FileRead(path, file_fields, columns, file_size, predicate, batch_rows, row_ranges, threads, options)
        return self.batches(file_io, wanted)

    @abstractmethod
    def batches(self, file_io: FileIO, wanted: FileRead) -> Iterator[tuple[int, pa.RecordBatch]]:
        """What `read_with_positions` answers."""

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
        """Begin a new file.

        Args:
            file_io: where to write.
            path: the file's final path; its name must be new.
            fields: the file's columns, system columns included, with their ids.
            options: the table's options.
            compression: overrules ``file.compression``, as ``file.compression.per.level`` does.
            history: what files that the same writer wrote before tell of variants.

        Raises:
            InvalidOptionError: a compression or setting that the format does not have.
            UnsupportedError: a column's type that the format cannot hold.
        """
        return self.writer(file_io, path, fields, WriteSettings.of(self.name, options, compression, history))

    @abstractmethod
    def writer(
        self, file_io: FileIO, path: str, fields: Sequence[t.DataField], settings: WriteSettings
    ) -> DataFileWriter:
        """What `open_writer` answers, with the settings that the options make."""

    def column_names(self, file_io: FileIO, path: str) -> list[str]:
        """The columns at the top of the schema of a file of any origin, in its order.

        Raises:
            CorruptFileError: the file is none of this format.
        """
        with refusals("read", path), file_io.open_input(path) as source:
            try:
                return self.names_in(source, path)
            except (pa.ArrowInvalid, KeyError, TypeError, ValueError) as error:
                raise CorruptFileError(f"it is no {self.name} file: {error}", path=path) from error

    def names_in(self, source: pa.NativeFile, path: str) -> list[str]:
        """What `column_names` answers of an open file; formats that are not general need not."""
        raise UnsupportedError(f"Files of the format {self.name} have no columns of their own.")

    @abstractmethod
    def check_fields(self, fields: Sequence[t.DataField]) -> None:
        """Nothing if files of this format can hold such columns; UnsupportedError naming the column otherwise."""


def canonical(array: pa.Array, field: t.DataField, path: str, leaf: Leaf | None = None) -> pa.Array:
    """A column as read, as the canonical Arrow type of its field.

    Raises:
        CorruptFileError: the file's column holds something else.
    """
    target = arrow_field(field).type
    try:
        return conform(array, target, leaf)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise CorruptFileError(
            f"column '{field.name}' holds {array.type} and cannot be read as {field.type.sql()}: {error}", path=path
        ) from error


def batch_of(columns: Sequence[pa.Array], schema: pa.Schema, rows: int) -> pa.RecordBatch:
    """A batch of ``rows`` rows, also if it has no columns."""
    if not columns:
        return pa.RecordBatch.from_struct_array(pa.Array.from_buffers(pa.struct([]), rows, [None]))
    return pa.RecordBatch.from_arrays(list(columns), schema=schema)
