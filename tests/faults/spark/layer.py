"""The layer itself: one round is one table, two processes with a Spark each, and a judge."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import uuid
from pathlib import Path

from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.metadata.schemas import SchemaManager
from tests import java_flags
from tests.faults.layers import Layer
from tests.faults.processes.host import Host
from tests.faults.processes.journal import Journal
from tests.faults.processes.judge import write_verdict
from tests.faults.processes.layer import finishes, judged, make_table
from tests.faults.report import Round
from tests.faults.spark.judge import judge_with_spark, stream_rows
from tests.faults.spark.model import loaded_rows
from tests.faults.spark.plan import SparkPlan, plan_round
from tests.faults.spark.statements.beside import FILES, SINK, checkpoint
from tests.faults.tables import KINDS, place

_LONGEST_OPERATION = 150.0
_ENOUGH = 100.0
_LOADED_FILES = 6


class WithSpark(Layer):
    """Two processes with a Spark each: SQL, DataFrames, COPY INTO, streams and Thrift, whose drivers and tasks fail.

    A seed replays the statements and what is to go wrong; how the processes meet differs from run to run.
    """

    name, share = "spark", 0.6

    def play(self, seed: int, folder: Path) -> Round:
        """Play the round of a seed."""
        plan = plan_round(seed)
        own = folder / f"spark-{os.getpid()}-{seed}"
        shutil.rmtree(own, ignore_errors=True)
        own.mkdir(parents=True)
        try:
            return _played(plan, own)
        finally:
            shutil.rmtree(own, ignore_errors=True)


def _played(plan: SparkPlan, folder: Path) -> Round:
    one = Round(WithSpark.name, plan.seed, f"{plan}; by workers {plan.by_workers}")
    if not finishes(lambda: _prepare(plan, folder)):
        one.violations.append("the tables could not be made")
        return one

    def work(number: int, first: int) -> None:
        os.setsid()
        environment = {**os.environ, "TZ": plan.parties[number].zone, "PYTHONPATH": os.pathsep.join(sys.path)}
        environment["JAVA_TOOL_OPTIONS"] = java_flags.QUICK
        arguments = [str(folder), str(plan.seed), str(number), str(first)]
        command = [sys.executable, "-m", "tests.faults.spark.party", *arguments]
        os.execve(sys.executable, command, environment)

    host = Host(plan, folder, Journal(folder, place(folder)), work, _LONGEST_OPERATION, _ENOUGH)
    try:
        host.run()
    finally:
        for pid in host.started:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)  # the JVM of a process that is gone
    return judged(one, host, lambda: write_verdict(folder, judge_with_spark(plan, folder)))


def _prepare(plan: SparkPlan, folder: Path) -> None:
    """Make the tables, the files that are loaded, and the source and the checkpoints of the stream."""
    make_table(plan, folder)
    sink = KINDS["append"].schema(1, {"write-only": "false"})
    assert SchemaManager(LocalFileIO(), str(place(folder).parent / SINK)).try_add(sink)
    (folder / "in").mkdir()
    for file in range(_LOADED_FILES):
        lines = [",".join(map(str, row)) for row in loaded_rows([file])]
        (folder / "in" / f"f{file}.csv").write_text("\n".join(lines) + "\n")
    (folder / "stream").mkdir()
    for file in range(FILES):
        path = folder / "stream" / f"{file:03}.json"
        path.write_text("\n".join(json.dumps(row._asdict()) for row in stream_rows(file)) + "\n")
        os.utime(path, (1_700_000_000 + file, 1_700_000_000 + file))
    identity = str(uuid.uuid4())
    for number in range(len(plan.parties)):
        checkpoint(folder, number).mkdir()
        (checkpoint(folder, number) / "metadata").write_text(json.dumps({"id": identity}))
