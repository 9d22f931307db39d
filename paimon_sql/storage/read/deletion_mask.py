"""Deletion masks: the rows of data files that deletion vectors delete, or that merging drops, as bits.

Readers that read all rows of a file, such as Spark's own, filter rows by them. Bit ``i`` of byte ``j`` is that of row
``8 j + i`` of a file; rows after the last byte are live.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.bytes.bounded import MAX_FILE_ROWS
from paimon_sql.format.metadata.index_files import DeletionVector
from paimon_sql.format.schema.system_fields import VALUE_KIND, key_value_fields
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.merge.engines.base import SelectingEngine, is_retract
from paimon_sql.storage.merge.registry import merge_engine
from paimon_sql.storage.merge.sequence import sequence_fields
from paimon_sql.storage.read.readers.merge import FILE, PLACE, merge_section
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.table.table import Table

DeletionMasks = Mapping[str, bytes]
"""Deletion masks by file name."""
_MAX_ROWS = 1 << 27
"""The max rows of a split: the masks take a byte per row while they are computed, in addition to the merge window."""


def mask_of(vector: DeletionVector) -> bytes:
    """Convert a deletion vector to a deletion mask.

    Raises:
        UnsupportedError: a row is beyond the max rows of a file.
    """
    if not vector.cardinality:
        return b""
    if vector.positions[-1] > MAX_FILE_ROWS:
        raise UnsupportedError(f"A deletion vector deletes row {vector.positions[-1]}, more than a file can have here.")
    mask = np.zeros(int(vector.positions[-1]) // 8 + 1, np.uint8)
    np.bitwise_or.at(mask, vector.positions >> 3, np.left_shift(np.uint8(1), (vector.positions & 7).astype(np.uint8)))
    return mask.tobytes()


def selects(table: Table, split: Split) -> bool:
    """Whether merging a split only selects from its rows, and these are few enough for deletion masks."""
    if type(split) is not Split or not split.sections:
        return False
    if split.origins:
        return False  # the files have other partition values than the split
    few = sum(f.row_count for f in split.files) <= _MAX_ROWS
    return few and isinstance(merge_engine(table.schema), SelectingEngine)


@dataclass(frozen=True)
class MaskedSplit:
    """A split whose merge selects rows (`selects`), and can so be read through deletion masks.

    Attributes:
        table: the table; its merge engine is a `SelectingEngine`.
        split: the split.
        on_key: a condition on the key; rows for which it is not true count as deleted.
    """

    table: Table
    split: Split
    on_key: Predicate | None = None

    @property
    def size(self) -> int:
        """The estimated bytes to read: those of the key and sequence columns."""
        read = len(self.table.schema.trimmed_primary_keys) + len(sequence_fields(self.table.schema.options)) + 1
        return self.split.size * read // len(key_value_fields(self.table.schema))

    @property
    def identity(self) -> tuple[object, ...]:
        """The cache key of the masks, the condition aside: equal for reads of the same files with the same options."""
        vectors = sorted((name, d.path, d.range.offset) for name, d in self.split.deletions.items())
        names = (f.file_name for f in self.split.files)
        return (*names, *vectors, frozenset(self.table.schema.options.items()))

    def masks(self) -> DeletionMasks:
        """Compute the masks of the rows that the merge drops; reads only columns that the merge needs."""
        engine = merge_engine(self.table.schema)
        assert isinstance(engine, SelectingEngine)
        columns = engine.required_columns((FILE, PLACE))
        masks = [np.ones(f.row_count, np.bool_) for f in self.split.files]
        for section in self.split.sections:
            for window in merge_section(self.table, self.split, section, columns, self.on_key):
                live = engine.select(window)
                live = live[~is_retract(window.table[VALUE_KIND.name].to_numpy()[live])]
                files, positions = (window.table[name].to_numpy() for name in (FILE, PLACE))
                for number in np.unique(files):
                    of_file = live[files[live] == number]
                    masks[number][positions[of_file]] = False
        return {f.file_name: _packed(flags) for f, flags in zip(self.split.files, masks, strict=True)}


def size_of(bits: DeletionMasks) -> int:
    """The bytes of masks."""
    return sum(map(len, bits.values()))


def _packed(flags: npt.NDArray[np.bool_]) -> bytes:
    end = len(flags) - int(np.argmax(flags[::-1])) if flags.any() else 0
    return np.packbits(flags[:end], bitorder="little").tobytes()
