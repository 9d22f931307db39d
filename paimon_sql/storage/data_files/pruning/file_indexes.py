"""The file indexes of data files, and what they tell of the rows that a condition may be true for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from pyroaring import BitMap

from paimon_sql.errors import CorruptFileError, MissingFileError
from paimon_sql.format.bytes.bounded import decoding
from paimon_sql.format.file_index.base import IndexReader, Operator
from paimon_sql.format.file_index.container import PREFIX_BYTES, IndexLocation, header_length, read_header
from paimon_sql.format.file_index.declared import declared_indexes, indexed_name, value_type
from paimon_sql.format.file_index.registry import KINDS
from paimon_sql.format.layout.paths import INDEX_SUFFIX, beside
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.options.table.index import FILE_INDEX_READ_ENABLED
from paimon_sql.format.options.table.row_tracking import DATA_EVOLUTION_ENABLED
from paimon_sql.format.schema.types import DataField, DataType
from paimon_sql.storage.expressions.map_predicates import OfMapKey
from paimon_sql.storage.expressions.predicates import And, Comparison, In, IsNull, Or, Predicate
from paimon_sql.storage.table.table import Table

_LOG = logging.getLogger(__name__)
_FIRST_READ = 4096
_AT_ONCE = 1 << 24
_NEAR = 8192
"""Rows between two wanted ones that are rather read than passed over."""

Readers = Callable[[str, str | None], Sequence[IndexReader]]
"""The indexes of a column, or of what a map holds under a key."""


@dataclass(frozen=True)
class HeldIndexes:
    """The indexes of one data file.

    Attributes:
        places: where they stand.
        path: the file that holds them; None if they stand in the manifest.
        size: how many bytes the container of all of them has.
        read: gives some bytes of the container, from an offset on.
    """

    places: Sequence[IndexLocation]
    path: str | None
    size: int
    read: Callable[[int, int], bytes]


def index_file(file: DataFileMeta) -> str | None:
    """The name of the file that holds a data file's indexes; None if there is none."""
    return next((name for name in reversed(file.extra_files) if name.endswith(INDEX_SUFFIX)), None)


@contextmanager
def held_indexes(table: Table, partition: bytes, bucket: int, file: DataFileMeta) -> Iterator[HeldIndexes | None]:
    """The indexes of a data file, open as long as the context is; None if it has none.

    Raises:
        MissingFileError: the file that holds them is not there.
        CorruptFileError: they cannot be read.
    """
    data, name = file.embedded_index, index_file(file)
    if data is not None:
        where = f"the manifest entry of {file.file_name}"
        places = read_header(data, where)
        yield HeldIndexes(places, None, len(data), lambda start, size: data[start : start + size])
    elif name is not None:
        path = beside(table.locations.bucket(partition, bucket), name, file.external_path)
        with table.file_io.open_input(path) as stream:
            size = int(stream.size())
            head = bytes(stream.read_at(min(_FIRST_READ, size), 0))
            length = header_length(head[:PREFIX_BYTES], size, path)
            if length > len(head):
                head = bytes(stream.read_at(length, 0))
            read = stream.read_at
            yield HeldIndexes(
                read_header(head, path, size), path, size, lambda start, length: bytes(read(length, start))
            )
    else:
        yield None


