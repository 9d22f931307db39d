"""A stream whose last bytes are held back until they have been gone over: a file's footer, once its data is out."""

from __future__ import annotations

from collections.abc import Callable
from io import RawIOBase
from typing import Any

import pyarrow as pa


class TailSink(RawIOBase):
    """Passes bytes on to ``stream`` until `hold`; what comes after that is kept until `release`."""

    def __init__(self, stream: pa.NativeFile) -> None:
        self._stream = stream
        self._position = 0
        self._held: bytearray | None = None

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        if self._held is None:
            self._stream.write(data)
        else:
            self._held += data
        self._position += size
        return size

    def tell(self) -> int:
        return self._position

    def hold(self) -> None:
        """From now on keep what is written."""
        self._held = bytearray()

    def release(self, change: Callable[[bytes], bytes]) -> None:
        """Write what was kept, as ``change`` makes it."""
        if self._held is not None:
            self._stream.write(change(bytes(self._held)))
            self._held = None
