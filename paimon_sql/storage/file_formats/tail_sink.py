"""A stream that buffers its last bytes, to rewrite a file's footer after its data was written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import RawIOBase
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class TailSink(RawIOBase):
    """Forwards bytes to ``stream``, apart from those that are written while `rewriting`."""

    def __init__(self, stream: pa.NativeFile) -> None:
        self._stream = stream
        self._position = 0
        self._buffer: bytearray | None = None

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer) -> int:
        size = memoryview(data).nbytes
        if self._buffer is None:
            self._stream.write(data)
        else:
            self._buffer += data
        self._position += size
        return size

    def tell(self) -> int:
        return self._position

    @contextmanager
    def rewriting(self, change: Callable[[bytes], bytes]) -> Iterator[None]:
        """Buffer the bytes that are written inside, and write them at the end, changed by ``change``."""
        self._buffer = bytearray()
        yield
        self._stream.write(change(bytes(self._buffer)))
        self._buffer = None
