"""``python -m bench.connections``: how a Thrift server answers many connections at once.

Clients in processes of their own repeat statements for some seconds: nine of ten are look-ups of a random key, one of
twenty is an aggregate of a hundred rows, one of twenty an INSERT of one row. A line for each number of connections says
how many statements of each kind were answered in a second, and how long they took (median and 99th percentile).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
from pyhive import hive
from pyhive.exc import OperationalError

import paimon_sql
from bench.settings import Settings
from bench.spark_session import spark_settings
from bench.watch import Watch
from paimon_sql.spark.thrift.server import HOST, PORT, ThriftServer

_CONNECTIONS = (1, 8, 32, 100)
_THREADS_PER_CLIENT = 25
_KINDS = ("look-up", "aggregate", "INSERT")


def statement(kind: str, rows: int, chance: random.Random) -> str:
    """Return a statement of a kind for a table of some rows."""
    key = chance.randrange(rows)
    return {
        "look-up": f"SELECT * FROM orders WHERE id = {key}",
        "aggregate": f"SELECT paid, count(*), sum(amount) FROM orders WHERE customer = {key % 100} GROUP BY paid",
        "INSERT": f"INSERT INTO orders VALUES ({key}, {key % 100}, {key % 97}.5BD, 'changed', true)",
    }[kind]


def client(port: int, threads: int, rows: int, until: float, only: str) -> dict[str, list[float]]:
    """Repeat statements on connections, one in each thread, until a time of the clock; seconds of each by kind."""
    took: dict[str, list[float]] = {kind: [] for kind in (*_KINDS, "conflict")}

    def work(number: int) -> None:
        chance = random.Random(os.getpid() * 1000 + number)
        with closing(hive.connect("127.0.0.1", port)) as connection:
            while time.time() < until:
                kind = only or chance.choices(_KINDS, (18, 1, 1))[0]
                started = time.perf_counter()
                try:
                    with closing(connection.cursor()) as cursor:
                        cursor.execute(statement(kind, rows, chance))
                        if kind != "INSERT":
                            cursor.fetchall()
                except OperationalError as error:
                    if "Run the statement again" not in str(error):
                        raise
                    kind = "conflict"
                took[kind].append(time.perf_counter() - started)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return took


def measure(port: int, connections: int, rows: int, seconds: float, only: str) -> dict[str, list[float]]:
    """Run clients in processes until the time is over; seconds of each statement by kind."""
    until = time.time() + seconds + 2
    running = []
    for first in range(0, connections, _THREADS_PER_CLIENT):
        threads = min(_THREADS_PER_CLIENT, connections - first)
        command = [
            sys.executable,
            "-m",
            "bench.connections",
            "--client",
            str(port),
            str(threads),
            str(rows),
            str(until),
        ]
        running.append(subprocess.Popen([*command, "--only", only], stdout=subprocess.PIPE, text=True))
    found: dict[str, list[float]] = {}
    for process in running:
        answer, _ = process.communicate()
        if process.returncode:
            raise SystemExit(f"A client failed with status {process.returncode}.")
        for kind, took in json.loads(answer.splitlines()[-1]).items():
            found.setdefault(kind, []).extend(took)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Load a table, start a server, and print a line for each number of connections."""
    parser = argparse.ArgumentParser(prog="python -m bench.connections", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the table, of which `id` is the key")
    parser.add_argument("--connections", default=",".join(map(str, _CONNECTIONS)), help="numbers, comma-separated")
    parser.add_argument("--seconds", type=float, default=20, help="how long each number works (20)")
    parser.add_argument("--only", choices=("", *_KINDS), default="", help="only statements of this kind")
    parser.add_argument("--client", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.client is not None:
        port, threads, rows, until = given.client
        print(json.dumps(client(int(port), int(threads), int(rows), float(until), given.only)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(rows=given.rows, data=Path(folder), scratch=Path(folder))
        spark = paimon_sql.connect(Path(folder) / "warehouse", **spark_settings(settings, Path(folder)))
        spark.sql(
            "CREATE TABLE orders (id BIGINT, customer INT, amount DECIMAL(12, 2), note STRING, paid BOOLEAN) "
            "TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '4')"
        )
        spark.sql(
            "INSERT INTO orders SELECT id, CAST(id % 100 AS INT), CAST(id % 9999 AS DECIMAL(12, 2)), "
            f"concat('note of order ', id), id % 3 = 0 FROM range({given.rows})"
        )
        server = ThriftServer(spark, {HOST: "127.0.0.1", PORT: "0"})
        measure(server.port, 4, given.rows, 5, given.only)
        print("| connections | kind | a second | p50 ms | p99 ms | peak memory, GiB |")
        print("|---:|---|---:|---:|---:|---:|")
        for connections in map(int, given.connections.split(",")):
            with Watch(os.getpid()) as watch:
                found = measure(server.port, connections, given.rows, given.seconds, given.only)
            memory = (watch.seen.peak_memory or 0) / 2**30
            for kind, took in found.items():
                if took:
                    half, most = np.percentile(took, [50, 99]) * 1000
                    rate = len(took) / given.seconds
                    print(
                        f"| {connections} | {kind} | {rate:.1f} | {half:.0f} | {most:.0f} | {memory:.1f} |", flush=True
                    )
        server.stop()
        spark.stop()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