@dataclass(frozen=True)
class IndexLook:
    """Asks the indexes of a table's data files for the rows that a condition may be true for."""

    table: Table
    predicate: Predicate

    @cached_property
    def is_of_use(self) -> bool:
        """Whether reads of the table may leave out rows by their indexes."""
        options = self.table.options
        return options.get(FILE_INDEX_READ_ENABLED) and not options.get(DATA_EVOLUTION_ENABLED)

    @cached_property
    def _declared(self) -> bool:
        """Whether the table asks for indexes of columns that the condition looks at."""
        return any(i.column in self.predicate.columns() for i in declared_indexes(self.table.options))

    def looks_at(self, file: DataFileMeta) -> bool:
        """Whether a file has indexes that are worth a look: those in the manifest, or others of columns asked for."""
        return self.is_of_use and (file.embedded_index is not None or self.opens(file))

    def opens(self, file: DataFileMeta) -> bool:
        """Whether a look at a file's indexes opens another file."""
        return file.embedded_index is None and self._declared and index_file(file) is not None

    def rows(self, partition: bytes, bucket: int, file: DataFileMeta) -> BitMap | None:
        """The rows of a file that the condition may be true for, by their positions; None if nothing is known of them.

        Indexes that are gone or broken tell nothing: a read does without them.
        """
        if not self.looks_at(file):
            return None
        try:
            with held_indexes(self.table, partition, bucket, file) as held:
                if held is None:
                    return None
                with decoding("a file index", held.path or f"the manifest entry of {file.file_name}"):
                    return rows_in_indexes(self.predicate, self._readers(held, file))
        except (MissingFileError, CorruptFileError) as error:
            _LOG.warning("%s: a file index is left aside: %s", self.table.name, error)
            return None

    def _readers(self, held: HeldIndexes, file: DataFileMeta) -> Readers:
        known: dict[tuple[str, str | None], list[IndexReader]] = {}

        def readers(column: str, key: str | None) -> list[IndexReader]:
            if (column, key) not in known:
                stored = self._stored(column, file.schema_id)
                kind = value_type(stored.type, key) if stored is not None else None
                name = indexed_name(stored.name, key) if stored is not None else ""
                places = [p for p in held.places if p.column == name and p.kind in KINDS]
                known[column, key] = [_reader(held, p, kind, file) for p in places] if kind is not None else []
            return known[column, key]

        return readers

    def _stored(self, column: str, schema_id: int) -> DataField | None:
        """A column as a file of some schema holds it; None if it does not, or with values of another type."""
        if column not in self.table.schema.names:
            return None
        today = self.table.schema.field(column)
        if schema_id == self.table.schema.id:
            return today
        written = (f for f in self.table.schemas.get(schema_id).fields if f.id == today.id)
        return next((f for f in written if f.type.as_nullable() == today.type.as_nullable()), None)


def _reader(held: HeldIndexes, place: IndexLocation, values: DataType, file: DataFileMeta) -> IndexReader:
    try:
        return KINDS[place.kind].reader(held.read(place.start, place.length), values)
    except ValueError as error:
        path = held.path or file.file_name
        raise CorruptFileError(f"the {place.kind} index of column '{place.column}' is {error}", path=path) from error


def rows_in_indexes(predicate: Predicate, readers: Readers) -> BitMap | None:
    """The rows that a condition may be true for; None if the indexes say nothing.

    Args:
        predicate: the condition.
        readers: gives the indexes of a column.
    """
    if isinstance(predicate, And):
        return _in_all(rows_in_indexes(part, readers) for part in predicate.parts)
    if isinstance(predicate, Or):
        found: BitMap | None = BitMap()
        for part in predicate.parts:
            rows = None if found is None else rows_in_indexes(part, readers)
            found = None if found is None or rows is None else found | rows
        return found
    if isinstance(predicate, Comparison):
        operator: Operator = predicate.operator  # type: ignore[assignment]
        return _in_all(reader.compare(operator, predicate.value) for reader in readers(predicate.column, None))
    if isinstance(predicate, In):
        return _in_all(reader.among(predicate.values) for reader in readers(predicate.column, None))
    if isinstance(predicate, OfMapKey):
        column, key = predicate.column, predicate.key
        return rows_in_indexes(predicate.inner, lambda name, of: readers(column, key))
    if isinstance(predicate, IsNull):
        return _in_all(r.valued() if predicate.negated else r.nulls() for r in readers(predicate.column, None))
    return None


def _in_all(answers: Iterator[BitMap | None]) -> BitMap | None:
    found: BitMap | None = None
    for rows in answers:
        if rows is not None:
            found = rows if found is None else found & rows
            if not found:
                break
    return found


def as_ranges(rows: BitMap, count: int) -> list[tuple[int, int]] | None:
    """Rows as sorted ranges ``(first, last + 1)``, those between near ones among them; None if that is all rows.

    Args:
        rows: the rows, at least one.
        count: how many rows there are.
    """
    found: list[tuple[int, int]] = []
    rows &= BitMap(range(count))
    first: int | None = rows.next_set_bit(0) if rows else None
    while first is not None:
        # A bitmap may hold a run of billions of rows, of which only some are looked at at a time.
        window = BitMap(range(first, min(first + _AT_ONCE, count)))
        positions = np.asarray((rows & window).to_array(), np.int64)
        cuts = np.flatnonzero(np.diff(positions) > _NEAR)
        firsts, ends = positions[np.r_[0, cuts + 1]], positions[np.r_[cuts, len(positions) - 1]] + 1
        ranges = list(zip(firsts.tolist(), ends.tolist(), strict=True))
        if found and ranges[0][0] - found[-1][1] < _NEAR:
            ranges[0] = (found.pop()[0], ranges[0][1])
        found += ranges
        first = rows.next_set_bit(first + _AT_ONCE) if rows.max() >= first + _AT_ONCE else None
    if len(found) == 1 and found[0][1] - found[0][0] + _NEAR >= count:
        return None
    return found
