"""Dictionaries of object keys: each variant has one, and the variants of a column share few different ones."""

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
    """Distinct dictionaries, and all keys of them.

    Attributes:
        first: the index of each dictionary's first key in ``numbers``.
        sizes: the number of keys of each dictionary.
        numbers: the keys of all dictionaries, concatenated, as indexes of ``names``.
        names: all distinct keys.
        encoded: the encoded dictionaries.
    """

    first: Longs
    sizes: Longs
    numbers: Longs
    names: pa.Array
    encoded: pa.Array

    @staticmethod
    def of(metadata: pa.Array, present: Mask) -> tuple[Dictionaries, Longs]:
        """The distinct dictionaries of a column's non-null variants, and the index of each row's dictionary."""
        together = pc.if_else(pa.array(present), metadata, pa.scalar(None, metadata.type)).dictionary_encode()
        rows = together.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        return _parse(together.dictionary), rows

    @cached_property
    def ranks(self) -> Longs:
        """The rank of each name in the order of object keys, which is that of Java's strings."""
        in_java = [name.decode(errors="replace").encode("utf-16-be") for name in self._names]
        order = sorted(range(len(in_java)), key=in_java.__getitem__)
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        return ranks

    @cached_property
    def _names(self) -> list[bytes]:
        return self.names.to_pylist()  # type: ignore[no-any-return]

    @cached_property
    def _number_by_name(self) -> dict[bytes, int]:
        return {name: i for i, name in enumerate(self._names)}

    def names_at(self, numbers: Longs) -> list[str]:
        """The names of keys, given by number."""
        return [self._names[i].decode() for i in numbers]

    def numbers_of(self, names: Sequence[str]) -> Longs:
        """The numbers of keys; -1 for those in no dictionary."""
        return np.array([self._number_by_name.get(name.encode(), -1) for name in names], np.int64)

    def key_of(self, dictionary: Longs, ids: Longs) -> Longs:
        """The numbers of keys, given by dictionary and id.

        Raises:
            ValueError: an id is not in its dictionary.
        """
        if (ids >= self.sizes[dictionary]).any():
            raise ValueError("a variant has a key that is not in its dictionary")
        keys: Longs = self.numbers[self.first[dictionary] + ids]
        return keys

    def ids_of(self, name: str) -> Longs:
        """The id of a key in each dictionary; -1 if it is missing."""
        ids = np.full(len(self.sizes), -1, np.int64)
        indexes = np.flatnonzero(self.numbers == self.numbers_of([name])[0])
        holders = np.searchsorted(self.first + self.sizes, indexes, side="right")
        ids[holders] = indexes - self.first[holders]
        return ids

    def with_keys(self, lacking: Iterable[tuple[int, str]]) -> Dictionaries:
        """The dictionaries with keys added; existing keys keep their ids.

        Args:
            lacking: pairs of dictionary and missing key.
        """
        added: dict[int, list[bytes]] = {}
        for number, name in sorted(lacking):
            added.setdefault(number, []).append(name.encode())
        encoded = self.encoded.to_pylist()
        for number, names in added.items():
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
    strings_at = offsets_at + (sizes + 1) * width
    owners, which = ordinals(sizes)
    offset_at, own_width = offsets_at[owners] + which * width[owners], width[owners]
    starts = unsigned(data, offset_at, own_width)
    lengths = unsigned(data, offset_at + own_width, own_width) - starts
    keys = binary_of(data, strings_at[owners] + starts, lengths).dictionary_encode()
    numbers = keys.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return Dictionaries(np.cumsum(sizes) - sizes, sizes, numbers, keys.dictionary, encoded)


def _encode(keys: Sequence[bytes]) -> bytes:
    ends = np.cumsum([0, *(len(k) for k in keys)])
    width = int(width_of(np.array([max(int(ends[-1]), len(keys))], np.int64))[0])
    numbers = np.array([len(keys), *ends], np.int64)
    out = np.zeros(len(numbers) * width, np.uint8)
    put_unsigned(out, np.arange(len(numbers), dtype=np.int64) * width, numbers, np.full(len(numbers), width))
    return bytes([_VERSION | (width - 1) << 6]) + out.tobytes() + b"".join(keys)
