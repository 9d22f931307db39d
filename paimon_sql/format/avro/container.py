"""Avro container files: header, compressed blocks and records (Avro specification 1.11).

fastavro encodes and decodes records. The container is read here, so that a block is decoded with one call, and under a
schema that may differ from the file's in names and logical types, which do not change the encoding.
"""

from __future__ import annotations

import bz2
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import BinaryIO, TypeAlias, TypedDict, cast

import cramjam
from fastavro import parse_schema, schemaless_reader, schemaless_writer

from paimon_sql.errors import CorruptFileError, PaimonError, UnsupportedError
from paimon_sql.format.avro.schemas import AvroRecord, min_record_size
from paimon_sql.format.bytes.bounded import MAX_EXPANDED_BYTES, MAX_JSON_BYTES, Read, check_count, load_json, within
from paimon_sql.format.bytes.codecs import CRC_BYTES, decompress, zstd
from paimon_sql.format.bytes.varints import decode_signed, encode_signed

MAGIC = b"Obj\x01"
_SYNC_SIZE = 16
_MAX_LONG_BYTES = 10
_BLOCK_RECORDS = 128
_MAX_HEADER_BYTES = 2 * MAX_JSON_BYTES
_BATCH_RECORDS, _LARGE_BLOCK = 8192, 4 << 20
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


_Parsed: TypeAlias = object
"""A schema in fastavro's parsed form."""


class _Header(TypedDict):
    meta: dict[str, bytes]
    sync: bytes


def _deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def _snappy(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data)) + zlib.crc32(data).to_bytes(CRC_BYTES, "big")


CODECS: dict[str, Callable[[bytes], bytes]] = {
    "null": bytes,
    "deflate": _deflate,
    "snappy": _snappy,
    "zstandard": zstd.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}
"""Compression by codec."""
_WITH_CHECKSUMS = {"snappy": "snappy-crc"}
"""Names of codecs in `decompress` that differ."""
_ALIASES = {"zstd": "zstandard", "none": "null", "uncompressed": "null", "": "null"}


