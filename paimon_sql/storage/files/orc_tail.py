"""The metadata at the end of ORC files and of their stripes, read and rewritten (spec: Apache ORC v1, "File Tail").

Arrow's reader and writer stay in charge of the data. The tail is gone over where they cannot say what is needed:
timestamps are shown to the reader as the whole numbers that they are stored as, and the writer's types get their
lengths and field ids.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import cramjam
import pyarrow as pa

from paimon_sql.errors import UnsupportedError
from paimon_sql.storage.files.protobuf import Message, decode, encode

_HEADER_SIZE = 3
_TAIL_GUESS = 16 * 1024
_FOOTER_LENGTH, _COMPRESSION, _BLOCK_SIZE, _METADATA_LENGTH = 1, 2, 3, 5
_DEFAULT_BLOCK_SIZE = 256 * 1024
STRIPES, TYPES, CALENDAR = 3, 4, 11
_OFFSET, _INDEX_LENGTH, _DATA_LENGTH, _STRIPE_FOOTER_LENGTH, _ROWS = 1, 2, 3, 4, 5
KIND, SUBTYPES, NAMES, MAXIMUM_LENGTH, PRECISION, SCALE, ATTRIBUTES = 1, 2, 3, 4, 5, 6, 7
_STREAMS, _ENCODINGS, _TIME_ZONE = 1, 2, 3


class Kind(IntEnum):
    """The kinds of types of an ORC file."""

    BOOLEAN = 0
    BYTE = 1
    SHORT = 2
    INT = 3
    LONG = 4
    FLOAT = 5
    DOUBLE = 6
    STRING = 7
    BINARY = 8
    TIMESTAMP = 9
    LIST = 10
    MAP = 11
    STRUCT = 12
    UNION = 13
    DECIMAL = 14
    DATE = 15
    VARCHAR = 16
    CHAR = 17
    TIMESTAMP_INSTANT = 18


TIMESTAMPS = (Kind.TIMESTAMP, Kind.TIMESTAMP_INSTANT)


def _unpack_zlib(data: bytes, _: int) -> bytes:
    return zlib.decompress(data, -zlib.MAX_WBITS)


_UNPACK: dict[int, Callable[[bytes, int], bytes]] = {
    1: _unpack_zlib,
    2: lambda data, _: bytes(cramjam.snappy.decompress_raw(data)),
    4: lambda data, most: bytes(cramjam.lz4.decompress_block(data, output_len=most)),
    5: lambda data, _: bytes(cramjam.zstd.decompress(data)),
}


@dataclass(frozen=True)
class Stripe:
    """A stripe's place: where it begins, the bytes of its parts, its rows."""

    offset: int
    index_length: int
    data_length: int
    footer_length: int
    rows: int


@dataclass(frozen=True)
class StripeFooter:
    """What a stripe's footer says: each stream's kind, column, offset in the file and length; encodings; the zone."""

    streams: Sequence[tuple[int, int, int, int]]
    encodings: Sequence[int]
    time_zone: str


