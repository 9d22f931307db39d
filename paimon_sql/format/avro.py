"""Avro container files: header, compressed blocks and their records, as bytes in and out (Avro specification 1.11).

fastavro codes the records. The container is read here, so that a whole block is decoded at once and under a schema
that may differ from the file's in anything that the bytes do not show, such as names and logical types.
"""

from __future__ import annotations

import bz2
import io
import json
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, BinaryIO, NamedTuple, cast

import cramjam
from fastavro import parse_schema, schemaless_reader, schemaless_writer

from paimon_sql.errors import CorruptFileError, UnsupportedError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAGIC = b"Obj\x01"
_SYNC_SIZE = 16
_CRC_SIZE = 4
_LONGEST_NUMBER = 10
_BLOCK_RECORDS = 128
_HEADER = parse_schema(
    {
        "type": "record",
        "name": "org.apache.avro.file.Header",
        "fields": [
            {"name": "magic", "type": {"type": "fixed", "name": "magic", "size": len(MAGIC)}},
            {"name": "meta", "type": {"type": "map", "values": "bytes"}},
            {"name": "sync", "type": {"type": "fixed", "name": "sync", "size": _SYNC_SIZE}},
        ],
    }
)


class _Codec(NamedTuple):
    compress: Callable[[bytes], bytes]
    decompress: Callable[[bytes], bytes]


def _deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def _snappy(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data)) + zlib.crc32(data).to_bytes(_CRC_SIZE, "big")


def _unsnappy(data: bytes) -> bytes:
    plain = bytes(cramjam.snappy.decompress_raw(data[:-_CRC_SIZE]))
    if zlib.crc32(plain).to_bytes(_CRC_SIZE, "big") != data[-_CRC_SIZE:]:
        raise ValueError("the checksum of a block does not match")
    return plain


_CODECS = {
    "null": _Codec(bytes, bytes),
    "deflate": _Codec(_deflate, lambda data: zlib.decompress(data, -zlib.MAX_WBITS)),
    "snappy": _Codec(_snappy, _unsnappy),
    "zstandard": _Codec(lambda data: zstd.compress(data, 1), zstd.decompress),
    "bzip2": _Codec(bz2.compress, bz2.decompress),
    "xz": _Codec(lzma.compress, lzma.decompress),
}
_ALIASES = {"zstd": "zstandard", "none": "null", "uncompressed": "null", "": "null"}


@dataclass(frozen=True)
class AvroContainer:
    """An open container: its schema and codec are read, its blocks are not.

    ``schema_text`` is the writer's schema as JSON text; ``path`` names the file in errors. ``read`` gives some bytes
    from a place on, less at the end of the file, which is ``size`` bytes long.
    """

    schema_text: str
    codec: str
    read: Callable[[int, int], bytes]
    size: int
    start: int
    sync: bytes
    path: str

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """The blocks in order: the number of records and their bytes, uncompressed.

        Raises:
            CorruptFileError: a block is cut off, cannot be decompressed or is followed by a wrong marker.
        """
        at = self.start
        while at < self.size:
            head = self.read(at, 2 * _LONGEST_NUMBER)
            count, used = self._long(head, 0)
            size, used = self._long(head, used)
            at += used
            end = at + size
            if count < 0 or size < 0 or end + _SYNC_SIZE > self.size:
                raise CorruptFileError("the file ends inside a block", path=self.path)
            data = self.read(at, size + _SYNC_SIZE)
            if data[size:] != self.sync:
                raise CorruptFileError(f"no sync marker behind the block at byte {at}", path=self.path)
            try:
                block = _CODECS[self.codec].decompress(data[:size])
            except Exception as error:  # each codec has errors of its own
                raise CorruptFileError(f"a block cannot be decompressed: {error}", path=self.path) from error
            yield count, block
            at = end + _SYNC_SIZE

    def records(self, schema_text: str | None = None) -> list[Any]:
        """All records, decoded.

        Args:
            schema_text: a schema whose bytes are those of the file's own schema, to be used in its place.

        Raises:
            CorruptFileError: as for `blocks`, or a block does not hold the records that the schema describes.
        """
        decoded: list[Any] = []
        try:
            schema = _array_schema(schema_text or self.schema_text)
            for count, block in self.blocks():
                # As an array's items the records of a block are decoded in a single call.
                items = io.BytesIO(_zigzag(count) + block + b"\0")
                decoded += schemaless_reader(items, schema, None) if count else []
                if count and items.read(1):
                    raise ValueError(f"a block of {count} records holds more bytes than these take")
        except CorruptFileError:
            raise
        except Exception as error:  # given garbage, the decoder raises whatever it stumbles over
            raise CorruptFileError(f"the records cannot be decoded: {error!r}", path=self.path) from error
        return decoded

    def _long(self, data: bytes, at: int) -> tuple[int, int]:
        value = shift = 0
        while at < len(data) and shift < 64:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1), at
            shift += 7
        raise CorruptFileError("the file ends inside a block's head", path=self.path)


