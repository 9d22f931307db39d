"""Conversion of arrays to an Arrow type: same values, other layout, unit or names.

Files name list elements differently, store timestamps in other units and decimals in another precision; a reader's
result has exactly the requested type. A nested array is rebuilt around its converted children; its validity and offsets
are shared, not copied.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.schema.arrow_types import is_bytes

Leaf: TypeAlias = Callable[[pa.Array, pa.DataType], pa.Array]

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def conform(array: pa.Array, target: pa.DataType, leaf: Leaf | None = None) -> pa.Array:
    """Convert an array to ``target``; a struct's missing children become null, others are dropped.

    Args:
        array: any array.
        target: the target type.
        leaf: converts an array without children; `conform_leaf` if not given.

    Raises:
        pa.ArrowInvalid: a value does not fit.
        pa.ArrowNotImplementedError: the types are not compatible.
    """
    if array.type.equals(target):
        return array
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), target)
    if pa.types.is_dictionary(array.type):
        return conform(array.dictionary_decode(), target, leaf)
    if pa.types.is_struct(target):
        return _conform_struct(array, target, leaf)
    if pa.types.is_map(target):
        return _conform_map(array, target, leaf)
    if pa.types.is_list(target) or pa.types.is_fixed_size_list(target):
        return _conform_list(array, target, leaf)
    return (leaf or conform_leaf)(array, target)


def conform_leaf(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Cast an array without children; a cast that loses more than fractions of a second is refused."""
    if pa.types.is_timestamp(target) and pa.types.is_timestamp(array.type):
        return _timestamp(array, target)
    if pa.types.is_string(target) and not is_bytes(array.type):
        raise pa.ArrowNotImplementedError(f"{array.type} is not a string")
    return array.cast(target)


def _timestamp(array: pa.Array, target: pa.TimestampType) -> pa.Array:
    """Convert a timestamp to another unit or zone; a coarser unit takes the floor, also before 1970."""
    source = array.type
    if source.tz != target.tz:
        # Both count from 1970 in UTC: only the label changes.
        array = array.view(pa.timestamp(source.unit, target.tz))
    if _PER_SECOND[source.unit] <= _PER_SECOND[target.unit]:
        return array.cast(target)
    step = _PER_SECOND[source.unit] // _PER_SECOND[target.unit]
    counts = array.view(pa.int64())
    floored = np.floor_divide(pc.fill_null(counts, 0).to_numpy(zero_copy_only=False), step)
    return with_validity_of(array, pa.array(floored)).view(target)


def only(mask: pa.Array, values: pa.Array) -> pa.Array:
    """Return the values where a mask is true, otherwise null."""
    return pc.if_else(mask, values, pa.scalar(None, values.type))


def with_validity_of(array: pa.Array, values: pa.Array) -> pa.Array:
    """Return ``values`` with nulls where ``array`` is null."""
    return only(array.is_valid(), values) if array.null_count else values


def _conform_struct(array: pa.Array, target: pa.StructType, leaf: Leaf | None) -> pa.Array:
    if not pa.types.is_struct(array.type):
        raise pa.ArrowNotImplementedError(f"{array.type} is not a struct")
    existing = {field.name: array.field(i) for i, field in enumerate(array.type)}
    nothing = pa.nulls(len(array))
    return rebuild_struct(array, target, [conform(existing.get(f.name, nothing), f.type, leaf) for f in target])


