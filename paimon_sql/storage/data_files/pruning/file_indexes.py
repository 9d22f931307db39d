"""Data skipping by file indexes (spec: File Index)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from pyroaring import BitMap

from paimon_sql.errors import CorruptFileError, MissingFileError
from paimon_sql.format.bytes.bounded import decoding
from paimon_sql.format.file_index.base import IndexReader, Operator
from paimon_sql.format.file_index.container import PREFIX_BYTES, IndexLocation, header_length, read_header
from paimon_sql.format.file_index.declared import declared_indexes, indexed_name, value_type
from paimon_sql.format.file_index.registry import KINDS
from paimon_sql.format.layout.paths import INDEX_SUFFIX, extra_file
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.options.table.index import FILE_INDEX_READ_ENABLED
from paimon_sql.format.schema.types import DataField, DataType
from paimon_sql.storage.expressions.predicates import And, Comparison, In, IsNull, OfMapKey, Or, Predicate
from paimon_sql.storage.table.table import Table

_LOG = logging.getLogger(__name__)
_HEADER_READ = 4096
_WINDOW = 1 << 24
_NARROW_FACTOR = 8
_MAX_GAP = 8192
"""Max number of unwanted rows between wanted ones that are read rather than skipped."""

Readers = Callable[[str, str | None], Sequence[IndexReader]]
"""Returns the indexes of a column, or of a key of a map column."""


@dataclass(frozen=True)
class FileIndex:
    """The file index of one data file: a container of indexes.

    Attributes:
        places: the locations of the indexes in the container.
        path: the file of the container; None if it is embedded in the manifest.
        size: the size of the container in bytes.
        read: reads bytes of the container, by offset and length.
    """

    places: Sequence[IndexLocation]
    path: str | None
    size: int
    read: Callable[[int, int], bytes]


def index_file(file: DataFileMeta) -> str | None:
    """Return the name of the data file's index file; None without one."""
    return next((name for name in reversed(file.extra_files) if name.endswith(INDEX_SUFFIX)), None)


@contextmanager
def held_indexes(table: Table, partition: bytes, bucket: int, file: DataFileMeta) -> Iterator[FileIndex | None]:
    """Open the file index of a data file; None if it has none.

    Raises:
        MissingFileError: the index file is missing.
        CorruptFileError: the index is unreadable.
    """
    data, name = file.embedded_index, index_file(file)
    if data is not None:
        where = f"the manifest entry of {file.file_name}"
        locations = read_header(data, where)
        yield FileIndex(locations, None, len(data), lambda start, size: data[start : start + size])
    elif name is not None:
        path = extra_file(table.locations.bucket(partition, bucket), name, file.external_path)
        with table.file_io.open_input(path) as stream:
            size = int(stream.size())
            head = bytes(stream.read_at(min(_HEADER_READ, size), 0))
            length = header_length(head[:PREFIX_BYTES], size, path)
            if length > len(head):
                head = bytes(stream.read_at(length, 0))
            read = stream.read_at
            yield FileIndex(read_header(head, path, size), path, size, lambda start, length: bytes(read(length, start)))
    else:
        yield None


@dataclass(frozen=True)
class IndexAnswer:
    """What the index of a data file tells about the rows that match a predicate.

    Attributes:
        rows: their positions, and perhaps those of others; None if unknown.
        estimate: about how many they are; None if unknown.
    """

    rows: BitMap | None = None
    estimate: float | None = None

    @property
    def excludes_all(self) -> bool:
        """Whether no row matches."""
        return self.rows is not None and not self.rows

    @property
    def expected(self) -> float | None:
        """About how many rows match; None if unknown."""
        return self.estimate if self.rows is None else len(self.rows)


UNKNOWN = IndexAnswer()
"""The answer of a file without an index."""


def are_few(matching: float, rows: int) -> bool:
    """Whether so few of some rows match that reading should skip the others."""
    return matching * _NARROW_FACTOR <= rows


