"""Vectorized parsing of encoded values: constants, types, sizes, children of objects and arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property

import numpy as np

from paimon_sql.format.bytes.memory import Bytes, Longs, Mask
from paimon_sql.format.variant.byte_ranges import check_inside, ordinals, unsigned
from paimon_sql.format.variant.dictionaries import Dictionaries


@dataclass(frozen=True)
class Children:
    """The direct children of objects or arrays, in their order.

    Attributes:
        values: the values of the children.
        owners: the index of each child's parent.
        counts: the number of children of each parent.
        ids: the id of each child's key in the dictionary; undefined for arrays.
    """

    values: Values
    owners: Longs
    counts: Longs
    ids: Longs

    @cached_property
    def keys(self) -> Longs:
        """The number of each child's key among all keys."""
        return self.values.dictionaries.key_of(self.values.dictionary, self.ids)


@dataclass(frozen=True)
class Values:
    """Encoded values in a buffer.

    Attributes:
        data: the bytes.
        at: the offset of each value.
        dictionary: the index of each value's dictionary.
        dictionaries: the dictionaries.
    """

    data: Bytes
    at: Longs
    dictionary: Longs
    dictionaries: Dictionaries

    def __len__(self) -> int:
        return len(self.at)

    def some(self, chosen: Mask | Longs) -> Values:
        """Select values by index or mask."""
        return replace(self, at=self.at[chosen], dictionary=self.dictionary[chosen])

    @cached_property
    def _heads(self) -> Bytes:
        return self.data[self.at]

    @cached_property
    def basic(self) -> Bytes:
        """The `Basic` type of each value."""
        return (self._heads & 3).astype(np.uint8)

    @cached_property
    def info(self) -> Bytes:
        """The high six bits of each value's first byte."""
        return (self._heads >> 2).astype(np.uint8)

    def is_primitive(self, *kinds: Primitive) -> Mask:
        """The mask of primitives of some kinds."""
        found: Mask = (self.basic == Basic.PRIMITIVE) & np.isin(self.info, [int(kind) for kind in kinds])
        return found

    @cached_property
    def sizes(self) -> Longs:
        """The encoded size of each value."""
        size = np.where(self.basic == Basic.PRIMITIVE, PRIMITIVE_SIZES[self.info], 1 + self.info.astype(np.int64))
        if not size.all():
            raise ValueError("a variant has an unknown type")
        long = self.is_primitive(Primitive.STRING, Primitive.BINARY)
        if long.any():
            size[long] += unsigned(self.data, self.at[long] + 1, 4)
        nested = self.basic >= Basic.OBJECT
        if nested.any():
            some = self.some(nested)
            layout = some._layout
            last = unsigned(self.data, layout.offsets_at + layout.counts * layout.offset_width, layout.offset_width)
            size[nested] = layout.values_at + last - some.at
        return size

    @cached_property
    def _layout(self) -> _Layout:
        is_object = self.basic == Basic.OBJECT
        info = self.info.astype(np.int64)
        large = np.where(is_object, info >> 4, info >> 2) & 1
        count_width = np.where(large == 1, 4, 1)
        id_width = np.where(is_object, ((info >> 2) & 3) + 1, 0)
        offset_width = (info & 3) + 1
        counts = unsigned(self.data, self.at + 1, count_width)
        ids_at = self.at + 1 + count_width
        offsets_at = ids_at + counts * id_width
        return _Layout(counts, id_width, offset_width, ids_at, offsets_at, offsets_at + (counts + 1) * offset_width)

    @property
    def counts(self) -> Longs:
        """The number of children of each value; all must be objects or arrays."""
        return self._layout.counts

    def children(self) -> Children:
        """The children of the values, which must be all objects or all arrays."""
        layout = self._layout
        check_inside(self.data, layout.ids_at, layout.counts)
        owners, which = ordinals(layout.counts)
        ids = _numbers(self.data, layout.ids_at, layout.id_width, owners, which)
        offsets = _numbers(self.data, layout.offsets_at, layout.offset_width, owners, which)
        inside = Values(self.data, layout.values_at[owners] + offsets, self.dictionary[owners], self.dictionaries)
        return Children(inside, owners, layout.counts, ids)


@dataclass(frozen=True)
class _Layout:
    """Offsets and widths of the parts of objects and arrays."""

    counts: Longs
    id_width: Longs
    offset_width: Longs
    ids_at: Longs
    offsets_at: Longs
    values_at: Longs


def _numbers(data: Bytes, at: Longs, width: Longs, owners: Longs, which: Longs) -> Longs:
    widths = width[owners]
    return unsigned(data, at[owners] + which * widths, widths)


class Basic(IntEnum):
    """The low two bits of a value's first byte."""

    PRIMITIVE = 0
    SHORT_STRING = 1
    OBJECT = 2
    ARRAY = 3


class Primitive(IntEnum):
    """The high six bits of a primitive's first byte."""

    NULL = 0
    TRUE = 1
    FALSE = 2
    INT8 = 3
    INT16 = 4
    INT32 = 5
    INT64 = 6
    DOUBLE = 7
    DECIMAL4 = 8
    DECIMAL8 = 9
    DECIMAL16 = 10
    DATE = 11
    TIMESTAMP = 12
    TIMESTAMP_NTZ = 13
    FLOAT = 14
    BINARY = 15
    STRING = 16
    TIME = 17
    TIMESTAMP_NANOS = 18
    TIMESTAMP_NTZ_NANOS = 19
    UUID = 20

    @property
    def head(self) -> int:
        """The first byte of such a value."""
        return int(self) << 2 | Basic.PRIMITIVE


NULL = bytes([Primitive.NULL.head])
"""The variant null, which also replaces a required value that is missing."""

LONGEST_SHORT_STRING = 63
INTEGER_WIDTHS = {Primitive.INT8: 1, Primitive.INT16: 2, Primitive.INT32: 4, Primitive.INT64: 8}
DECIMAL_WIDTHS = {Primitive.DECIMAL4: 4, Primitive.DECIMAL8: 8, Primitive.DECIMAL16: 16}

_SIZES = {
    **dict.fromkeys((Primitive.NULL, Primitive.TRUE, Primitive.FALSE), 1),
    **{p: 1 + width for p, width in INTEGER_WIDTHS.items()},
    **{p: 2 + width for p, width in DECIMAL_WIDTHS.items()},
    **dict.fromkeys((Primitive.DATE, Primitive.FLOAT), 5),
    **dict.fromkeys((Primitive.DOUBLE, Primitive.TIMESTAMP, Primitive.TIMESTAMP_NTZ, Primitive.TIME), 9),
    **dict.fromkeys((Primitive.TIMESTAMP_NANOS, Primitive.TIMESTAMP_NTZ_NANOS), 9),
    **dict.fromkeys((Primitive.BINARY, Primitive.STRING), 5),
    Primitive.UUID: 17,
}
PRIMITIVE_SIZES = np.array([_SIZES.get(Primitive(i), 0) if i in set(Primitive) else 0 for i in range(64)], np.int64)
"""The size of each primitive, for strings and bytes without their content; 0 for unknown ones."""
