"""Lists as lists of a fixed size; Arrow's own cast ends the process where all of them are null."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def as_fixed_lists(lists: pa.Array, kind: pa.FixedSizeListType) -> pa.Array:
    """Lists in a type of a fixed size.

    Args:
        lists: lists of any sizes.
        kind: the type.

    Raises:
        pa.ArrowInvalid: one has another size or holds a null, or an element does not fit its type.
    """
    size, is_null = kind.list_size, pc.is_null(lists).to_numpy(zero_copy_only=False)
    sizes = pc.list_value_length(lists).drop_null()
    if not pc.all(pc.equal(sizes, size), min_count=0).as_py():
        raise pa.ArrowInvalid(f"a vector has {size} elements")
    held = pc.list_flatten(lists)
    if held.null_count:
        raise pa.ArrowInvalid("a vector has no nulls among its elements")
    # Of a null there are as many elements as of any other, whatever they are.
    places = np.repeat(np.where(is_null, 0, np.cumsum(~is_null) - 1) * size, size) + np.tile(
        np.arange(size), len(lists)
    )
    elements = held.cast(kind.value_type)
    if len(elements):
        filled = elements.take(pa.array(places, pa.int64()))
    else:
        filled = pa.array([0] * (size * len(lists)), pa.int64()).cast(kind.value_type)
    return pa.FixedSizeListArray.from_arrays(filled, type=kind, mask=pa.array(is_null))
