"""The tail of ORC files and the footers of their stripes, read and rewritten (spec: Apache ORC v1, "File Tail").

Arrow's reader and writer process the data. The tail is rewritten for what they do not support: timestamps are declared
as their stored integers for the reader, and the writer's types get their lengths and field ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from enum import IntEnum
from functools import cached_property

import pyarrow as pa

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.bytes.bounded import check_count, check_range, expansion_limit
from paimon_sql.format.bytes.codecs import decompress
from paimon_sql.storage.file_formats.orc.encodings import Message, decode, encode

_HEADER_SIZE = 3
_TAIL_GUESS = 16 * 1024
_FOOTER_LENGTH, _COMPRESSION, _BLOCK_SIZE, _METADATA_LENGTH = 1, 2, 3, 5
_DEFAULT_BLOCK_SIZE = 256 * 1024
_CONTENT_LENGTH, STRIPES, TYPES, _ROW_INDEX_STRIDE = 2, 3, 4, 8
KIND, SUBTYPES, NAMES, MAXIMUM_LENGTH, PRECISION, SCALE, ATTRIBUTES = 1, 2, 3, 4, 5, 6, 7
_STREAMS, _ENCODINGS, _TIME_ZONE = 1, 2, 3


class Kind(IntEnum):
    """Type kinds of an ORC file."""

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


_CODECS = {1: "deflate", 2: "snappy", 3: "lzo", 4: "lz4", 5: "zstandard"}
_MAX_BLOCK_BYTES = (1 << 23) - 1
"""The length of a block has 23 bits."""


@dataclass(frozen=True)
class Stripe:
    """Position of a stripe: offset, size of its parts, number of rows; in the order of the message's fields."""

    offset: int
    index_length: int
    data_length: int
    footer_length: int
    rows: int


class StreamKind(IntEnum):
    """The stream kinds that are used here."""

    SECONDARY = 5
    ROW_INDEX = 6
    BLOOM_FILTER = 7
    BLOOM_FILTER_UTF8 = 8


INDEXES = (StreamKind.ROW_INDEX, StreamKind.BLOOM_FILTER, StreamKind.BLOOM_FILTER_UTF8)


@dataclass(frozen=True)
class Stream:
    """A stream of a stripe: its kind, column, and byte range in the file."""

    kind: int
    column: int
    offset: int
    length: int


@dataclass(frozen=True)
class StripeFooter:
    """A stripe's footer: its streams in order, and its fields."""

    streams: Sequence[Stream]
    fields: Message

    @property
    def encodings(self) -> list[int]:
        """The encoding of each column."""
        return [encoding.number(1) for encoding in self.fields.messages(_ENCODINGS)]

    @property
    def time_zone(self) -> str:
        """The time zone of the writer."""
        zone = self.fields.text(_TIME_ZONE)
        return zone.decode() if zone else "UTC"

    def encoded_with(self, streams: Sequence[Stream]) -> bytes:
        """Encode the footer with other streams, without compression."""
        coded = [
            encode(Message().with_number(1, s.kind).with_number(2, s.column).with_number(3, s.length)) for s in streams
        ]
        return encode(self.fields.with_texts(_STREAMS, coded))


