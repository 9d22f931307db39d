"""Bitmaps of 64-bit numbers in the format of Java's ``Roaring64Bitmap``, which is not the portable Roaring format.

The upper 48 bits of the numbers are the keys of a radix tree; each leaf refers to a container of the lower 16 bits. The
bytes are: a flag for not empty, the tree from its root, then the containers in the order of their creation. Numbers are
little-endian, keys of leaves big-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from paimon_sql.format.bytes.bounded import check_count, check_range
from paimon_sql.format.bytes.memory import Longs, range_index

Lows = npt.NDArray[np.uint16]
_RUN, _BITMAP, _ARRAY = range(3)
_NODE_4, _NODE_16, _NODE_48, _NODE_256, _LEAF = range(5)
_WIDTHS = ((4, _NODE_4, 4), (16, _NODE_16, 16), (48, _NODE_48, 256), (256, _NODE_256, 32))
"""Max children of a kind of node, the kind, and the size of its body."""
_BODIES = {kind: size for _, kind, size in _WIDTHS}
_NOT_TRIMMED = 0xFE
_KEY_BYTES = 6
_MAX_NUMBERS = 1 << 27
"""Max numbers of one bitmap: runs encode many in a few bytes, and each needs two bytes here."""
_BITMAP_BYTES = 8192
_MAX_IN_ARRAY = 4096


@dataclass
class Container:
    """The lower 16 bits of the numbers of one key, ascending, and whether they are stored as runs."""

    lows: Lows
    as_runs: bool

    def choose_form(self) -> None:
        """Choose between runs and the other forms by size; runs remain runs while these are not smaller."""
        runs = 2 + 4 * len(_run_starts(self.lows))
        if self.as_runs:
            self.as_runs = runs <= min(_BITMAP_BYTES, 2 * len(self.lows) + 2)
        else:
            self.as_runs = runs < min(_BITMAP_BYTES, 2 * len(self.lows))


@dataclass
class Roaring64:
    """A bitmap of 64-bit numbers.

    Attributes:
        slots: the containers in the order of their creation; None for a removed one.
        slot_of_key: the slot of each container by its upper 48 bits.
        capacity: the allocated slots, which are written, too.
    """

    slots: list[Container | None] = field(default_factory=list)
    slot_of_key: dict[int, int] = field(default_factory=dict)
    capacity: int = 0

    @classmethod
    def read(cls, data: bytes) -> Roaring64:
        """Decode a bitmap.

        Raises:
            ValueError: the bytes are not such a bitmap.
        """
        if not data or data[0] > 1:
            raise ValueError("the bytes are not a Roaring64Bitmap")
        if data[0] == 0:
            return cls()
        try:
            return _read(data)
        except (struct.error, ValueError, IndexError) as error:
            raise ValueError(f"the bytes of a Roaring64Bitmap are cut off or corrupt: {error}") from error

    def add(self, key: int, lows: Lows, as_runs: bool = False) -> None:
        """Add a container of ascending numbers for a new key, the upper 48 bits."""
        self.slot_of_key[key] = len(self.slots)
        self.slots.append(Container(lows, as_runs))
        if len(self.slots) > self.capacity:
            self.capacity = max(len(self.slots), self.capacity + (self.capacity >> 1))

    def unite(self, other: Roaring64) -> None:
        """Add the numbers of another bitmap."""
        for key in sorted(other.slot_of_key):
            theirs = other.slots[other.slot_of_key[key]]
            if theirs is None:
                continue
            slot = self.slot_of_key.get(key)
            mine = None if slot is None else self.slots[slot]
            if mine is None:
                self.add(key, theirs.lows, theirs.as_runs)
            else:
                mine.lows = np.union1d(mine.lows, theirs.lows)
                mine.as_runs |= theirs.as_runs
                mine.choose_form()
        for container in self.slots:
            if container is not None and not container.as_runs:
                container.choose_form()

    def write(self) -> bytes:
        """Encode the bitmap."""
        if not self.slot_of_key:
            return b"\0"
        keys = sorted(self.slot_of_key)
        tree = b"".join(self._tree([k.to_bytes(6, "big") for k in keys], 0))
        head = b"\1" + struct.pack("<q", len(keys)) + tree + struct.pack("<iBi", 1, _NOT_TRIMMED, self.capacity)
        slots = [*self.slots, *([None] * (self.capacity - len(self.slots)))]
        containers = b"".join(b"\0" if c is None else _container_bytes(c) for c in slots)
        return head + containers + struct.pack("<qii", len(keys), 0, len(self.slots) - 1)

    def numbers(self) -> Iterator[int]:
        """Yield the numbers in ascending order, as unsigned ones."""
        for key in sorted(self.slot_of_key):
            container = self.slots[self.slot_of_key[key]]
            if container is not None:
                yield from ((key << 16) + int(low) for low in container.lows)

    def _tree(self, keys: list[bytes], depth: int) -> Iterator[bytes]:
        """Encode the node of keys that are equal up to a depth, and its descendants."""
        if len(keys) == 1:
            slot = self.slot_of_key[int.from_bytes(keys[0], "big")]
            yield struct.pack("<BHB", _LEAF, 0, 0) + keys[0] + struct.pack("<q", slot)
            return
        branch = depth
        while keys[0][branch] == keys[-1][branch]:
            branch += 1
        children: dict[int, list[bytes]] = {}
        for key in keys:
            children.setdefault(key[branch], []).append(key)
        kind = next(kind for width, kind, _ in _WIDTHS if len(children) <= width)
        yield struct.pack("<BHB", kind, len(children), branch - depth) + keys[0][depth:branch]
        yield _body(kind, self._by_age(children) if kind == _NODE_48 else list(children))
        for below in children.values():
            yield from self._tree(below, branch + 1)

    def _by_age(self, children: dict[int, list[bytes]]) -> list[int]:
        """The children's bytes in Java's order: a node that grows beyond 16 appends new ones."""
        ages = {
            byte: min(self.slot_of_key[int.from_bytes(k, "big")] for k in below) for byte, below in children.items()
        }
        oldest = sorted(ages, key=ages.__getitem__)
        return [*sorted(oldest[:16]), *oldest[16:]]


def _run_starts(lows: Lows) -> Longs:
    starts: Longs = np.flatnonzero(np.diff(lows.astype(np.int32), prepend=-2) != 1)
    return starts


def _body(kind: int, keys: list[int]) -> bytes:
    if kind in (_NODE_4, _NODE_16):
        # Integers whose first byte is the highest one.
        packed = bytes(keys).ljust(_BODIES[kind], b"\0")
        return _reversed_words(packed, 4 if kind == _NODE_4 else 8)
    if kind == _NODE_48:
        indexes = bytearray(b"\xff" * 256)
        for index, key in enumerate(keys):
            indexes[key] = index
        return _reversed_words(bytes(indexes), 8)
    mask = np.zeros(256, dtype=np.uint8)
    mask[keys] = 1
    return np.packbits(mask, bitorder="little").tobytes()


def _reversed_words(data: bytes, width: int) -> bytes:
    return b"".join(data[i : i + width][::-1] for i in range(0, len(data), width))


def _container_bytes(container: Container) -> bytes:
    lows = container.lows
    if container.as_runs:
        starts = _run_starts(lows)
        lengths = np.diff(starts, append=len(lows)) - 1
        body = struct.pack("<H", len(starts)) + np.column_stack([lows[starts], lengths]).astype("<u2").tobytes()
        return struct.pack("<BBi", 1, _RUN, len(lows)) + body
    if len(lows) > _MAX_IN_ARRAY:
        bits = np.zeros(1 << 16, dtype=np.uint8)
        bits[lows] = 1
        return struct.pack("<BBi", 1, _BITMAP, len(lows)) + np.packbits(bits, bitorder="little").tobytes()
    return struct.pack("<BBi", 1, _ARRAY, len(lows)) + lows.astype("<u2").tobytes()


class _Cursor:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, layout: str) -> tuple[int, ...]:
        found = struct.unpack_from(layout, self.data, self.at)
        self.at += struct.calcsize(layout)
        return found

    def bytes(self, count: int) -> bytes:
        check_range(self.at, count, len(self.data), "a Roaring64Bitmap")
        found = self.data[self.at : self.at + count]
        self.at += count
        return found


def _read(data: bytes) -> Roaring64:
    cursor = _Cursor(data)
    cursor.take("<Bq")
    bitmap = Roaring64()
    _read_tree(cursor, bitmap.slot_of_key, 0)
    (arrays,) = cursor.take("<i")
    numbers = 0
    for _ in range(arrays):
        _, size = cursor.take("<Bi")
        check_count(size, len(data) - cursor.at, "containers")
        bitmap.capacity += size
        for _ in range(size):
            container = _read_container(cursor)
            bitmap.slots.append(container)
            numbers += 0 if container is None else len(container.lows)
            check_count(numbers, _MAX_NUMBERS, "numbers")
    _, _, last = cursor.take("<qii")
    check_count(last + 1, len(bitmap.slots), "containers")
    del bitmap.slots[last + 1 :]
    for slot in bitmap.slot_of_key.values():
        check_count(slot, last, "containers")
    return bitmap


def _read_tree(cursor: _Cursor, places: dict[int, int], depth: int) -> None:
    check_count(depth, _KEY_BYTES, "levels of a tree")
    kind, count, prefix = cursor.take("<BHB")
    if kind == _LEAF:
        key = int.from_bytes(cursor.bytes(_KEY_BYTES), "big")
        (places[key],) = cursor.take("<q")
        return
    if kind not in _BODIES:
        raise IndexError(f"a node of the unknown type {kind}")
    cursor.bytes(prefix + _BODIES[kind])
    for _ in range(count):
        _read_tree(cursor, places, depth + 1)


def _read_container(cursor: _Cursor) -> Container | None:
    (present,) = cursor.take("<B")
    if not present:
        return None
    kind, count = cursor.take("<Bi")
    check_count(count, 1 << 16, "numbers of a container")
    if kind == _RUN:
        (runs,) = cursor.take("<H")
        pairs = np.frombuffer(cursor.bytes(4 * runs), dtype="<u2").reshape(-1, 2).astype(np.int64)
        lengths = pairs[:, 1] + 1
        if runs and (lengths.sum() > 1 << 16 or (pairs.sum(axis=1) >= 1 << 16).any()):
            raise ValueError("the runs of a container hold more than 65536 numbers")
        return Container(range_index(pairs[:, 0], lengths).astype(np.uint16), True)
    if kind == _BITMAP:
        bits = np.unpackbits(np.frombuffer(cursor.bytes(_BITMAP_BYTES), dtype=np.uint8), bitorder="little")
        return Container(np.flatnonzero(bits).astype(np.uint16), False)
    if kind != _ARRAY:
        raise IndexError(f"a container of the unknown type {kind}")
    return Container(np.frombuffer(cursor.bytes(2 * count), dtype="<u2").astype(np.uint16), False)