@dataclass(frozen=True)
class IndexedRows:
    """How many rows of some files match a predicate, by the indexes of the files.

    Attributes:
        expected: about how many.
        most: how many at most; None if unknown.
    """

    expected: float = 0.0
    most: int | None = 0

    @classmethod
    def of(cls, answer: IndexAnswer) -> IndexedRows | None:
        """The rows of one file; None if unknown."""
        if answer.expected is None:
            return None
        return cls(answer.expected, None if answer.rows is None else len(answer.rows))

    def __add__(self, other: IndexedRows) -> IndexedRows:
        most = None if self.most is None or other.most is None else self.most + other.most
        return IndexedRows(self.expected + other.expected, most)


NO_ROWS = IndexedRows()
"""What an index that excludes all rows tells."""


@dataclass(frozen=True)
class IndexFilter:
    """Finds the rows of data files that may match a predicate, by file index."""

    table: Table
    predicate: Predicate

    @cached_property
    def is_of_use(self) -> bool:
        """Whether reads of the table may skip rows by file index."""
        options = self.table.options
        return options.get(FILE_INDEX_READ_ENABLED) and not self.table.layout.groups_files

    @cached_property
    def _has_indexed_columns(self) -> bool:
        """Whether the table's options declare indexes of columns of the predicate."""
        return any(i.column in self.predicate.columns() for i in declared_indexes(self.table.options))

    def looks_at(self, file: DataFileMeta) -> bool:
        """Whether a file's index is worth reading: it is embedded, or may have indexes of the predicate's columns."""
        return self.is_of_use and (file.embedded_index is not None or self.opens(file))

    def opens(self, file: DataFileMeta) -> bool:
        """Whether reading the file's index opens another file."""
        return file.embedded_index is None and self._has_indexed_columns and index_file(file) is not None

    def answer(self, partition: bytes, bucket: int, file: DataFileMeta) -> IndexAnswer:
        """Return what the index of a data file tells.

        Missing and corrupt indexes are logged and ignored: a read does not depend on them.
        """
        if not self.looks_at(file):
            return UNKNOWN
        try:
            with held_indexes(self.table, partition, bucket, file) as index:
                if index is None:
                    return UNKNOWN
                with decoding("a file index", index.path or f"the manifest entry of {file.file_name}"):
                    return answer_of_indexes(self.predicate, self._readers(index, file), file.row_count)
        except (MissingFileError, CorruptFileError) as error:
            _LOG.warning("%s: a file index is ignored: %s", self.table.name, error)
            return UNKNOWN

    def _readers(self, index: FileIndex, file: DataFileMeta) -> Readers:
        @cache
        def readers(column: str, key: str | None) -> list[IndexReader]:
            stored = self._stored(column, file.schema_id)
            kind = None if stored is None else value_type(stored.type, key)
            if stored is None or kind is None:
                return []
            name = indexed_name(stored.name, key)
            return [_reader(index, p, kind, file) for p in index.places if p.column == name and p.kind in KINDS]

        return readers

    def _stored(self, column: str, schema_id: int) -> DataField | None:
        """Return a column in the schema of a file; None if it is missing or has another type there."""
        if column not in self.table.schema.names:
            return None
        current = self.table.schema.field(column)
        if schema_id == self.table.schema.id:
            return current
        written = (f for f in self.table.schemas.get(schema_id).fields if f.id == current.id)
        return next((f for f in written if f.type.as_nullable() == current.type.as_nullable()), None)


def _reader(index: FileIndex, at: IndexLocation, values: DataType, file: DataFileMeta) -> IndexReader:
    try:
        return KINDS[at.kind].reader(index.read(at.start, at.length), values)
    except ValueError as error:
        path = index.path or file.file_name
        raise CorruptFileError(f"the {at.kind} index of column '{at.column}' is {error}", path=path) from error