@dataclass(frozen=True)
class AvroContainer:
    """An open container, whose header has been read.

    ``schema_text`` is the writer's schema as JSON; ``path`` is for error messages. ``read`` reads a range of the file,
    which has ``size`` bytes, and returns less at its end. ``min_record_size`` is the min bytes of a record.
    """

    schema_text: str
    codec: str
    read: Read
    size: int
    start: int
    sync: bytes
    path: str
    min_record_size: int = 1

    def blocks(self, max_block: int = MAX_EXPANDED_BYTES, max_total: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Yield the blocks: the number of records and their uncompressed bytes.

        Args:
            max_block: max uncompressed bytes of a block.
            max_total: max uncompressed bytes of all blocks; None for no limit.

        Raises:
            CorruptFileError: a block is cut off, cannot be decompressed, exceeds a limit, has fewer bytes than its
                records need, or is followed by a wrong marker.
        """
        at = self.start
        while at < self.size:
            head = self.read(at, 2 * _MAX_LONG_BYTES)
            try:
                count, used = decode_signed(head, 0)
                size, used = decode_signed(head, used)
            except ValueError as error:
                raise CorruptFileError("the file ends inside a block header", path=self.path) from error
            at += used
            end = at + size
            if count < 0 or size < 0 or end + _SYNC_SIZE > self.size:
                raise CorruptFileError("the file ends inside a block", path=self.path)
            data = self.read(at, size + _SYNC_SIZE)
            if data[size:] != self.sync:
                raise CorruptFileError(f"no sync marker after the block at byte {at}", path=self.path)
            limit = max_block if max_total is None else min(max_block, max_total)
            try:
                block = decompress(_WITH_CHECKSUMS.get(self.codec, self.codec), data[:size], limit)
                check_count(count, len(block) // self.min_record_size, "records of a block")
            except CorruptFileError:
                raise
            except Exception as error:  # each codec has other errors
                raise CorruptFileError(f"a block cannot be decompressed: {error}", path=self.path) from error
            if max_total is not None:
                max_total -= len(block)
            yield count, block
            at = end + _SYNC_SIZE

    def records(self, schema_text: str | None = None) -> list[AvroRecord]:
        """Decode all records; arguments and errors are those of `batches`."""
        return [record for batch in self.batches(self.blocks(), schema_text) for record in batch]

    def batches(
        self, blocks: Iterable[tuple[int, bytes]], schema_text: str | None = None
    ) -> Iterator[list[AvroRecord]]:
        """Decode blocks, some thousand records at a time: as objects they need many times their bytes.

        Args:
            blocks: blocks as returned by `blocks`.
            schema_text: a schema of the same encoding to use instead of the file's.

        Raises:
            CorruptFileError: the records of a block do not match the schema.
        """
        batch: list[AvroRecord] = []
        try:
            for count, block in blocks:
                for records in _decode(count, block, schema_text or self.schema_text):
                    batch += records
                    if len(batch) >= _BATCH_RECORDS:
                        yield batch
                        batch = []
        except (PaimonError, MemoryError):
            raise
        except Exception as error:  # on invalid bytes the decoder raises errors of any type
            raise CorruptFileError(f"the records cannot be decoded: {error!r}", path=self.path) from error
        if batch:
            yield batch


def open_container(data: bytes, path: str) -> AvroContainer:
    """Read the header of a container in memory.

    Raises: as in `container_at`.
    """
    return container_at(lambda at, size: data[at : at + size], len(data), path)


def container_at(read: Read, size: int, path: str) -> AvroContainer:
    """Read the header of a container.

    Args:
        read: reads a range of the file, and returns less at its end.
        size: the bytes of the file.
        path: the file's path, for error messages.

    Raises:
        CorruptFileError: the bytes are not an Avro container, or have no schema.
        UnsupportedError: the codec is not one of the Avro specification.
    """
    stream = _Stream(within(read, min(size, _MAX_HEADER_BYTES)))
    try:
        if read(0, len(MAGIC)) != MAGIC:
            raise ValueError("it does not begin with Avro's magic bytes")
        header: _Header = schemaless_reader(cast(BinaryIO, stream), _HEADER, None)
        schema_text = header["meta"]["avro.schema"].decode()
        minimum = max(1, min_record_size(schema_text))
    except MemoryError:
        raise
    except Exception as error:  # on invalid bytes the decoder raises errors of any type
        raise CorruptFileError(f"not an Avro file: {error}", path=path) from error
    codec = header["meta"].get("avro.codec", b"null").decode(errors="replace")
    if codec not in CODECS:
        raise UnsupportedError(f"{path}: unsupported Avro codec '{codec}'; supported are {', '.join(CODECS)}.")
    return AvroContainer(schema_text, codec, within(read, size), size, stream.at, header["sync"], path, minimum)


class _Stream:
    """The part of a stream's interface that a decoder needs."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self.at = 0

    def read(self, size: int) -> bytes:
        """The next bytes; fewer at the end."""
        data = self._read(self.at, size)
        self.at += len(data)
        return data


def write_container(
    schema_text: str,
    records: Iterable[Mapping[str, object]],
    compression: str,
    *,
    coded_by: str | None = None,
    metadata: Mapping[str, str] | None = None,
) -> bytes:
    """Encode a container file.

    Args:
        schema_text: the schema as JSON, written to the header unchanged.
        records: the records, in fastavro's form.
        compression: a codec of Avro, or ``zstd`` or ``none``; case-insensitive.
        coded_by: a schema of the same encoding with which to encode the records, as in `AvroContainer.records`.
        metadata: additional entries of the header.

    Raises:
        UnsupportedError: there is no such codec.
    """
    encoder = AvroEncoder(schema_text, codec_name(compression), coded_by=coded_by, metadata=metadata)
    rows = list(records)
    blocks = (encoder.block(rows[first : first + _BLOCK_RECORDS]) for first in range(0, len(rows), _BLOCK_RECORDS))
    return b"".join([encoder.header, *blocks])


class AvroEncoder:
    """Encodes a container piece by piece: its ``header``, then blocks of records.

    Args:
        schema_text: the schema as JSON, written to the header unchanged.
        codec: the codec's name in Avro.
        coded_by: a schema of the same encoding with which to encode the records.
        metadata: additional entries of the header.
        zstd_level: the level for zstandard.
    """

    def __init__(
        self,
        schema_text: str,
        codec: str,
        *,
        coded_by: str | None = None,
        metadata: Mapping[str, str] | None = None,
        zstd_level: int = 1,
    ) -> None:
        self._schema = _array_schema(coded_by or schema_text)
        self._compress = partial(zstd.compress, level=zstd_level) if codec == "zstandard" else CODECS[codec]
        self._sync = os.urandom(_SYNC_SIZE)
        texts = {"avro.schema": schema_text, "avro.codec": codec, **(metadata or {})}
        header = {"magic": MAGIC, "meta": {key: text.encode() for key, text in texts.items()}, "sync": self._sync}
        self.header = _encoded(_HEADER, header)

    def block(self, rows: Sequence[Mapping[str, object]]) -> bytes:
        """Encode records as a block."""
        count = encode_signed(len(rows))
        # Encoded as one array: strip its length before the records and the zero after them.
        block = self._compress(_encoded(self._schema, rows)[len(count) : -1])
        return count + encode_signed(len(block)) + block + self._sync


def codec_name(compression: str) -> str:
    """Avro's name of the compression of an option.

    Raises:
        UnsupportedError: Avro has no such codec.
    """
    name = _ALIASES.get(compression.lower(), compression.lower())
    if name not in CODECS:
        known = ", ".join([*CODECS, "zstd"])
        raise UnsupportedError(f"Unsupported Avro codec '{compression}'.", remedy=f"Choose one of {known}.")
    return name


def _encoded(schema: _Parsed, value: object) -> bytes:
    out = io.BytesIO()
    schemaless_writer(out, schema, value)
    return out.getvalue()


def _decode(count: int, block: bytes, schema_text: str) -> Iterator[list[AvroRecord]]:
    """Decode the records of a block: all at once, or in batches if the block is large."""
    if not count:
        return
    large = len(block) > _LARGE_BLOCK
    # Records that are wrapped as an array's items are decoded with a single call.
    source = io.BytesIO(block if large else encode_signed(count) + block + b"\0")
    if large:
        schema = _record_schema(schema_text)
        for first in range(0, count, _BATCH_RECORDS):
            batch = range(first, min(count, first + _BATCH_RECORDS))
            yield [schemaless_reader(source, schema, None) for _ in batch]
    else:
        decoded: list[AvroRecord] = schemaless_reader(source, _array_schema(schema_text), None)
        check_count(len(decoded), count, "records of a block")
        yield decoded
    if source.read(1):
        raise ValueError(f"a block of {count} records holds more bytes than these take")


@lru_cache(maxsize=64)
def _record_schema(schema_text: str) -> _Parsed:
    return parse_schema(load_json(schema_text))


@lru_cache(maxsize=64)
def _array_schema(schema_text: str) -> _Parsed:
    return parse_schema({"type": "array", "items": load_json(schema_text)})
