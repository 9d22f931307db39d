"""Elements of array and map columns: flattened, compared, and rebuilt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.storage.expressions.kernels.conform import is_listlike
from paimon_sql.storage.expressions.kernels.sorting import Indices, Mask, Segments, comparable
from paimon_sql.storage.merge.aggregates.base import Steps, valid_mask


@dataclass(frozen=True)
class Entries:
    """The elements of all values of a column, flattened.

    Attributes:
        positions: their positions in the child arrays.
        rows: the row in the steps of each.
        segments: the key of each.
    """

    positions: Indices
    rows: Indices
    segments: Segments

    @classmethod
    def of(cls, steps: Steps) -> Entries:
        """Flatten the values; null has no elements."""
        positions, rows = _spans(steps.values)
        return cls(positions, rows, Segments(steps.segments.owners[rows], steps.segments.count))

    def where(self, mask: Mask) -> Entries:
        """Return only the elements of the mask."""
        return Entries(self.positions[mask], self.rows[mask], self.segments.where(mask))

    def backwards(self, steps: Mask) -> Entries:
        """Return the elements with those of some steps in reverse order."""
        if not steps.any():
            return self
        positions = np.arange(len(self.rows))
        order = np.lexsort((np.where(steps[self.rows], -positions, positions), self.rows))
        return Entries(self.positions[order], self.rows, self.segments)


def array_of(kind: pa.DataType, owners: Indices, elements: pa.Array, present: Mask) -> pa.Array:
    """Build an array per group.

    Args:
        kind: the type of the result.
        owners: the group of each element, ascending.
        elements: the elements.
        present: mask of the groups with an array, possibly empty; the others are null.
    """
    return pa.ListArray.from_arrays(_offsets(owners, present), elements, type=kind)


def map_of(kind: pa.DataType, owners: Indices, keys: pa.Array, items: pa.Array, present: Mask) -> pa.Array:
    """Build a map per group; see `array_of`."""
    return pa.MapArray.from_arrays(_offsets(owners, present), keys, items, type=kind)


def identities(values: pa.Array) -> Indices:
    """Return codes that are equal iff values are: null and NaN equal themselves, 0.0 != -0.0, maps are unordered."""
    kind = values.type
    if pa.types.is_struct(kind):
        return _combine_codes([valid_mask(values).astype(np.int64), *(identities(child) for child in values.flatten())])
    if pa.types.is_map(kind):
        keys, items = identities(values.keys), identities(values.items)
        positions, rows = _spans(values)
        # Maps are compared by their entries in the order of keys.
        positions = positions[np.lexsort((keys[positions], rows))]
        return _sequence_codes(values, _combine_codes([keys, items]), positions, rows)
    if is_listlike(kind):
        positions, rows = _spans(values)
        return _sequence_codes(values, identities(values.values), positions, rows)
    encoded = pc.dictionary_encode(comparable(values), null_encoding="encode")
    codes: Indices = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def identities_of_fields(rows: pa.Array, names: Sequence[str]) -> Indices:
    """Return codes that are equal iff rows are equal in these fields."""
    return _combine_codes([identities(child) for child in fields_of(rows, names)])


def fields_of(rows: pa.Array, names: Sequence[str]) -> list[pa.Array]:
    """Return fields of the rows, null where the row is null."""
    children = rows.flatten()
    return [children[rows.type.get_field_index(name)] for name in names]


def _spans(values: pa.Array) -> tuple[Indices, Indices]:
    """Return the position of each element in the child arrays, and the index of its value."""
    if pa.types.is_fixed_size_list(values.type):
        width = values.type.list_size
        begins = (np.arange(len(values)) + values.offset) * width
        lengths = np.full(len(values), width, dtype=np.int64)
    else:
        offsets = values.offsets.to_numpy().astype(np.int64)
        begins, lengths = offsets[:-1], np.diff(offsets)
    lengths = np.where(valid_mask(values), lengths, 0)
    rows = np.repeat(np.arange(len(values)), lengths)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.repeat(begins, lengths) + within, rows


def _offsets(owners: Indices, present: Mask) -> pa.Array:
    ends = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=len(present)))]).astype(np.int32)
    missing = np.append(~present, False)
    return pa.array(ends, mask=missing if missing.any() else None)


def _combine_codes(parts: Sequence[Indices]) -> Indices:
    """Return codes that are equal iff all given codes are."""
    codes = parts[0]
    for part in parts[1:]:
        codes = np.unique(codes * (int(part.max(initial=0)) + 1) + part, return_inverse=True)[1]
    return codes


def _sequence_codes(values: pa.Array, elements: Indices, positions: Indices, rows: Indices) -> Indices:
    """Return codes of sequences from codes of their elements, one position at a time over all values."""
    lengths = np.bincount(rows, minlength=len(values))
    found = np.where(valid_mask(values), lengths + 1, 0)
    begins = np.cumsum(lengths) - lengths
    for position in range(int(lengths.max(initial=0))):
        longer = np.flatnonzero(lengths > position)
        codes = np.zeros(len(values), dtype=np.int64)
        codes[longer] = elements[positions[begins[longer] + position]]
        found = _combine_codes([found, codes])
    return found
