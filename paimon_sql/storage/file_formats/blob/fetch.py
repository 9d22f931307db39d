"""Fetching of blobs by descriptor: from files of any file system, or from URLs.

A descriptor is untrusted data: its location is opened only if the catalog allows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from paimon_sql.errors import InvalidInputError, MissingFileError, NotAllowedError, PaimonError
from paimon_sql.format.options.table import row_tracking
from paimon_sql.format.rows.blob_reference import TO_THE_END, BlobDescriptor, decode_descriptor, is_descriptor, is_view
from paimon_sql.storage.file_io import FileIO, ResolvingFileIO
from paimon_sql.storage.file_io.base import translate_errors
from paimon_sql.storage.file_io.external.http import HttpResponse
from paimon_sql.storage.file_io.external.locations import WEB_PORTS, ExternalAccess, redacted
from paimon_sql.storage.table.table import Table

_MIN_CHUNK = 1024 * 1024
_MAX_VALUE_BYTES = 2**31 - 1
"""Maximum size of a blob that fits into a value."""
_SETTINGS = "blob-descriptor."


class _Stream(Protocol):
    def seek(self, offset: int) -> object: ...

    def read(self, size: int) -> bytes: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class _Guard:
    """Allowed locations of descriptors: those of the catalog, of the table itself, and single files."""

    access: ExternalAccess
    own: tuple[str, ...]
    trusted: frozenset[str]


@dataclass
class BlobFetcher:
    """Reads the blobs that descriptors refer to.

    Attributes:
        file_io: reads files.
        guard: the allowed locations; None if the table itself created all descriptors.
        piece: bytes per read.
        null_if_missing: whether a missing file is null instead of an error.
        null_if_failing: whether any other error is null.
    """

    file_io: FileIO
    guard: _Guard | None
    piece: int = _MIN_CHUNK
    null_if_missing: bool = False
    null_if_failing: bool = False
    _last_file: tuple[str, _Stream] | None = field(default=None, init=False, repr=False)

    @classmethod
    def for_write(cls, table: Table) -> BlobFetcher | None:
        """Return the fetcher for blobs written to a table; None unless the write accepts descriptors.

        Raises:
            NotAllowedError: the table's options contain an endpoint that the catalog does not allow.
        """
        return cls.stored(table) if table.options.get(row_tracking.BLOB_AS_DESCRIPTOR) else None

    @classmethod
    def stored(cls, table: Table, trusted: Iterable[str] = ()) -> BlobFetcher:
        """Return the fetcher for descriptors that a table stores, or that are written to it.

        Args:
            table: the table.
            trusted: files that may be read wherever they are, referred to by tables of the same warehouse.

        Raises:
            NotAllowedError: the table's options contain an endpoint that the catalog does not allow.
        """
        options, access = table.options, table.access
        settings = {
            names[0]: v for names, v in options.matching(row_tracking.BLOB_DESCRIPTOR_PROPERTY) if v is not None
        }
        if settings and not options.get(row_tracking.BLOB_DESCRIPTOR_SOURCE_TABLE):
            # In another store the warehouse's path is another location.
            access.check_settings(settings, _SETTINGS)
            file_io = ResolvingFileIO(settings)
            own: tuple[str, ...] = ()
        else:
            file_io = ResolvingFileIO(table.file_io.options)
            own = tuple(place for place in (access.warehouse, table.path) if place is not None)
        return cls(
            file_io,
            _Guard(access, own, frozenset(trusted)),
            max(_MIN_CHUNK, options.get(row_tracking.BLOB_COPY_BUFFER_SIZE)),
            options.get(row_tracking.BLOB_WRITE_NULL_ON_MISSING_FILE),
            options.get(row_tracking.BLOB_WRITE_NULL_ON_FETCH_FAILURE),
        )

    @classmethod
    def own(cls, table: Table) -> BlobFetcher:
        """Return the fetcher for the table's own blobs, by descriptors of its own read: none may be missing."""
        return cls(table.file_io, None, max(_MIN_CHUNK, table.options.get(row_tracking.BLOB_COPY_BUFFER_SIZE)))

    @staticmethod
    def is_reference(data: memoryview) -> bool:
        """Whether bytes are a reference to a blob elsewhere."""
        return is_descriptor(data) or is_view(data)

    def open(self, data: memoryview) -> Iterator[bytes] | None:
        """Return the bytes that a descriptor refers to, in chunks; None for null.

        Raises:
            MissingFileError: the file is missing.
            NotAllowedError: the catalog does not allow the location.
            PaimonError: it cannot be read.
        """
        if is_view(data):
            raise InvalidInputError(
                "A reference to a blob of another table cannot be stored in a blob column.",
                remedy="Name the column in 'blob-view-field', or read the other table with its references resolved.",
            )
        return self.pieces(decode_descriptor(bytes(data)))

    def pieces(self, descriptor: BlobDescriptor) -> Iterator[bytes] | None:
        """Like `open`, for a decoded descriptor."""
        try:
            stream = self._open(descriptor)
        except MissingFileError as error:
            if self.null_if_missing:
                return None
            name = redacted(descriptor.uri)
            raise MissingFileError(
                f"Cannot read {name}, which a blob descriptor names: it does not exist.", path=name
            ) from error
        except (NotAllowedError, InvalidInputError):
            raise
        except PaimonError:
            if self.null_if_failing:
                return None
            raise
        return self._read(stream, descriptor)

    def content(self, descriptor: BlobDescriptor) -> bytes | None:
        """Return all bytes that a descriptor refers to; None for null.

        Raises:
            PaimonError: they exceed the size of a value.
        """
        pieces = self.pieces(descriptor)
        if pieces is None:
            return None
        data = bytearray()
        for piece in pieces:
            data += piece
            if len(data) > _MAX_VALUE_BYTES:
                raise PaimonError(
                    f"{redacted(descriptor.uri)} has more than {_MAX_VALUE_BYTES} bytes, the maximum size of a value.",
                    remedy="Read its descriptor with the option 'blob-as-descriptor' = 'true'.",
                )
        return bytes(data)

    def close(self) -> None:
        """Close the last file."""
        if self._last_file is not None:
            self._last_file[1].close()
            self._last_file = None

    def _open(self, descriptor: BlobDescriptor) -> _Stream:
        uri = descriptor.uri
        if descriptor.offset < 0 or descriptor.length < TO_THE_END:
            raise InvalidInputError(f"A blob descriptor has an invalid byte range in {redacted(uri)}.")
        if self._last_file is not None and self._last_file[0] == uri:
            return self._last_file[1]  # consecutive blobs are often in the same file
        self.close()
        path = uri
        if self.guard is not None and uri not in self.guard.trusted:
            access = self.guard.access
            place = access.blob_place(uri, self.guard.own)
            if place.scheme in WEB_PORTS:
                return HttpResponse("GET", uri, seconds=access.blob_seconds, most_bytes=access.blob_bytes)
            if place.scheme == "file":
                path = _regular(place.local_path)
        with translate_errors("read", redacted(uri)):
            self._last_file = (uri, self.file_io.open_input(path))
        return self._last_file[1]

    def _read(self, stream: _Stream, descriptor: BlobDescriptor) -> Iterator[bytes]:
        try:
            with translate_errors("read", redacted(descriptor.uri)):
                stream.seek(descriptor.offset)
                rest = descriptor.length
                while rest:
                    data = stream.read(self.piece if rest < 0 else min(self.piece, rest))
                    if not data:
                        break
                    yield data
                    rest -= len(data) if rest > 0 else 0
        finally:
            if isinstance(stream, HttpResponse):
                stream.close()
        if rest > 0:
            raise PaimonError(
                f"{redacted(descriptor.uri)} ends {rest} bytes before the end of the blob in its descriptor."
            )


def _regular(path: Path) -> str:
    """Return the path, unless it is a device or pipe, which has no end."""
    if path.exists() and not path.is_file():
        raise PaimonError(f"Cannot read {path}, which a blob descriptor names: it is not a file.")
    return str(path)
