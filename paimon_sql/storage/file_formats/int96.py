"""INT96 timestamps of Parquet: 12 bytes, nanoseconds of the day and the Julian day, both little-endian.

The nanoseconds may be negative: Java counts times before 1970 back from the next day.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

INT96 = pa.binary(12)
"""The Arrow type of the stored bytes of an INT96."""

_NANOS_PER_DAY = 86_400_000_000_000
_NANOS_PER_SECOND = 1_000_000_000
_SECONDS_PER_DAY = 86_400
_JULIAN_DAY_OF_1970 = 2_440_588
_PARTS = np.dtype([("nanos", "<i8"), ("day", "<i4")])
_FIRST, _LAST = divmod(-(2**63), _NANOS_PER_SECOND), divmod(2**63 - 1, _NANOS_PER_SECOND)


def to_int96(array: pa.Array) -> pa.Array:
    """Encode timestamps as 12 bytes each."""
    nanos = pc.fill_null(array.cast(pa.timestamp("ns", array.type.tz)).view(pa.int64()), 0)
    counts = nanos.to_numpy(zero_copy_only=False)
    days = counts // _NANOS_PER_DAY
    parts = np.empty(len(counts), _PARTS)
    parts["nanos"] = counts - days * _NANOS_PER_DAY
    parts["day"] = days + _JULIAN_DAY_OF_1970
    return with_validity_of(array, parts, INT96)


def from_int96(array: pa.Array, target: pa.TimestampType) -> pa.Array:
    """Decode 12 bytes each to timestamps in microseconds or nanoseconds.

    Raises:
        pa.ArrowInvalid: a timestamp is out of range.
    """
    first = array.offset * _PARTS.itemsize
    parts = np.frombuffer(array.buffers()[1], _PARTS, len(array), first) if len(array) else np.empty(0, _PARTS)
    known = array.is_valid().to_numpy(zero_copy_only=False)
    nanos = np.where(known, parts["nanos"], 0)
    days = np.where(known, parts["day"].astype("<i8") - _JULIAN_DAY_OF_1970, 0)
    seconds = days * _SECONDS_PER_DAY + nanos // _NANOS_PER_SECOND
    fraction = nanos % _NANOS_PER_SECOND
    counts = instants(seconds, fraction, target)
    return with_validity_of(array, counts, target)


def instants(
    seconds: npt.NDArray[np.int64], nanos: npt.NDArray[np.int64], target: pa.TimestampType
) -> npt.NDArray[np.int64]:
    """Convert seconds since 1970 and nanoseconds of the second to the unit of ``target``.

    Raises:
        pa.ArrowInvalid: a timestamp is out of the unit's range.
    """
    if target.unit == "us":
        return np.ascontiguousarray(seconds * 1_000_000 + nanos // 1_000)
    early = (seconds < _FIRST[0]) | ((seconds == _FIRST[0]) & (nanos < _FIRST[1]))
    late = (seconds > _LAST[0]) | ((seconds == _LAST[0]) & (nanos > _LAST[1]))
    if bool((early | late).any()):
        raise pa.ArrowInvalid("a time is out of the range of nanoseconds, 1677-09-21 to 2262-04-11")
    return np.ascontiguousarray(seconds * _NANOS_PER_SECOND + nanos)


def with_validity_of(array: pa.Array, values: np.ndarray, target: pa.DataType) -> pa.Array:
    """Return an array of these stored values, with nulls where ``array`` is null."""
    validity = pc.and_(array.is_valid(), True).buffers()[1] if array.null_count else None
    return pa.Array.from_buffers(target, len(array), [validity, pa.py_buffer(values)])
