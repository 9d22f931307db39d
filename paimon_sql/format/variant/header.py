"""Constants of the encoding: types in a value's first byte, and sizes (spec: Parquet, "Value encoding")."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


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