def map_leaves(array: pa.Array, change: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Apply a function to every part without children; it must preserve the part's type and length."""
    kind = array.type
    if pa.types.is_struct(kind) or pa.types.is_map(kind) or pa.types.is_list(kind):
        return _map_children(array, partial(map_leaves, change=change))
    return change(array)


def _map_children(array: pa.Array, change: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Apply a function to the children of a struct, map or list; other arrays have none."""
    kind = array.type
    if pa.types.is_struct(kind):
        return rebuild_struct(array, kind, [change(array.field(i)) for i in range(kind.num_fields)])
    if pa.types.is_map(kind):
        return rebuild_map(array, kind, change(array.keys), change(array.items))
    return rebuild_list(array, kind, change(array.values)) if pa.types.is_list(kind) else array


def push_nulls_down(array: pa.Array) -> pa.Array:
    """Set every child of a struct to null where the struct is null, at any depth."""
    if pa.types.is_struct(array.type):
        return _map_children(array, lambda child: push_nulls_down(with_validity_of(array, child)))
    return _map_children(array, push_nulls_down)


def fill_below_nulls(array: pa.Array) -> pa.Array:
    """Replace nulls in required children of a struct by some value where the struct itself is null.

    The values are invisible, but a writer counts the nulls of a required child wherever they are.
    """
    kind = array.type
    if not pa.types.is_struct(kind):
        return array
    children = []
    for i in range(kind.num_fields):
        child = array.field(i)
        if array.null_count and child.null_count and not kind.field(i).nullable:
            hidden = pc.and_(array.is_null(), child.is_null())
            child = pc.if_else(hidden, _some_value(child.type), child)
        children.append(fill_below_nulls(child))
    return rebuild_struct(array, kind, children)


def _some_value(kind: pa.DataType) -> pa.Scalar:
    empty = b"" if pa.types.is_binary(kind) else "" if pa.types.is_string(kind) else 0
    return pa.scalar(empty, pa.int8() if empty == 0 else kind).cast(kind)


def rebuild_struct(array: pa.Array, target: pa.StructType, children: list[pa.Array]) -> pa.Array:
    """Return a struct of new children that is null where ``array`` is."""
    if not children:
        return array.cast(target)
    return pa.StructArray.from_arrays(children, fields=list(target), mask=array.is_null() if array.null_count else None)


def _conform_list(array: pa.Array, target: pa.DataType, leaf: Leaf | None) -> pa.Array:
    if not is_listlike(array.type):
        raise pa.ArrowNotImplementedError(f"{array.type} is not a list")
    if pa.types.is_list(target) and pa.types.is_list(array.type):
        return rebuild_list(array, target, conform(array.values, target.value_type, leaf))
    same_shape = pa.types.is_fixed_size_list(target) and pa.types.is_fixed_size_list(array.type)
    if same_shape and target.list_size == array.type.list_size:
        values = conform(array.values, target.value_type, leaf)
        return pa.Array.from_buffers(
            target, len(array), array.buffers()[:1], array.null_count, array.offset, children=[values]
        )
    size = target.list_size if pa.types.is_fixed_size_list(target) else -1
    return conform(array.cast(pa.list_(array.type.value_field, size)), target, leaf)


def is_listlike(found: pa.DataType) -> bool:
    """Whether the type is a list of any layout."""
    return bool(pa.types.is_list(found) or pa.types.is_large_list(found) or pa.types.is_fixed_size_list(found))


def rebuild_list(array: pa.Array, target: pa.DataType, values: pa.Array) -> pa.Array:
    """Return a list or map of new values with the offsets and nulls of ``array``."""
    return pa.Array.from_buffers(
        target, len(array), array.buffers()[:2], array.null_count, array.offset, children=[values]
    )


def _conform_map(array: pa.Array, target: pa.MapType, leaf: Leaf | None) -> pa.Array:
    if pa.types.is_map(array.type):
        keys, items = array.keys, array.items
    elif pa.types.is_list(array.type) and pa.types.is_struct(array.type.value_type):
        keys, items = array.values.field(0), array.values.field(1)
    else:
        raise pa.ArrowNotImplementedError(f"{array.type} is not a map")
    return rebuild_map(array, target, conform(keys, target.key_type, leaf), conform(items, target.item_type, leaf))


def rebuild_map(array: pa.Array, target: pa.MapType, keys: pa.Array, items: pa.Array) -> pa.Array:
    """Return a map of new keys and values with the offsets and nulls of ``array``."""
    entries = pa.StructArray.from_arrays([keys, items], fields=[target.key_field, target.item_field])
    return rebuild_list(array, target, entries)


def as_fixed_lists(lists: pa.Array, kind: pa.FixedSizeListType) -> pa.Array:
    """Convert lists to a fixed-size list type.

    Args:
        lists: lists of any sizes.
        kind: the target type.

    Raises:
        pa.ArrowInvalid: a list has another size or contains a null, or an element does not fit its type.
    """
    size, is_null = kind.list_size, pc.is_null(lists).to_numpy(zero_copy_only=False)
    sizes = pc.list_value_length(lists).drop_null()
    if not pc.all(pc.equal(sizes, size), min_count=0).as_py():
        raise pa.ArrowInvalid(f"a vector has {size} elements")
    elements = pc.list_flatten(lists)
    if elements.null_count:
        raise pa.ArrowInvalid("a vector cannot contain nulls")
    # A null list occupies as many elements as any other, with any values. Arrow's own cast crashed the
    # process on null lists that came from Spark (pyarrow 26.0).
    positions = np.repeat(np.where(is_null, 0, np.cumsum(~is_null) - 1) * size, size) + np.tile(
        np.arange(size), len(lists)
    )
    cast_elements = elements.cast(kind.value_type)
    if len(cast_elements):
        filled = cast_elements.take(pa.array(positions, pa.int64()))
    else:
        filled = pa.array([0] * (size * len(lists)), pa.int64()).cast(kind.value_type)
    return pa.FixedSizeListArray.from_arrays(filled, type=kind, mask=pa.array(is_null))
