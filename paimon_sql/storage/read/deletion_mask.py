"""Which rows of data files are dead, as bits: those that deletion vectors delete, and those that merging drops.

Whoever reads files whole by other means than ours, Spark's own reader for one, leaves rows out by these bits. Bit ``i``
of byte ``j`` stands for row ``8 j + i`` of a file; rows behind the last byte are alive.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.bytes.bounded import MAX_FILE_ROWS
from paimon_sql.format.index_files.deletion_vectors import DeletionVector
from paimon_sql.format.schema.system_fields import VALUE_KIND, key_value_fields
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.merge.engines.base import SelectingEngine, is_retract
from paimon_sql.storage.merge.registry import merge_engine
from paimon_sql.storage.merge.sequence import sequence_fields
from paimon_sql.storage.read.readers.merge import merge_section
from paimon_sql.storage.read.readers.sorted_runs import FILE, PLACE
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.table.table import Table

Bits = Mapping[str, bytes]
"""The bits of files by their names."""
_MOST_ROWS = 1 << 27
"""More rows than these in one split take more memory, a byte each, than one task should need beside its window."""


def bits_of(vector: DeletionVector) -> bytes:
    """The rows that a deletion vector deletes.

    Raises:
        UnsupportedError: one is beyond those that bits are kept of.
    """
    if not vector.cardinality:
        return b""
    if vector.positions[-1] > MAX_FILE_ROWS:
        raise UnsupportedError(f"A deletion vector deletes row {vector.positions[-1]}, more than a file can have here.")
    dead = np.zeros(int(vector.positions[-1]) // 8 + 1, np.uint8)
    np.bitwise_or.at(dead, vector.positions >> 3, np.left_shift(np.uint8(1), (vector.positions & 7).astype(np.uint8)))
    return dead.tobytes()


def selects(table: Table, split: Split) -> bool:
    """Whether merging a split leaves some of its rows as they are and makes no new ones, and not too many at a time."""
    if type(split) is not Split or not split.sections:
        return False
    if split.origins:
        return False  # the files do not hold the partition that their rows bear
    few = sum(f.row_count for f in split.files) <= _MOST_ROWS
    return few and isinstance(merge_engine(table.schema), SelectingEngine)


@dataclass(frozen=True)
class Merging:
    """The files of a split, of which merging leaves some rows as they are and drops the rest.

    Attributes:
        table: the table; its merge engine selects rows and makes none.
        split: the split.
        on_key: a condition on the key; rows for which it is not true count as dead.
    """

    table: Table
    split: Split
    on_key: Predicate | None = None

    @property
    def size(self) -> int:
        """About how many bytes of the files are read: those of the columns that tell rows of a key apart."""
        read = len(self.table.schema.trimmed_primary_keys) + len(sequence_fields(self.table.schema.options)) + 1
        return self.split.size * read // len(key_value_fields(self.table.schema))

    @property
    def identity(self) -> tuple[object, ...]:
        """What the bits hang on, a condition aside: equal for reads of the same files in the same way."""
        vectors = sorted((name, d.path, d.range.offset) for name, d in self.split.deletions.items())
        names = (f.file_name for f in self.split.files)
        return (*names, *vectors, frozenset(self.table.schema.options.items()))

    def dead(self) -> Bits:
        """The rows of each file that the merged result does not hold. Only what tells rows of a key apart is read."""
        engine = merge_engine(self.table.schema)
        assert isinstance(engine, SelectingEngine)
        dead = [np.ones(f.row_count, np.bool_) for f in self.split.files]
        for section in self.split.sections:
            for window in merge_section(self.table, self.split, section, (FILE, PLACE), self.on_key):
                left = engine.select(window)
                left = left[~is_retract(window.table[VALUE_KIND.name].to_numpy()[left])]
                files, places = (window.table[name].to_numpy() for name in (FILE, PLACE))
                for number in np.unique(files):
                    of_file = left[files[left] == number]
                    dead[number][places[of_file]] = False
        return {f.file_name: _packed(flags) for f, flags in zip(self.split.files, dead, strict=True)}


class BitsCache:
    """The bits of files that were merged without a condition, bounded by their size; files never change."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._held: OrderedDict[tuple[object, ...], Bits] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, merging: Merging) -> Bits | None:
        """The bits of these files; None if they are not held."""
        with self._lock:
            found = self._held.get(merging.identity)
            if found is not None:
                self._held.move_to_end(merging.identity)
            return found

    def put(self, merging: Merging, bits: Bits) -> None:
        """Hold the bits, the least recently used leaving first."""
        if merging.on_key is not None:
            return
        with self._lock:
            if merging.identity not in self._held:
                self._held[merging.identity] = bits
                self._bytes += _size(bits)
            while self._bytes > self.capacity:
                _, dropped = self._held.popitem(last=False)
                self._bytes -= _size(dropped)


def _size(bits: Bits) -> int:
    return sum(map(len, bits.values()))


def _packed(flags: npt.NDArray[np.bool_]) -> bytes:
    end = len(flags) - int(np.argmax(flags[::-1])) if flags.any() else 0
    return np.packbits(flags[:end], bitorder="little").tobytes()
