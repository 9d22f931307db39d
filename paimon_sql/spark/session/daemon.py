"""Daemon process from which Spark forks its Python workers (``spark.python.daemon.module``).

It imports the modules of workers before it forks them, which saves each worker a second of imports and shares their
memory pages. The threads that these imports start (OpenBLAS, jemalloc) stop automatically before a fork.

A worker collects garbage after each task. The objects of the modules are exempt: to visit them takes longer than many a
task, and copies the shared pages.
"""

from __future__ import annotations

import gc
import socket
from collections.abc import Callable

from paimon_sql.spark.execution.worker_memory import ResidentLimit, keep_freed_memory

Worker = Callable[[socket.socket, bool], int]
"""Runs a task; the result is 0 if the worker can run another."""


def preload() -> None:
    """Import the modules of workers, and what workers look up by name, which a registry imports only then."""
    import pandas  # noqa: F401
    import pyspark.worker  # noqa: F401

    import paimon_sql.storage.file_io.arrow
    import paimon_sql.storage.read.task
    import paimon_sql.storage.write.plan  # noqa: F401
    from paimon_sql.format.file_index import registry as file_indexes
    from paimon_sql.format.global_index import registry as global_indexes
    from paimon_sql.storage.file_formats.registry import file_format
    from paimon_sql.storage.merge.aggregates.registry import FUNCTIONS
    from paimon_sql.storage.merge.registry import ENGINES
    from paimon_sql.storage.table.changelog_producer import PRODUCERS
    from paimon_sql.storage.table.layout import layouts
    from paimon_sql.storage.write.clustering.clustering import LAYOUTS

    layouts()
    file_format("parquet")
    for kinds in (ENGINES, FUNCTIONS, PRODUCERS, LAYOUTS, file_indexes.KINDS, global_indexes.KINDS):
        list(kinds)


def tidy(run: Worker) -> Worker:
    """A worker that exits silently if Spark closes the connection early, as after a LIMIT."""
    limit = ResidentLimit()

    def worker(sock: socket.socket, authenticated: bool) -> int:
        try:
            return int(run(sock, authenticated))
        except BrokenPipeError:
            return 1
        finally:
            limit.keep()

    return worker


def serve() -> None:
    """Fork workers as Spark asks for them."""
    from pyspark import daemon

    daemon.worker = tidy(daemon.worker)
    daemon.manager()


if __name__ == "__main__":
    keep_freed_memory()
    preload()
    gc.collect()
    gc.freeze()
    serve()
