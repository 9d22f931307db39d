"""Daemon process from which Spark forks its Python workers (``spark.python.daemon.module``).

It imports the modules of workers before it forks them, which saves each worker a second of imports and shares their
memory pages. The threads that these imports start (OpenBLAS, jemalloc) stop automatically before a fork.
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
    """Run a worker that exits silently if Spark closes the connection early, as after a LIMIT."""
    try:
        return int(_worker(sock, authenticated))
    except BrokenPipeError:
        return 1


if __name__ == "__main__":
    daemon.worker = _quiet_worker
    daemon.manager()