@dataclass(frozen=True)
class OrcTail:
    """A file's footer and postscript.

    Attributes:
        footer: the footer's fields.
        postscript: the postscript's fields.
        body_size: the bytes of the file before the footer.
    """

    footer: Message
    postscript: Message
    body_size: int

    @property
    def block_size(self) -> int:
        """The most bytes that a compressed block expands to."""
        return self.postscript.number(_BLOCK_SIZE, _DEFAULT_BLOCK_SIZE)

    @cached_property
    def types(self) -> list[Message]:
        """The types, parents before their children; a type's place in the list is its column id."""
        return self.footer.messages(TYPES)

    @cached_property
    def stripes(self) -> list[Stripe]:
        """The stripes in order."""
        parts = (_OFFSET, _INDEX_LENGTH, _DATA_LENGTH, _STRIPE_FOOTER_LENGTH, _ROWS)
        return [Stripe(*(message.number(part) for part in parts)) for message in self.footer.messages(STRIPES)]

    def kind(self, column: int) -> Kind:
        """The kind of a column."""
        return Kind(self.types[column].number(KIND))

    def children(self, column: int) -> list[int]:
        """The column ids directly inside a column."""
        return self.types[column].numbers(SUBTYPES)

    def expand(self, data: bytes) -> bytes:
        """A compressed stretch of the file."""
        codec = self.postscript.number(_COMPRESSION)
        if codec == 0:
            return data
        if codec not in _UNPACK:
            raise UnsupportedError(f"ORC compression {codec} cannot be read.")
        out, at = [], 0
        while at < len(data):
            head = int.from_bytes(data[at : at + _HEADER_SIZE], "little")
            size, is_original = head >> 1, head & 1
            at += _HEADER_SIZE
            chunk = data[at : at + size]
            out.append(chunk if is_original else _UNPACK[codec](chunk, self.block_size))
            at += size
        return b"".join(out)

    def stripe_footer(self, source: pa.NativeFile, stripe: Stripe) -> StripeFooter:
        """Read a stripe's footer."""
        start = stripe.offset + stripe.index_length + stripe.data_length
        message = decode(self.expand(source.read_at(stripe.footer_length, start)))
        streams, at = [], stripe.offset
        for stream in message.messages(_STREAMS):
            kind, column, length = (stream.number(part) for part in (1, 2, 3))
            streams.append((kind, column, at, length))
            at += length
        zone = message.text(_TIME_ZONE)
        encodings = [encoding.number(1) for encoding in message.messages(_ENCODINGS)]
        return StripeFooter(streams, encodings, zone.decode() if zone else "UTC")

    def with_types(self, types: Sequence[Message]) -> OrcTail:
        """The same tail with other types."""
        return OrcTail(self.footer.with_texts(TYPES, map(encode, types)), self.postscript, self.body_size)

    def encode(self) -> bytes:
        """The bytes from the footer to the file's end; the footer's blocks stand there as they are, uncompressed."""
        footer = encode(self.footer)
        if self.postscript.number(_COMPRESSION) != 0:
            pieces = [footer[at : at + self.block_size] for at in range(0, len(footer), self.block_size)]
            footer = b"".join((len(p) << 1 | 1).to_bytes(_HEADER_SIZE, "little") + p for p in pieces)
        postscript = encode(self.postscript.with_number(_FOOTER_LENGTH, len(footer)))
        return footer + postscript + bytes([len(postscript)])


def parse_tail(end_of_file: bytes, size: int) -> OrcTail | int:
    """The tail out of a file's last bytes, or how many bytes are needed if these are too few.

    Raises:
        ValueError: the bytes are no tail.
    """
    length = end_of_file[-1]
    postscript = decode(end_of_file[-1 - length : -1])
    if postscript.text(8000) != b"ORC":
        raise ValueError("it does not end with ORC's postscript")
    footer_length = postscript.number(_FOOTER_LENGTH)
    needed = 1 + length + footer_length
    if needed > len(end_of_file):
        return needed
    bare = OrcTail(Message(), postscript, size - needed)
    footer = decode(bare.expand(end_of_file[len(end_of_file) - needed : len(end_of_file) - 1 - length]))
    return OrcTail(footer, postscript, size - needed)


def read_tail(source: pa.NativeFile) -> OrcTail:
    """The tail of an open file; ValueError or IndexError if it has none."""
    size = source.size()
    if size < len(b"ORC") + 1:
        raise ValueError("it is too short")
    wanted = min(size, _TAIL_GUESS)
    found = parse_tail(source.read_at(wanted, size - wanted), size)
    if isinstance(found, int):
        found = parse_tail(source.read_at(found, size - found), size)
    if isinstance(found, int):
        raise ValueError("its footer is cut off")
    return found
