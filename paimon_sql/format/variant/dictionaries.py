"""The keys of objects: each variant has a dictionary of them, and most variants of a column share a few."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.bytes.memory import Longs, Mask
from paimon_sql.format.variant.byte_ranges import (
    binary_of,
    check_inside,
    ordinals,
    put_unsigned,
    stretches_of,
    unsigned,
    width_of,
)

_VERSION = 1


@dataclass(frozen=True)
class Dictionaries:
    """Different dictionaries, and all keys that are in any of them.

    Attributes:
        first: the place of each dictionary's first key in ``numbers``.
        sizes: how many keys each has.
        numbers: the keys of all dictionaries, one after the other, each as its number in ``names``.
        names: all different keys.
        encoded: the dictionaries as they are stored.
    """

    first: Longs
    sizes: Longs
    numbers: Longs
    names: pa.Array
    encoded: pa.Array

    @staticmethod
    def of(metadata: pa.Array, present: Mask) -> tuple[Dictionaries, Longs]:
        """The different dictionaries in a column of them where variants are, and which of them each row has."""
        together = pc.if_else(pa.array(present), metadata, pa.scalar(None, metadata.type)).dictionary_encode()
        rows = together.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        return _parse(together.dictionary), rows

    @cached_property
    def ranks(self) -> Longs:
        """The place of each name in the order of an object's keys, which is that of Java's strings."""
        in_java = [name.decode(errors="replace").encode("utf-16-be") for name in self._names]
        order = sorted(range(len(in_java)), key=in_java.__getitem__)
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        return ranks

    @cached_property
    def _names(self) -> list[bytes]:
        return self.names.to_pylist()  # type: ignore[no-any-return]

    @cached_property
    def _places(self) -> dict[bytes, int]:
        return {name: i for i, name in enumerate(self._names)}

    def names_at(self, numbers: Longs) -> list[str]:
        """Keys by their numbers."""
        return [self._names[i].decode() for i in numbers]

    def numbers_of(self, names: Sequence[str]) -> Longs:
        """The numbers of some keys; -1 for those that no dictionary has."""
        return np.array([self._places.get(name.encode(), -1) for name in names], np.int64)

    def key_of(self, dictionary: Longs, ids: Longs) -> Longs:
        """The numbers of the keys with these ids in these dictionaries."""
        if (ids >= self.sizes[dictionary]).any():
            raise ValueError("a variant has a key that is not in its dictionary")
        keys: Longs = self.numbers[self.first[dictionary] + ids]
        return keys

    def ids_of(self, name: str) -> Longs:
        """The id that a key has in each dictionary; -1 where it is in none."""
        ids = np.full(len(self.sizes), -1, np.int64)
        places = np.flatnonzero(self.numbers == self.numbers_of([name])[0])
        holders = np.searchsorted(self.first + self.sizes, places, side="right")
        ids[holders] = places - self.first[holders]
        return ids

    def with_keys(self, lacking: Iterable[tuple[int, str]]) -> Dictionaries:
        """The dictionaries, some of which have more keys; those that they had have the ids that they had.

        Args:
            lacking: which dictionary lacks which key.
        """
        more: dict[int, list[bytes]] = {}
        for number, name in sorted(lacking):
            more.setdefault(number, []).append(name.encode())
        encoded = self.encoded.to_pylist()
        for number, names in more.items():
            first, size = self.first[number], self.sizes[number]
            encoded[number] = _encode([*(self._names[i] for i in self.numbers[first : first + size]), *names])
        return _parse(pa.array(encoded, pa.binary()))


def _parse(encoded: pa.Array) -> Dictionaries:
    data, at, _ = stretches_of(encoded)
    heads = data[at]
    if (heads & 0xF != _VERSION).any():
        raise ValueError("a variant has another version than 1")
    width = (heads >> 6).astype(np.int64) + 1
    sizes = unsigned(data, at + 1, width)
    offsets_at = at + 1 + width
    check_inside(data, offsets_at, sizes)
    texts_at = offsets_at + (sizes + 1) * width
    owners, which = ordinals(sizes)
    place, own_width = offsets_at[owners] + which * width[owners], width[owners]
    starts = unsigned(data, place, own_width)
    lengths = unsigned(data, place + own_width, own_width) - starts
    keys = binary_of(data, texts_at[owners] + starts, lengths).dictionary_encode()
    numbers = keys.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return Dictionaries(np.cumsum(sizes) - sizes, sizes, numbers, keys.dictionary, encoded)


def _encode(keys: Sequence[bytes]) -> bytes:
    ends = np.cumsum([0, *(len(k) for k in keys)])
    width = int(width_of(np.array([max(int(ends[-1]), len(keys))], np.int64))[0])
    numbers = np.array([len(keys), *ends], np.int64)
    out = np.zeros(len(numbers) * width, np.uint8)
    put_unsigned(out, np.arange(len(numbers), dtype=np.int64) * width, numbers, np.full(len(numbers), width))
    return bytes([_VERSION | (width - 1) << 6]) + out.tobytes() + b"".join(keys)
