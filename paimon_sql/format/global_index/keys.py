"""Keys of global indexes: values of a column in a sortable form, and as bytes.

The order is Java's: numbers by size, -0.0 below 0.0 and NaN above all others, strings by their bytes. The sortable form
is one that Arrow sorts so: 64-bit numbers, bytes, or decimals if 64 bits are not enough.
Source: the key serializers of Paimon's global indexes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.bytes.decimals import WIDTH, big_endian, from_big_endian, shortened
from paimon_sql.format.bytes.memory import Bytes, Longs, binary_buffers, offsets_of
from paimon_sql.format.bytes.varints import decoded_at, encode_into, sizes_of
from paimon_sql.format.file_index.keys import KeyType
from paimon_sql.format.schema import types as t

_NUMBERS = (t.BooleanType, *t.INTEGERS, *t.FLOATS, t.DateType, t.TimeType)
_MAX_DIGITS_OF_A_LONG = 18
_MILLI_DIGITS = 3
_MICRO_DIGITS = 6
_NANOS_OF_A_MILLI = 1_000_000


@dataclass(frozen=True)
class IndexKeys:
    """Conversion of the values of one type to keys and bytes.

    Attributes:
        type: the type of the values.
    """

    type: t.DataType

    @staticmethod
    def supports(data_type: t.DataType) -> bool:
        """Whether values of a type can be keys."""
        return isinstance(data_type, (*_NUMBERS, *t.TEXTS, *t.TIMESTAMPS, t.DecimalType))

    @property
    def is_text(self) -> bool:
        """Whether keys are strings, which have prefixes."""
        return isinstance(self.type, t.TEXTS)

    @property
    def _is_wide(self) -> bool:
        return isinstance(self.type, t.DecimalType) and self.type.precision > _MAX_DIGITS_OF_A_LONG

    @property
    def _units(self) -> int:
        """Units of a timestamp's Arrow type per millisecond."""
        assert isinstance(self.type, t.TIMESTAMPS)
        return 1000 if self.type.precision <= _MICRO_DIGITS else _NANOS_OF_A_MILLI

    def ordered(self, values: pa.Array) -> pa.Array:
        """Convert values to the sortable form; nulls stay null."""
        if isinstance(self.type, t.TIMESTAMPS):
            return values.cast(pa.int64())
        return values if self._is_wide else KeyType(self.type).of(values)

    def encoded(self, keys: pa.Array) -> pa.Array:
        """Encode keys as large binaries.

        Args:
            keys: keys by `ordered`, none of them null.
        """
        if self.is_text:
            return keys.cast(pa.large_binary())
        if self._is_wide:
            return _encode_decimals(keys)
        numbers = keys.to_numpy()
        if isinstance(self.type, t.TIMESTAMPS):
            millis = np.floor_divide(numbers, self._units)
            if self.type.precision <= _MILLI_DIGITS:
                return _fixed(millis.astype("<i8"))
            return _with_nanos(millis, (numbers - millis * self._units) * (_NANOS_OF_A_MILLI // self._units))
        if isinstance(self.type, t.DecimalType):
            return _fixed(numbers.astype("<i8"))
        stored = KeyType(self.type).encode(numbers)
        return _fixed(stored.astype(stored.dtype.newbyteorder("<")))

    def decoded(self, data: pa.Array) -> pa.Array:
        """Decode keys from the large binaries of `encoded`.

        Raises:
            ValueError: bytes are not a key.
        """
        if self.is_text:
            return data.cast(pa.binary())
        if self._is_wide:
            assert isinstance(self.type, t.DecimalType)
            return _decode_decimals(data, self.type)
        flat, starts = binary_buffers(data)
        sizes = np.diff(starts)
        if isinstance(self.type, t.TIMESTAMPS) and self.type.precision > _MILLI_DIGITS:
            if len(sizes) and sizes.min() <= 8:
                raise ValueError("the key of a time is too short")
            millis = flat[(starts[:-1, None] + np.arange(8)).ravel()].view("<i8").astype(np.int64)
            nanos, _ = decoded_at(flat, starts[:-1] + 8)
            return pa.array(millis * self._units + nanos // (_NANOS_OF_A_MILLI // self._units))
        kind = KeyType(self.type)
        width = 8 if isinstance(self.type, (*t.TIMESTAMPS, t.DecimalType)) else kind.stored.itemsize
        if (sizes != width).any():
            raise ValueError(f"a key of {self.type.sql()} is not {width} bytes long")
        stored = flat[starts[0] : starts[-1]].view(f"<i{width}")
        if isinstance(self.type, t.TIMESTAMPS):
            return pa.array(stored.astype(np.int64) * self._units)
        return pa.array(stored.astype(np.int64) if isinstance(self.type, t.DecimalType) else kind.decode(stored))

    def equals(self, values: pa.Array) -> pa.Array:
        """The possible keys of rows whose value is one of ``values``; both zeros are one value."""
        return pc.unique(self.ordered(KeyType(self.type).with_both_zeros(values)))

    def bound(self, value: pa.Scalar, *, above: bool) -> pa.Scalar:
        """The key of a value that is a bound of a range.

        Args:
            value: the value.
            above: whether the bound of a zero lies above both zeros.
        """
        return self.ordered(KeyType(self.type).bounding(value, above=above))[0]


def keys_of(data_type: t.DataType) -> IndexKeys:
    """The conversion of a column's keys, which are its values, or the elements of its arrays."""
    return IndexKeys(data_type.element if isinstance(data_type, t.ArrayType) else data_type)


def large_binaries(data: Bytes, sizes: Longs) -> pa.Array:
    """Split concatenated bytes into large binaries of some sizes."""
    buffers = [None, pa.py_buffer(offsets_of(sizes)), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.Array.from_buffers(pa.large_binary(), len(sizes), buffers)


def _fixed(numbers: npt.NDArray[np.generic]) -> pa.Array:
    sizes = np.full(len(numbers), numbers.itemsize, np.int64)
    return large_binaries(np.frombuffer(numbers.tobytes(), np.uint8), sizes)


def _with_nanos(millis: Longs, nanos: Longs) -> pa.Array:
    """Encode timestamps: milliseconds, then the remaining nanoseconds as a varint."""
    nano_sizes = sizes_of(nanos)
    sizes = nano_sizes + 8
    starts = np.cumsum(sizes) - sizes
    out = np.zeros(int(sizes.sum()), np.uint8)
    out[(starts[:, None] + np.arange(8)).ravel()] = np.frombuffer(millis.astype("<i8").tobytes(), np.uint8)
    encode_into(out, starts + 8, nanos, nano_sizes)
    return large_binaries(out, sizes)


def _encode_decimals(decimals: pa.Array) -> pa.Array:
    big, spare = big_endian(decimals)
    return large_binaries(shortened(big, spare), WIDTH - spare)


def _decode_decimals(data: pa.Array, data_type: t.DecimalType) -> pa.Array:
    flat, starts = binary_buffers(data)
    sizes = np.diff(starts)
    if len(sizes) and not 1 <= sizes.min() <= sizes.max() <= WIDTH:
        raise ValueError("the key of a decimal is empty or too long")
    kind = pa.decimal128(data_type.precision, data_type.scale)
    return pa.Array.from_buffers(kind, len(sizes), [None, from_big_endian(flat, starts[:-1], sizes)])
