"""A stream that buffers its last bytes, to rewrite a file's footer after its data was written."""

from __future__ import annotations

from collections.abc import Callable
from io import RawIOBase
from typing import Any

import pyarrow as pa


class TailSink(RawIOBase):
    """Forwards bytes to ``stream`` until `hold`; later ones are buffered until `release`."""

    def __init__(self, stream: pa.NativeFile) -> None:
        self._stream = stream
        self._position = 0
        self._buffer: bytearray | None = None

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        if self._buffer is None:
            self._stream.write(data)
        else:
            self._buffer += data
        self._position += size
        return size

    def tell(self) -> int:
        return self._position

    def hold(self) -> None:
        """Buffer subsequent writes."""
        self._buffer = bytearray()

    def release(self, change: Callable[[bytes], bytes]) -> None:
        """Write the buffered bytes, changed by ``change``."""
        if self._buffer is not None:
            self._stream.write(change(bytes(self._buffer)))
            self._buffer = None
