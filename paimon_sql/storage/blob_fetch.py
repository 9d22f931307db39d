"""The bytes of blobs that lie elsewhere: in files of any file system, or behind addresses of the web."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from paimon_sql.errors import InvalidInputError, MissingFileError, PaimonError
from paimon_sql.format.blob_reference import BlobDescriptor, decode_descriptor, is_descriptor, is_view
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.row_tracking import (
    BLOB_COPY_BUFFER_SIZE,
    BLOB_DESCRIPTOR_PROPERTY,
    BLOB_DESCRIPTOR_SOURCE_TABLE,
    BLOB_WRITE_NULL_ON_FETCH_FAILURE,
    BLOB_WRITE_NULL_ON_MISSING_FILE,
)
from paimon_sql.storage.file_io import FileIO, ResolvingFileIO
from paimon_sql.storage.file_io.refusals import refusals

_LEAST_PIECE = 1024 * 1024
_SECONDS = 60.0
_NOT_FOUND = 404


class _Stream(Protocol):
    def seek(self, offset: int) -> object: ...

    def read(self, size: int) -> bytes: ...

    def close(self) -> None: ...


@dataclass
class BlobFetcher:
    """Reads what descriptors name.

    Attributes:
        file_io: reads files.
        piece: how many bytes are read at a time.
        null_if_missing: whether what does not exist is null, and no error.
        null_if_failing: whether what cannot be read for another reason is.
    """

    file_io: FileIO
    piece: int = _LEAST_PIECE
    null_if_missing: bool = False
    null_if_failing: bool = False
    _held: tuple[str, _Stream] | None = field(default=None, init=False, repr=False)

    @classmethod
    def of(cls, file_io: FileIO, options: TableOptions) -> BlobFetcher:
        """What reads the blobs that are written to a table.

        Args:
            file_io: what reads the table's files.
            options: the table's.
        """
        return cls(
            _file_io(file_io, options),
            max(_LEAST_PIECE, options.get(BLOB_COPY_BUFFER_SIZE)),
            options.get(BLOB_WRITE_NULL_ON_MISSING_FILE),
            options.get(BLOB_WRITE_NULL_ON_FETCH_FAILURE),
        )

    @staticmethod
    def is_reference(data: memoryview) -> bool:
        """Whether bytes stand for a blob that lies elsewhere."""
        return is_descriptor(data) or is_view(data)

    def open(self, data: memoryview) -> Iterator[bytes] | None:
        """The bytes that a descriptor names, piece by piece; None where that is null.

        Raises:
            MissingFileError: there is no such file.
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
            shown = _shown(descriptor.uri)
            raise MissingFileError(
                f"Cannot read {shown}, which a descriptor of a blob names: it does not exist.", path=shown
            ) from error
        except PaimonError:
            if self.null_if_failing:
                return None
            raise
        return self._read(stream, descriptor)

    def content(self, descriptor: BlobDescriptor) -> bytes | None:
        """All bytes that a descriptor names."""
        pieces = self.pieces(descriptor)
        return None if pieces is None else b"".join(pieces)

    def close(self) -> None:
        """Let go of the file that was read last."""
        if self._held is not None:
            self._held[1].close()
            self._held = None

    def _opened(self, descriptor: BlobDescriptor) -> _Stream:
        uri = descriptor.uri
        if self._held is not None and self._held[0] == uri:
            return self._held[1]
        self.close()
        if uri.lower().startswith(("http://", "https://")):
            return _WebStream(uri)
        with refusals("read", uri):
            # Blobs of one file often follow one another.
            self._held = (uri, self.file_io.open_input(uri))
        return self._held[1]

    def _read(self, stream: _Stream, descriptor: BlobDescriptor) -> Iterator[bytes]:
        try:
            with refusals("read", _shown(descriptor.uri)):
                stream.seek(descriptor.offset)
                left = descriptor.length
                while left:
                    data = stream.read(self.piece if left < 0 else min(self.piece, left))
                    if not data:
                        break
                    yield data
                    left -= len(data) if left > 0 else 0
        finally:
            if isinstance(stream, _WebStream):
                stream.close()
        if left > 0:
            raise PaimonError(f"{_shown(descriptor.uri)} ends {left} bytes before the blob that is said to be in it.")


class _WebStream:
    """An answer of the web, which is read once from its beginning."""

    def __init__(self, uri: str) -> None:
        try:
            self._answer = urllib.request.urlopen(uri, timeout=_SECONDS)
        except urllib.error.HTTPError as error:
            if error.code == _NOT_FOUND:
                raise MissingFileError(f"Cannot read {_shown(uri)}: it does not exist.", path=_shown(uri)) from error
            raise PaimonError(f"Cannot read {_shown(uri)}: the server answered {error.code}.") from error
        except (OSError, ValueError) as error:
            raise PaimonError(f"Cannot read {_shown(uri)}: {error}.") from error

    def seek(self, offset: int) -> None:
        """Pass over bytes."""
        while offset > 0:
            passed = len(self._answer.read(min(offset, _LEAST_PIECE)))
            if not passed:
                return
            offset -= passed

    def read(self, size: int) -> bytes:
        """The next bytes; none at the end."""
        data: bytes = self._answer.read(size)
        return data

    def close(self) -> None:
        """Let the connection go."""
        self._answer.close()


def _shown(uri: str) -> str:
    """An address without what may be secret in it."""
    return uri.partition("?")[0]


def _file_io(file_io: FileIO, options: TableOptions) -> FileIO:
    """What reads the files that descriptors name: with settings of its own, or those of the table's own files."""
    own = {names[0]: value for names, value in options.matching(BLOB_DESCRIPTOR_PROPERTY) if value is not None}
    if own and not options.get(BLOB_DESCRIPTOR_SOURCE_TABLE):
        return ResolvingFileIO(own)
    return ResolvingFileIO(getattr(file_io, "options", None))
