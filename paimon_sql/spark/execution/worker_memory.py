"""Freed memory of Python workers: it stays with a worker from one task to the next.

By default it soon goes back to the system, which clears each page that is asked for again: a worker that sorts and
encodes rows spent a third of its time on that. Spark ends workers that are idle for a minute.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_HOUR = 60 * 60 * 1000
_PURGE_DELAY = "MIMALLOC_PURGE_DELAY"
"""The milliseconds after which Arrow's allocator gives memory back, which it reads when Arrow is loaded."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Parameters of glibc's ``mallopt``: the free bytes at which it gives memory back, the size of blocks never kept."""
_LARGE_BLOCK = 256 * 1024 * 1024
_SPARKS_LIMIT = "PYSPARK_EXECUTOR_MEMORY_MB"
"""What Spark tells its workers of ``spark.executor.pyspark.memory``."""
_MAX_RESIDENT = 1024 * 1024 * 1024
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
    if sys.platform == "linux" and not any(name.startswith("MALLOC_") for name in os.environ):
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_MMAP_THRESHOLD, _LARGE_BLOCK)
            mallopt(_TRIM_THRESHOLD, _MAX_RESIDENT)


def return_freed_memory() -> None:
    """Give freed memory back to the system if the process has more than a gibibyte."""
    if sys.platform != "linux" or _resident_bytes() <= _MAX_RESIDENT:
        return
    import pyarrow as pa

    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _resident_bytes() -> int:
    return int(_STATISTICS.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