@dataclass(frozen=True)
class OrcTail:
    """A file's footer and postscript.

    Attributes:
        footer: the footer's fields.
        postscript: the postscript's fields.
        body_size: size of the file before the footer.
    """

    footer: Message
    postscript: Message
    body_size: int

    @property
    def block_size(self) -> int:
        """The maximum decompressed size of a block."""
        size = self.postscript.number(_BLOCK_SIZE, _DEFAULT_BLOCK_SIZE)
        check_count(size - 1, _MAX_BLOCK_BYTES - 1, "bytes of a block")
        return size

    @cached_property
    def types(self) -> list[Message]:
        """The types, parents before children; the index of a type is its column id."""
        return self.footer.messages(TYPES)

    @cached_property
    def stripes(self) -> list[Stripe]:
        """The stripes in order."""
        parts = range(1, len(fields(Stripe)) + 1)
        return [Stripe(*(message.number(part) for part in parts)) for message in self.footer.messages(STRIPES)]

    def kind(self, column: int) -> Kind:
        """Return the kind of a column."""
        return Kind(self.types[column].number(KIND))

    def children(self, column: int) -> list[int]:
        """Return the column ids of a column's children."""
        return self.types[column].numbers(SUBTYPES)

    def fields_of(self, column: int) -> dict[str, int]:
        """Return the column ids of a struct's fields by name."""
        names = (name.decode() for name in self.types[column].texts(NAMES))
        return dict(zip(names, self.children(column), strict=True))

    def expand(self, data: bytes) -> bytes:
        """Decompress a section of the file.

        Raises:
            ValueError: it is corrupt, or exceeds a size limit.
            UnsupportedError: the compression is not available.
        """
        codec = self.postscript.number(_COMPRESSION)
        if codec == 0:
            return data
        if codec not in _CODECS:
            raise UnsupportedError(f"ORC compression {codec} cannot be read.")
        out, at, remaining = [], 0, expansion_limit(len(data))
        while at < len(data):
            head = int.from_bytes(data[at : at + _HEADER_SIZE], "little")
            size, is_original = head >> 1, head & 1
            at += _HEADER_SIZE
            check_range(at, size, len(data), "a block")
            chunk = data[at : at + size]
            out.append(chunk if is_original else _decompress(_CODECS[codec], chunk, min(self.block_size, remaining)))
            remaining -= len(out[-1])
            at += size
        return b"".join(out)

    def pack(self, data: bytes) -> bytes:
        """Encode a section for `expand`, in uncompressed blocks."""
        if self.postscript.number(_COMPRESSION) == 0:
            return data
        pieces = [data[at : at + self.block_size] for at in range(0, len(data), self.block_size)]
        return b"".join((len(p) << 1 | 1).to_bytes(_HEADER_SIZE, "little") + p for p in pieces)

    def stripe_footer(self, source: pa.NativeFile, stripe: Stripe) -> StripeFooter:
        """Read a stripe's footer."""
        start = stripe.offset + stripe.index_length + stripe.data_length
        check_range(start, stripe.footer_length, self.body_size, "the footer of a stripe")
        message = decode(self.expand(source.read_at(stripe.footer_length, start)))
        streams, at = [], stripe.offset
        for stream in message.messages(_STREAMS):
            kind, column, length = (stream.number(part) for part in (1, 2, 3))
            check_range(at, length, self.body_size, "a stream")
            streams.append(Stream(kind, column, at, length))
            at += length
        return StripeFooter(streams, message)

    def metadata(self, source: pa.NativeFile) -> bytes:
        """Return the metadata section with the stripes' statistics, unchanged."""
        length = self.postscript.number(_METADATA_LENGTH)
        check_range(self.body_size - length, length, self.body_size, "the metadata")
        return bytes(source.read_at(length, self.body_size - length))

    def with_stripes(self, stripes: Sequence[Stripe], content_length: int) -> OrcTail:
        """Return the tail with other stripes, without row indexes."""
        coded = [encode(Message([(at, 0, n) for at, n in enumerate(astuple(stripe), 1)])) for stripe in stripes]
        footer = self.footer.with_texts(STRIPES, coded).with_number(_CONTENT_LENGTH, content_length)
        return OrcTail(footer.with_number(_ROW_INDEX_STRIDE, 0), self.postscript, self.body_size)

    def with_types(self, types: Sequence[Message]) -> OrcTail:
        """Return the tail with other types."""
        return OrcTail(self.footer.with_texts(TYPES, map(encode, types)), self.postscript, self.body_size)

    def encode(self) -> bytes:
        """Encode the footer and postscript, up to the file's end."""
        footer = self.pack(encode(self.footer))
        postscript = encode(self.postscript.with_number(_FOOTER_LENGTH, len(footer)))
        return footer + postscript + bytes([len(postscript)])


def parse_tail(end_of_file: bytes, size: int) -> OrcTail | int:
    """Parse the tail from a file's last bytes, or return how many bytes are needed.

    Raises:
        ValueError: the bytes are not a tail.
    """
    length = end_of_file[-1]
    postscript = decode(end_of_file[-1 - length : -1])
    if postscript.text(8000) != b"ORC":
        raise ValueError("it does not end with ORC's postscript")
    footer_length = postscript.number(_FOOTER_LENGTH)
    needed = 1 + length + footer_length
    check_count(needed, size, "bytes of the tail")
    if needed > len(end_of_file):
        return needed
    without_footer = OrcTail(Message(), postscript, size - needed)
    footer = decode(without_footer.expand(end_of_file[len(end_of_file) - needed : len(end_of_file) - 1 - length]))
    tail = OrcTail(footer, postscript, size - needed)
    _check_tree(tail)
    return tail


def _decompress(codec: str, data: bytes, limit: int) -> bytes:
    try:
        return decompress(codec, data, limit)
    except Exception as error:  # each codec has its own errors
        raise ValueError(f"a block cannot be decompressed: {error}") from error


def _check_tree(tail: OrcTail) -> None:
    """Check that each type has exactly one parent, which precedes it."""
    inside = [child for column in range(len(tail.types)) for child in tail.children(column)]
    if sorted(inside) != list(range(1, len(tail.types))):
        raise ValueError("its types are not a tree")
    if any(child <= column for column in range(len(tail.types)) for child in tail.children(column)):
        raise ValueError("a type is nested in a later one")


def read_tail(source: pa.NativeFile) -> OrcTail:
    """Read the tail of an open file; ValueError or IndexError if invalid."""
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