def open_container(data: bytes, path: str) -> AvroContainer:
    """Read the header of a container that is in memory.

    Raises: as `container_at`.
    """
    return container_at(lambda at, size: data[at : at + size], len(data), path)


def container_at(read: Callable[[int, int], bytes], size: int, path: str) -> AvroContainer:
    """Read the header of a container.

    Args:
        read: gives some bytes from a place on, less at the end of the file.
        size: the bytes of the file.
        path: names the file in errors.

    Raises:
        CorruptFileError: the bytes are no Avro container, or one without a schema.
        UnsupportedError: the codec is none of those of the Avro specification.
    """
    stream = _FromPlace(read)
    try:
        if read(0, len(MAGIC)) != MAGIC:
            raise ValueError("it does not begin with Avro's magic bytes")
        header: Any = schemaless_reader(cast(BinaryIO, stream), _HEADER, None)
        schema_text = header["meta"]["avro.schema"].decode()
        json.loads(schema_text)
    except Exception as error:  # given garbage, the decoder raises whatever it stumbles over
        raise CorruptFileError(f"no Avro file: {error}", path=path) from error
    codec = header["meta"].get("avro.codec", b"null").decode(errors="replace")
    if codec not in _CODECS:
        raise UnsupportedError(f"{path}: Avro codec '{codec}' is none of {', '.join(_CODECS)}.")
    return AvroContainer(schema_text, codec, read, size, stream.at, header["sync"], path)


class _FromPlace:
    """What a decoder needs of a stream: bytes, one stretch after the other."""

    def __init__(self, read: Callable[[int, int], bytes]) -> None:
        self._read = read
        self.at = 0

    def read(self, size: int) -> bytes:
        """The next bytes; fewer at the end."""
        data = self._read(self.at, size)
        self.at += len(data)
        return data


def write_container(
    schema_text: str, records: Iterable[Any], compression: str, *, coded_by: str | None = None
) -> bytes:
    """A whole container file.

    Args:
        schema_text: the schema as JSON text, written into the header as it is.
        records: the records, as fastavro takes them.
        compression: a codec of Avro, or ``zstd`` or ``none``, in any case.
        coded_by: a schema of the same bytes under which to encode the records, as for `AvroContainer.records`.

    Raises:
        UnsupportedError: there is no such codec.
    """
    codec = codec_name(compression)
    sync = os.urandom(_SYNC_SIZE)
    out = io.BytesIO()
    meta = {"avro.schema": schema_text.encode(), "avro.codec": codec.encode()}
    schemaless_writer(out, _HEADER, {"magic": MAGIC, "meta": meta, "sync": sync})
    rows = list(records)
    schema = _array_schema(coded_by or schema_text)
    for first in range(0, len(rows), _BLOCK_RECORDS):
        chunk = rows[first : first + _BLOCK_RECORDS]
        block = _CODECS[codec].compress(_encode(schema, chunk))
        out.write(_zigzag(len(chunk)) + _zigzag(len(block)) + block + sync)
    return out.getvalue()


def codec_name(compression: str) -> str:
    """Avro's name of a compression that an option names.

    Raises:
        UnsupportedError: Avro has no such codec.
    """
    name = _ALIASES.get(compression.lower(), compression.lower())
    if name not in _CODECS:
        known = ", ".join([*_CODECS, "zstd"])
        raise UnsupportedError(f"Avro has no codec '{compression}'.", remedy=f"Choose one of {known}.")
    return name


def _encode(schema: Any, rows: Sequence[Any]) -> bytes:
    array = io.BytesIO()
    schemaless_writer(array, schema, rows)
    return array.getvalue()[len(_zigzag(len(rows))) : -1]


@lru_cache(maxsize=64)
def _array_schema(schema_text: str) -> Any:
    return parse_schema({"type": "array", "items": json.loads(schema_text)})


def _zigzag(value: int) -> bytes:
    rest, coded = value << 1, bytearray()
    while rest > 0x7F:
        coded.append(rest & 0x7F | 0x80)
        rest >>= 7
    coded.append(rest)
    return bytes(coded)
