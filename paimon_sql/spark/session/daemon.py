"""The process that Spark forks its Python workers from (``spark.python.daemon.module``).

It has imported what workers need before it forks them, so that a worker starts at once instead of after a second of
imports, and all of them share those pages of memory. The threads that these imports start (those of OpenBLAS and of
jemalloc) stop themselves before a fork.
"""

from __future__ import annotations

import socket

import pyspark.worker  # noqa: F401 - imported for the workers
from pyspark import daemon

import paimon_sql.storage.compact.run
import paimon_sql.storage.read.task
import paimon_sql.storage.write.plan  # noqa: F401 - imported for the workers

_worker = daemon.worker


def _quiet_worker(sock: socket.socket, authenticated: bool) -> int:
    """A worker that goes silently when nobody wants its rows any more, as after a LIMIT."""
    try:
        return int(_worker(sock, authenticated))
    except BrokenPipeError:
        return 1


if __name__ == "__main__":
    daemon.worker = _quiet_worker
    daemon.manager()
