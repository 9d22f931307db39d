"""The elements of arrays and maps that are folded: taken apart, told from each other, and put together again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.storage.expressions.kernels.segments import Mask, Segments
from paimon_sql.storage.expressions.kernels.sorting import Indices, comparable
from paimon_sql.storage.merge.aggregates.base import Steps, valid_mask


@dataclass(frozen=True)
class Entries:
    """The elements of all values of a column, value by value.

    Attributes:
        places: where each stands in the flat child arrays.
        rows: the step that each belongs to.
        segments: the keys that they belong to.
    """

    places: Indices
    rows: Indices
    segments: Segments

    @classmethod
    def of(cls, steps: Steps) -> Entries:
        """Take apart; nulls have no elements."""
        places, rows = _spans(steps.values)
        return cls(places, rows, Segments(steps.segments.owners[rows], steps.segments.count))

    def where(self, mask: Mask) -> Entries:
        """Some of the elements."""
        return Entries(self.places[mask], self.rows[mask], self.segments.where(mask))

    def backwards(self, steps: Mask) -> Entries:
        """The elements of some steps in the opposite order."""
        if not steps.any():
            return self
        places = np.arange(len(self.rows))
        order = np.lexsort((np.where(steps[self.rows], -places, places), self.rows))
        return Entries(self.places[order], self.rows, self.segments)


def array_of(kind: pa.DataType, owners: Indices, elements: pa.Array, present: Mask) -> pa.Array:
    """An array for each group.

    Args:
        kind: the type of the result.
        owners: the group of each element, ascending.
        elements: the elements.
        present: which groups have an array, be it empty; the others are null.
    """
    return pa.ListArray.from_arrays(_offsets(owners, present), elements, type=kind)


def map_of(kind: pa.DataType, owners: Indices, keys: pa.Array, items: pa.Array, present: Mask) -> pa.Array:
    """A map for each group; the arguments are like those of `array_of`."""
    return pa.MapArray.from_arrays(_offsets(owners, present), keys, items, type=kind)


def identities(values: pa.Array) -> Indices:
    """Numbers that are equal where values are: null and NaN are values, 0.0 and -0.0 are two, maps have no order."""
    kind = values.type
    if pa.types.is_struct(kind):
        return _combined([valid_mask(values).astype(np.int64), *(identities(child) for child in values.flatten())])
    if pa.types.is_map(kind):
        keys, items = identities(values.keys), identities(values.items)
        places, rows = _spans(values)
        # The entries of a map in the order of their keys.
        places = places[np.lexsort((keys[places], rows))]
        return _sequences(values, _combined([keys, items]), places, rows)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        places, rows = _spans(values)
        return _sequences(values, identities(values.values), places, rows)
    encoded = pc.dictionary_encode(comparable(values), null_encoding="encode")
    numbers: Indices = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


def identities_of_fields(rows: pa.Array, names: Sequence[str]) -> Indices:
    """Numbers that are equal where rows are in some of their fields."""
    return _combined([identities(child) for child in fields_of(rows, names)])


def fields_of(rows: pa.Array, names: Sequence[str]) -> list[pa.Array]:
    """Some fields of rows, null where the whole row is."""
    children = rows.flatten()
    return [children[rows.type.get_field_index(name)] for name in names]


def _spans(values: pa.Array) -> tuple[Indices, Indices]:
    """Where in the child arrays the elements stand, and which value each belongs to."""
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


def _combined(parts: Sequence[Indices]) -> Indices:
    """Numbers that are equal where all of several numbers are."""
    found = parts[0]
    for part in parts[1:]:
        found = np.unique(found * (int(part.max(initial=0)) + 1) + part, return_inverse=True)[1]
    return found


def _sequences(values: pa.Array, elements: Indices, places: Indices, rows: Indices) -> Indices:
    """The identities of sequences, whose elements have identities: a place after the other, all values at once."""
    lengths = np.bincount(rows, minlength=len(values))
    found = np.where(valid_mask(values), lengths + 1, 0)
    begins = np.cumsum(lengths) - lengths
    for place in range(int(lengths.max(initial=0))):
        going = np.flatnonzero(lengths > place)
        part = np.zeros(len(values), dtype=np.int64)
        part[going] = elements[places[begins[going] + place]]
        found = _combined([found, part])
    return found
