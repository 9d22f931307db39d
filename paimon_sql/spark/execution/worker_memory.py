"""Freed memory of Python workers: it stays with a worker from one task to the next.

By default it soon goes back to the system, which clears each page that is asked for again: a worker that sorts and
encodes rows spent a third of its time on that. Spark ends workers that are idle for a minute.
"""

from __future__ import annotations

import ctypes
import os
import sys
from dataclasses import dataclass
from pathlib import Path

_HOUR = 60 * 60 * 1000
_PURGE_DELAY = "MIMALLOC_PURGE_DELAY"
"""The milliseconds after which Arrow's allocator gives memory back, which it reads when Arrow is loaded."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Parameters of glibc's ``mallopt``: the free bytes at which it gives memory back, the size of blocks never kept."""
_GLIBCS = frozenset({"MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES"})
"""The variables that set these parameters."""
_LARGE_BLOCK = 256 * 1024 * 1024
_SPARKS_LIMIT = "PYSPARK_EXECUTOR_MEMORY_MB"
"""What Spark tells its workers of ``spark.executor.pyspark.memory``."""
_GIBIBYTE = 1024 * 1024 * 1024
_STATISTICS = Path("/proc/self/statm")
"""Linux's counts of a process's pages; the second is that of resident ones."""


def keep_freed_memory() -> None:
    """Set the allocators of this process and its forks to keep freed memory, before Arrow is imported.

    Environment variables of the allocators have precedence. Those of other systems than Linux stay as they are, and all
    where Spark limits the memory of its workers: a third more of it is in use while a task sorts and encodes rows.
    """
    if _SPARKS_LIMIT in os.environ:
        return
    os.environ.setdefault(_PURGE_DELAY, str(_HOUR))
    if sys.platform == "linux" and os.environ.keys().isdisjoint(_GLIBCS):
        _call_glibc("mallopt", _MMAP_THRESHOLD, _LARGE_BLOCK)
        _call_glibc("mallopt", _TRIM_THRESHOLD, _GIBIBYTE)


@dataclass
class ResidentLimit:
    """The memory that a worker may have between tasks, beyond which what is free goes back to the system.

    Attributes:
        bytes: the limit; it rises with what a worker has in use, so that it does not look for free memory in vain
            after each task.
    """

    bytes: int = _GIBIBYTE

    def keep(self) -> None:
        """Give freed memory back if the process has more."""
        if sys.platform != "linux" or _resident_bytes() <= self.bytes:
            return
        import pyarrow as pa

        pa.default_memory_pool().release_unused()
        _call_glibc("malloc_trim", 0)
        self.bytes = max(self.bytes, _resident_bytes() + _GIBIBYTE // 4)


def _call_glibc(name: str, *arguments: int) -> None:
    """Call a function that other C libraries lack; nothing there."""
    function = getattr(ctypes.CDLL(None), name, None)
    if function is not None:
        function(*arguments)


def _resident_bytes() -> int:
    return int(_STATISTICS.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
