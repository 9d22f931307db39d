"""Daemon process from which Spark forks its Python workers (``spark.python.daemon.module``).

It imports the modules of workers before it forks them, which saves each worker a second of imports and shares their
memory pages. The threads that these imports start (OpenBLAS, jemalloc) stop automatically before a fork.

A worker collects garbage after each task. The objects of the modules are exempt: to visit them would take longer than
many a task, and would copy the shared pages.
"""

from __future__ import annotations

import gc
import socket

import pandas  # noqa: F401 - imported for the workers
import pyspark.worker  # noqa: F401 - imported for the workers
from pyspark import daemon

import paimon_sql.storage.file_io.arrow
import paimon_sql.storage.read.task
import paimon_sql.storage.write.plan  # noqa: F401 - imported for the workers
from paimon_sql.format.file_index import registry as file_indexes
from paimon_sql.format.global_index import registry as global_indexes
from paimon_sql.storage.file_formats.registry import file_format
from paimon_sql.storage.merge.aggregates.registry import FUNCTIONS
from paimon_sql.storage.merge.registry import ENGINES
from paimon_sql.storage.table.changelog_producer import PRODUCERS
from paimon_sql.storage.table.layout import layouts
from paimon_sql.storage.write.clustering.clustering import LAYOUTS

_worker = daemon.worker


def preload() -> None:
    """Import what workers look up by name, which a registry imports only then."""
    layouts()
    file_format("parquet")
    for kinds in (ENGINES, FUNCTIONS, PRODUCERS, LAYOUTS, file_indexes.KINDS, global_indexes.KINDS):
        list(kinds)


def _quiet_worker(sock: socket.socket, authenticated: bool) -> int:
    """Run a worker that exits silently if Spark closes the connection early, as after a LIMIT."""
    try:
        return int(_worker(sock, authenticated))
    except BrokenPipeError:
        return 1


if __name__ == "__main__":
    preload()
    gc.collect()
    gc.freeze()
    daemon.worker = _quiet_worker
    daemon.manager()