def answer_of_indexes(predicate: Predicate, readers: Readers, row_count: int) -> IndexAnswer:
    """Return what the indexes of a file tell about the rows that match a predicate.

    Args:
        predicate: the predicate.
        readers: returns the indexes of a column.
        row_count: the number of rows of the file.
    """
    if isinstance(predicate, And):
        return _all_of(answer_of_indexes(part, readers, row_count) for part in predicate.parts)
    if isinstance(predicate, Or):
        return _any_of(answer_of_indexes(part, readers, row_count) for part in predicate.parts)
    if isinstance(predicate, OfMapKey):
        column, key = predicate.column, predicate.key
        return answer_of_indexes(predicate.inner, lambda name, of: readers(column, key), row_count)
    if isinstance(predicate, Comparison):
        operator: Operator = predicate.operator  # type: ignore[assignment]
        wanted = 1 if operator == "=" else None
        return _all_of(
            _answer(r.compare(operator, predicate.value), r, wanted, row_count) for r in readers(predicate.column, None)
        )
    if isinstance(predicate, In):
        values = predicate.values
        return _all_of(_answer(r.equal_any(values), r, len(values), row_count) for r in readers(predicate.column, None))
    if isinstance(predicate, IsNull):
        return _all_of(
            _answer(r.not_nulls() if predicate.negated else r.nulls(), r, None, row_count)
            for r in readers(predicate.column, None)
        )
    return UNKNOWN


def _answer(rows: BitMap | None, reader: IndexReader, values: int | None, row_count: int) -> IndexAnswer:
    """The answer of one index, which was asked for so many values, or for something else (None)."""
    if rows is not None or values is None or reader.distinct is None:
        return IndexAnswer(rows)
    return IndexAnswer(None, row_count * min(1.0, values / reader.distinct))


def _all_of(answers: Iterable[IndexAnswer]) -> IndexAnswer:
    rows: BitMap | None = None
    estimates = []
    for answer in answers:
        if answer.rows is not None:
            rows = answer.rows if rows is None else rows & answer.rows
            if not rows:
                break
        estimates += [] if answer.estimate is None else [answer.estimate]
    return IndexAnswer(rows, min(estimates, default=None))


def _any_of(answers: Iterable[IndexAnswer]) -> IndexAnswer:
    rows: BitMap | None = BitMap()
    expected: float | None = 0.0
    for answer in answers:
        rows = None if rows is None or answer.rows is None else rows | answer.rows
        expected = None if expected is None or answer.expected is None else expected + answer.expected
        if rows is None and expected is None:
            break
    return IndexAnswer(rows, expected)


def as_ranges(rows: BitMap, count: int) -> list[tuple[int, int]] | None:
    """Return rows as sorted ranges ``(first, last + 1)``, joined over small gaps; None if that covers all rows.

    Args:
        rows: the rows, at least one.
        count: the number of rows of the file.
    """
    found: list[tuple[int, int]] = []
    rows &= BitMap(range(count))
    first: int | None = rows.next_set_bit(0) if rows else None
    while first is not None:
        # A bitmap may contain a run of billions of rows, so it is converted in windows.
        window = BitMap(range(first, min(first + _WINDOW, count)))
        positions = np.asarray((rows & window).to_array(), np.int64)
        cuts = np.flatnonzero(np.diff(positions) > _MAX_GAP)
        firsts, ends = positions[np.r_[0, cuts + 1]], positions[np.r_[cuts, len(positions) - 1]] + 1
        ranges = list(zip(firsts.tolist(), ends.tolist(), strict=True))
        if found and ranges[0][0] - found[-1][1] < _MAX_GAP:
            ranges[0] = (found.pop()[0], ranges[0][1])
        found += ranges
        first = rows.next_set_bit(first + _WINDOW) if rows.max() >= first + _WINDOW else None
    if len(found) == 1 and found[0][1] - found[0][0] + _MAX_GAP >= count:
        return None
    return found
