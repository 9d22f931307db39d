"""Aggregate functions that unite serialized Roaring bitmaps and Apache DataSketches sketches, in order."""

from __future__ import annotations

import struct
from abc import abstractmethod
from collections.abc import Sequence

import datasketches
import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.bytes.roaring64 import Roaring64
from paimon_sql.format.schema.types import VarBinaryType
from paimon_sql.storage.merge.aggregates.base import AggregateFunction, Steps

_DECODE_ERRORS = (ValueError, RuntimeError, IndexError)
"""The errors of the libraries for invalid bytes."""
_EMPTY_SIZE, _SINGLE, _RATE = 8, 0x20, struct.pack("<f", 1.0)


class _Union(AggregateFunction):
    """Base of functions over bytes in a library's format."""

    types = (VarBinaryType,)
    supported_types = "BYTES"

    @abstractmethod
    def unite(self, values: Sequence[bytes]) -> bytes:
        """Return the union of at least two values."""

    def reduce(self, steps: Steps) -> pa.Array:
        steps = steps.only_valid().lates_in_front()
        made: list[bytes | None] = [None] * steps.segments.count
        ends = np.append(steps.segments.starts[1:], len(steps.segments))
        for group, start, end in zip(steps.segments.present, steps.segments.starts, ends, strict=True):
            values = steps.values[start:end].to_pylist()
            try:
                made[group] = values[0] if len(values) == 1 else self.unite(values)
            except _DECODE_ERRORS as error:
                raise InvalidInputError(
                    f"Column '{self.column.name}' holds bytes that the aggregate function '{self.name}' cannot read:"
                    f" {error}",
                    remedy="Write serialized bitmaps or sketches of the same type.",
                ) from error
        return pa.array(made, steps.values.type)


class RoaringBitmap32(_Union):
    """The union of bitmaps of 32-bit integers in the portable Roaring format (Paimon: `FieldRoaringBitmap32Agg`)."""

    name = "rbm32"

    def unite(self, values: Sequence[bytes]) -> bytes:
        united = BitMap.union(*(BitMap.deserialize(value) for value in values))
        united.run_optimize()
        return united.serialize()


class RoaringBitmap64(_Union):
    """The union of bitmaps of 64-bit integers in the format of Java's ``Roaring64Bitmap``."""

    name = "rbm64"

    def unite(self, values: Sequence[bytes]) -> bytes:
        united = Roaring64.read(values[0])
        for value in values[1:]:
            united.unite(Roaring64.read(value))
        return united.write()


class HllSketch(_Union):
    """The union of HyperLogLog sketches, as a compact HLL_4 sketch (Paimon: `FieldHllSketchAgg`)."""

    name = "hll_sketch"

    def unite(self, values: Sequence[bytes]) -> bytes:
        united = values[0]
        for value in values[1:]:
            older, newer = datasketches.hll_sketch.deserialize(united), datasketches.hll_sketch.deserialize(value)
            union = datasketches.hll_union(newer.lg_config_k)
            union.update(newer)
            union.update(older)
            united = union.get_result(datasketches.HLL_4).serialize_compact()
        return united


class ThetaSketch(_Union):
    """The union of Theta sketches, as an ordered compact sketch (Paimon: `FieldThetaSketchAgg`)."""

    name = "theta_sketch"

    def unite(self, values: Sequence[bytes]) -> bytes:
        union = datasketches.theta_union()
        for value in values:
            union.update(datasketches.compact_theta_sketch.deserialize(value))
        return _as_java_writes(union.get_result().serialize())


def _as_java_writes(sketch: bytes) -> bytes:
    """Set the bytes of a Theta sketch that only Java sets.

    These are the sampling rate 1.0, a flag for a single value, and no seed hash if the sketch is empty.
    """
    if len(sketch) == _EMPTY_SIZE:
        return sketch[:6] + b"\0\0"
    if sketch[0] == 1:
        return sketch[:5] + bytes([sketch[5] | _SINGLE]) + sketch[6:]
    return sketch[:12] + _RATE + sketch[16:]
