"""``python -m bench.streams``: streams from and into tables by key, for as long as one asks.

A stream of generated rows is upserted into a table with look-up changelogs, a second stream reads its changes into an
append table; compactions and expirations come with the commits. Each engine has a process of its own. First the
throughput is measured, by one large backlog that is divided into micro-batches, then the latency and its growth, by
many small micro-batches for some minutes: the seconds of those in each tenth of the time. Their rows come from a source
that generates them: one that lists files gets slower with each of them.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.command import names
from bench.engines import ENVIRONMENTS, TITLES, engine_class
from bench.engines.base import Engine
from bench.environment import python_of
from bench.own_process import answer_of
from bench.settings import Settings
from bench.watch import Watch

_PROJECT = Path(__file__).resolve().parents[1]
_ENGINES = ("paimon", "java")
_COLUMNS = "id BIGINT, customer INT, amount DECIMAL(12, 2), note STRING"
_KEYED = "'primary-key'='id', 'bucket'='2', 'changelog-producer'='lookup', 'snapshot.num-retained.max'='60'"
_TENTHS = 10


@dataclass(frozen=True)
class Found:
    """The figures of an engine.

    Attributes:
        sink: rows a second into the table by key.
        source: rows a second of changes out of it.
        sink_seconds: the median of the small micro-batches of the sink, in each tenth of the time.
        source_seconds: the same of the stream that reads.
        memory: GiB of all processes at most.
    """

    sink: float
    source: float
    sink_seconds: list[float]
    source_seconds: list[float]
    memory: float


class Streams:
    """The streams of one engine.

    Args:
        engine: whose tables they use.
        keys: keys of the table by key.
    """

    def __init__(self, engine: Engine, keys: int) -> None:
        self._engine = engine
        self._folder = engine.folder
        self._keys = keys
        self._batches = 0

    def set_up(self) -> None:
        """Make the tables, and a folder of Parquet files that arrive."""
        self._engine.rows(f"CREATE TABLE keyed ({_COLUMNS}) TBLPROPERTIES ({_KEYED})")
        self._engine.rows(f"CREATE TABLE log ({_COLUMNS}) TBLPROPERTIES ('snapshot.num-retained.max'='60')")
        self._engine.rows("INSERT INTO keyed VALUES (0, 0, 0, 'first')")

    def arrive(self, rows: int, files: int) -> None:
        """Let rows arrive as files."""
        self._batches += 1
        generated = self._engine.spark.range(rows).selectExpr(*self._row(self._batches))
        generated.repartition(files).write.mode("append").parquet(str(self._folder / "in"))

    def _row(self, batch: int) -> list[str]:
        """The columns of a row of that ``id``, whose keys lie all over the table."""
        return [
            f"CAST((id * 7919 + {batch} * 104729) % {self._keys} AS BIGINT) AS id",
            "CAST(id % 1000 AS INT) AS customer",
            "CAST(id % 9999 AS DECIMAL(12, 2)) AS amount",
            f"concat('note ', id, ' of batch {batch}') AS note",
        ]

    def backlog(self) -> Any:
        """The stream of the arrived files into the table by key, started."""
        arriving = self._engine.spark.readStream.schema(_COLUMNS)
        rows = arriving.option("maxFilesPerTrigger", 1).parquet(str(self._folder / "in"))
        writer = rows.writeStream.option("checkpointLocation", str(self._folder / "backlog"))
        return self._engine.start_stream(writer.trigger(availableNow=True), "keyed")

    def trickle(self, rows: int, every: float) -> Any:
        """The stream of small micro-batches into the table by key, started."""
        generated = self._engine.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", rows).load()
        writer = generated.selectExpr("value AS id").selectExpr(*self._row(0)).writeStream
        writer = writer.option("checkpointLocation", str(self._folder / "trickle"))
        return self._engine.start_stream(writer.trigger(processingTime=f"{every} seconds"), "keyed")

    def source(self, **options: Any) -> Any:
        """The stream of the changes of that table, started."""
        rows = self._engine.read_stream("keyed", **{"read.stream.maxFilesPerTrigger": "4"})
        writer = rows.writeStream.option("checkpointLocation", str(self._folder / "source"))
        return self._engine.start_stream(writer.trigger(**(options or {"availableNow": True})), "log")

    def throughput(self, rows: int) -> tuple[float, float]:
        """Rows a second of both, of a backlog in ten files."""
        took = []
        for stream in (self.backlog, self.source):
            started = time.perf_counter()
            stream().awaitTermination()
            took.append(rows / (time.perf_counter() - started))
        return took[0], took[1]

    def latencies(self, minutes: float, rows: int, every: float) -> tuple[list[float], list[float]]:
        """Medians of the seconds of small micro-batches in each tenth of the time, of the sink and the source."""
        started = time.monotonic()
        running = [self.trickle(rows, every), self.source(processingTime=f"{every} seconds")]
        tenths: list[list[list[float]]] = [[[] for _ in range(_TENTHS)] for _ in running]
        seen = [-1, -1]
        for tenth in range(_TENTHS):
            end = started + minutes * 60 * (tenth + 1) / _TENTHS
            while (left := end - time.monotonic()) > 0:
                time.sleep(min(left, 5))
                for number, query in enumerate(running):
                    for progress in query.recentProgress:
                        done = progress if isinstance(progress, dict) else json.loads(progress.json)
                        if done["batchId"] > seen[number] and done["numInputRows"]:
                            seen[number] = done["batchId"]
                            tenths[number][tenth].append(done["durationMs"]["triggerExecution"] / 1000)
        for query in running:
            query.stop()
        sink, source = ([statistics.median(took) if took else 0.0 for took in found] for found in tenths)
        return sink, source


def measure(engine_name: str, settings: Settings, minutes: float, batch: int, every: float) -> Found:
    """Measure an engine in this process."""
    engine = engine_class(engine_name)(settings, settings.scratch)
    streams = Streams(engine, settings.rows)
    streams.set_up()
    with Watch(os.getpid()) as watch:
        # The first round compiles what the second one uses.
        for rows in (settings.rows // 10, settings.rows):
            streams.arrive(rows, files=10)
            sink, source = streams.throughput(rows)
        sink_seconds, source_seconds = streams.latencies(minutes, batch, every)
    engine.spark.stop()
    return Found(sink, source, sink_seconds, source_seconds, (watch.seen.peak_memory or 0) / 2**30)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure each engine in its environment, and print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m bench.streams", description=__doc__)
    parser.add_argument("--engines", type=names(_ENGINES), default=["paimon", "java"], help=f"of {', '.join(_ENGINES)}")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the backlog, and keys (1000000)")
    parser.add_argument("--batch", type=int, default=2_000, help="rows of a small micro-batch (2000)")
    parser.add_argument("--every", type=float, default=0, help="seconds from one of them to the next, at least (0)")
    parser.add_argument("--minutes", type=float, default=10, help="minutes of small micro-batches (10)")
    parser.add_argument("--one", nargs=2, metavar=("ENGINE", "SETTINGS"), help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.one is not None:
        name, text = given.one
        print(json.dumps(asdict(measure(name, Settings.from_json(text), given.minutes, given.batch, given.every))))
        return 0
    print("| engine | sink, rows/s | source, rows/s | sink: s by tenths | source: s by tenths | memory, GiB |")
    print("|---|---:|---:|---|---|---:|")
    for name in given.engines:
        python = python_of(ENVIRONMENTS[name][0])
        with tempfile.TemporaryDirectory() as folder:
            settings = Settings(data=Path(folder), rows=given.rows, scratch=Path(folder), memory="2g")
            amounts = ("--minutes", given.minutes, "--batch", given.batch, "--every", given.every)
            arguments = ("--one", name, settings.to_json(), *amounts)
            environment = os.environ | {"PYTHONPATH": str(_PROJECT), "PYSPARK_PYTHON": str(python)}
            answer = answer_of("bench.streams", *arguments, python=python, environment=environment)
        found = Found(**json.loads(answer))
        tenths = (" ".join(f"{s:.2f}" for s in took) for took in (found.sink_seconds, found.source_seconds))
        cells = [TITLES[name], f"{found.sink:,.0f}", f"{found.source:,.0f}", *tenths, f"{found.memory:.1f}"]
        print(f"| {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
