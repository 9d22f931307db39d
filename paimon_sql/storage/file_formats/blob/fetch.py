"""The bytes of blobs that lie elsewhere: in files of any file system, or behind addresses of the web.

Where a blob lies is told by a descriptor, and descriptors are bytes that anybody may have written: what they name is
opened only below places that the catalog allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from paimon_sql.errors import InvalidInputError, MissingFileError, NotAllowedError, PaimonError
from paimon_sql.format.options.table.row_tracking import (
    BLOB_AS_DESCRIPTOR,
    BLOB_COPY_BUFFER_SIZE,
    BLOB_DESCRIPTOR_PROPERTY,
    BLOB_DESCRIPTOR_SOURCE_TABLE,
    BLOB_WRITE_NULL_ON_FETCH_FAILURE,
    BLOB_WRITE_NULL_ON_MISSING_FILE,
)
from paimon_sql.format.rows.blob_reference import TO_THE_END, BlobDescriptor, decode_descriptor, is_descriptor, is_view
from paimon_sql.storage.file_io import FileIO, ResolvingFileIO
from paimon_sql.storage.file_io.errors import refusals
from paimon_sql.storage.file_io.external.http import WebAnswer
from paimon_sql.storage.file_io.external.locations import WEB_PORTS, shown
from paimon_sql.storage.file_io.external.policy import ExternalAccess
from paimon_sql.storage.table.table import Table

_LEAST_PIECE = 1024 * 1024
_LARGEST_VALUE = 2**31 - 1
"""The bytes of the largest blob that can be a value."""
_SETTINGS = "blob-descriptor."


class _Stream(Protocol):
    def seek(self, offset: int) -> object: ...

    def read(self, size: int) -> bytes: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class _Guard:
    """What descriptors of others may name: the catalog's places, those that are the table's own, and some files."""

    access: ExternalAccess
    own: tuple[str, ...]
    trusted: frozenset[str]


@dataclass
class BlobFetcher:
    """Reads what descriptors name.

    Attributes:
        file_io: reads files.
        guard: says what may be read; None where the table itself has made all descriptors.
        piece: how many bytes are read at a time.
        null_if_missing: whether what does not exist is null, and no error.
        null_if_failing: whether what cannot be read for another reason is.
    """

    file_io: FileIO
    guard: _Guard | None
    piece: int = _LEAST_PIECE
    null_if_missing: bool = False
    null_if_failing: bool = False
    _held: tuple[str, _Stream] | None = field(default=None, init=False, repr=False)

    @classmethod
    def asked(cls, table: Table) -> BlobFetcher | None:
        """What reads the blobs that are written to a table; None unless the write takes descriptors for them.

        Raises:
            NotAllowedError: the table's options lead to an endpoint that the catalog does not allow.
        """
        return cls.stored(table) if table.options.get(BLOB_AS_DESCRIPTOR) else None

    @classmethod
    def stored(cls, table: Table, trusted: Iterable[str] = ()) -> BlobFetcher:
        """What reads the blobs of descriptors that stand among a table's rows, or are written to it.

        Args:
            table: the table.
            trusted: files that may be read wherever they are, as tables of the same warehouse tell of them.

        Raises:
            NotAllowedError: the table's options lead to an endpoint that the catalog does not allow.
        """
        options, access = table.options, table.access
        settings = {names[0]: v for names, v in options.matching(BLOB_DESCRIPTOR_PROPERTY) if v is not None}
        if settings and not options.get(BLOB_DESCRIPTOR_SOURCE_TABLE):
            # In another store the warehouse's name is another place.
            access.check_settings(settings, _SETTINGS)
            file_io = ResolvingFileIO(settings)
            own: tuple[str, ...] = ()
        else:
            file_io = ResolvingFileIO(table.file_io.options)
            own = tuple(place for place in (access.warehouse, table.path) if place is not None)
        return cls(
            file_io,
            _Guard(access, own, frozenset(trusted)),
            max(_LEAST_PIECE, options.get(BLOB_COPY_BUFFER_SIZE)),
            options.get(BLOB_WRITE_NULL_ON_MISSING_FILE),
            options.get(BLOB_WRITE_NULL_ON_FETCH_FAILURE),
        )

    @classmethod
    def own(cls, table: Table) -> BlobFetcher:
        """What reads the table's own blobs, by descriptors that reading it has made: none may be missing."""
        return cls(table.file_io, None, max(_LEAST_PIECE, table.options.get(BLOB_COPY_BUFFER_SIZE)))

    @staticmethod
    def is_reference(data: memoryview) -> bool:
        """Whether bytes stand for a blob that lies elsewhere."""
        return is_descriptor(data) or is_view(data)

    def open(self, data: memoryview) -> Iterator[bytes] | None:
        """The bytes that a descriptor names, piece by piece; None where that is null.

        Raises:
            MissingFileError: there is no such file.
            NotAllowedError: the catalog does not allow what it names.
            PaimonError: it cannot be read.
        """
        if is_view(data):
            raise InvalidInputError(
                "A reference to a blob of another table cannot be stored in a column of blobs.",
                remedy="Name the column in 'blob-view-field', or read the other table with its references resolved.",
            )
        return self.pieces(decode_descriptor(bytes(data)))

    def pieces(self, descriptor: BlobDescriptor) -> Iterator[bytes] | None:
        """The same for a descriptor."""
        try:
            stream = self._opened(descriptor)
        except MissingFileError as error:
            if self.null_if_missing:
                return None
            name = shown(descriptor.uri)
            raise MissingFileError(
                f"Cannot read {name}, which a descriptor of a blob names: it does not exist.", path=name
            ) from error
        except (NotAllowedError, InvalidInputError):
            raise
        except PaimonError:
            if self.null_if_failing:
                return None
            raise
        return self._read(stream, descriptor)

    def content(self, descriptor: BlobDescriptor) -> bytes | None:
        """All bytes that a descriptor names.

        Raises:
            PaimonError: they are more than a value can hold.
        """
        pieces = self.pieces(descriptor)
        if pieces is None:
            return None
        found = bytearray()
        for piece in pieces:
            found += piece
            if len(found) > _LARGEST_VALUE:
                raise PaimonError(
                    f"{shown(descriptor.uri)} holds more than {_LARGEST_VALUE} bytes, which no value can hold.",
                    remedy="Read where it lies, with the option 'blob-as-descriptor' = 'true'.",
                )
        return bytes(found)

    def close(self) -> None:
        """Let go of the file that was read last."""
        if self._held is not None:
            self._held[1].close()
            self._held = None

    def _opened(self, descriptor: BlobDescriptor) -> _Stream:
        uri = descriptor.uri
        if descriptor.offset < 0 or descriptor.length < TO_THE_END:
            raise InvalidInputError(f"A descriptor of a blob in {shown(uri)} names bytes that no file has.")
        if self._held is not None and self._held[0] == uri:
            return self._held[1]  # blobs of one file often follow one another
        self.close()
        path = uri
        if self.guard is not None and uri not in self.guard.trusted:
            access = self.guard.access
            place = access.blob_place(uri, self.guard.own)
            if place.scheme in WEB_PORTS:
                return WebAnswer("GET", uri, seconds=access.blob_seconds, most_bytes=access.blob_bytes)
            if place.scheme == "file":
                path = _regular(place.local_path)
        with refusals("read", shown(uri)):
            self._held = (uri, self.file_io.open_input(path))
        return self._held[1]

    def _read(self, stream: _Stream, descriptor: BlobDescriptor) -> Iterator[bytes]:
        try:
            with refusals("read", shown(descriptor.uri)):
                stream.seek(descriptor.offset)
                left = descriptor.length
                while left:
                    data = stream.read(self.piece if left < 0 else min(self.piece, left))
                    if not data:
                        break
                    yield data
                    left -= len(data) if left > 0 else 0
        finally:
            if isinstance(stream, WebAnswer):
                stream.close()
        if left > 0:
            raise PaimonError(f"{shown(descriptor.uri)} ends {left} bytes before the blob that is said to be in it.")


def _regular(path: Path) -> str:
    """The path, unless a device or pipe stands there, which has no end."""
    if path.exists() and not path.is_file():
        raise PaimonError(f"Cannot read {path}, which a descriptor of a blob names: it is no file.")
    return str(path)
