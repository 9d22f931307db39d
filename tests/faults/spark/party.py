"""A party with a Spark of its own: ``python -m tests.faults.spark.party FOLDER SEED PARTY FIRST``."""

from __future__ import annotations

import faulthandler
import os
import random
import signal
import sys
from pathlib import Path

from pyspark.errors import AnalysisException

import paimon_sql
from paimon_sql.catalog import warehouse
from paimon_sql.storage import file_io as files
from paimon_sql.storage.file_io import FileIO, LocalFileIO
from paimon_sql.storage.metadata.catalog_environment import UNLOCKED
from tests.faults.history import Operation, Outcome
from tests.faults.processes.files import InjectingDriver, RealProcess, RecordingFileIO
from tests.faults.processes.journal import Journal
from tests.faults.processes.party import (
    RecordedOperations,
    carried_out,
    clock_and_zone,
    enough_file,
    note_progress,
    said_file,
)
from tests.faults.processes.shared import SharedState
from tests.faults.spark.plan import SparkPlan, plan_round
from tests.faults.spark.statements import STATEMENTS, Statement
from tests.faults.spark.statements.base import Connection, SparkJob
from tests.faults.tables import place
from tests.spark.table_life import by_workers

SETTINGS = {
    "spark.master": "local[2,4]",
    "spark.driver.memory": "700m",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stopTimeout": "20s",
}
"""A small Spark whose tasks are tried again."""


class SparkParty:
    """A party in its process.

    Args:
        plan: the round.
        folder: its directory.
        number: which party this is.
    """

    def __init__(self, plan: SparkPlan, folder: Path, number: int) -> None:
        self._plan = plan
        self._folder = folder
        self._number = number
        self._journal = Journal(folder, place(folder))
        self._driver = InjectingDriver(plan, folder, self._journal)
        self._process = RealProcess(f"party {number}")
        self._process.is_spared = True
        self._file_io = RecordingFileIO(self._driver, self._process, self._journal)

    def play(self, first: int) -> None:
        """Do the statements of the script from one of them on."""
        self._take_the_file_system()
        if self._plan.by_workers[self._number]:
            by_workers()
        spark = paimon_sql.connect(self._folder / "warehouse", **SETTINGS)
        connection = Connection(spark, self._folder)
        script = self._plan.parties[self._number].script
        for number, name in enumerate(script[first:], first):
            if enough_file(self._folder).exists() and name != "finish stream":
                continue
            note_progress(self._folder, self._number, number + (name != "finish stream"))
            self._carry_out(connection, number, name)
        self._journal.write("count", operations=self._driver.operations)
        note_progress(self._folder, self._number, len(script))
        # What Spark does at its end is no part of the round.
        sys.stdout.flush()
        os._exit(0)

    def _take_the_file_system(self) -> None:
        """Let the driver use the file system of the round wherever it opens a local one; workers have their own."""
        opened = files.file_io_of

        def file_io_of(path: str, options: dict[str, str] | None = None) -> FileIO:
            found = opened(path, options)
            return self._file_io if isinstance(found, LocalFileIO) else found

        files.file_io_of = file_io_of  # type: ignore[assignment]
        warehouse.file_io_of = file_io_of  # type: ignore[assignment,attr-defined]

    def _carry_out(self, connection: Connection, number: int, name: str) -> None:
        statement = STATEMENTS[name]
        chance = random.Random(f"{self._plan.seed} {self._number} {number}")
        operation = Operation(f"p{self._number}n{number}", self._process.party, name, statement.role)
        self._process.token, self._process.operation = operation.token, name
        self._driver.begin(self._number, number)
        history = RecordedOperations(self._journal)
        history.begin(operation)
        job = SparkJob(
            self._plan.kind,
            place(self._folder),
            self._file_io,
            chance,
            operation,
            history,
            number,
            self._number,
            len(self._plan.parties),
            self._plan.options,
            UNLOCKED,
            SharedState(self._folder, self._journal),
        )
        job.journal, job.connection = self._journal, connection
        self._process.is_spared = False
        outcome, error, is_wrong = carried_out(lambda: _run(statement, job))
        self._process.is_spared = True
        if is_wrong and "AssertionError" not in error:
            # Spark's own errors: jobs whose tasks failed too often, clients of Thrift. Nothing says what became of it.
            is_wrong = False
            outcome = Outcome.REFUSED if AnalysisException.__name__ in error.splitlines()[-1] else Outcome.UNKNOWN
        if outcome is Outcome.ACKNOWLEDGED:
            for read in job.reads:
                self._journal.write("read", token=operation.token, uuid=read.uuid, rows=read.rows)
        self._journal.write("end", token=operation.token, outcome=outcome.value, error=error, is_wrong=is_wrong)


def _run(statement: Statement, job: SparkJob) -> None:
    """Make a statement; an error of ours that Spark has carried is raised as itself."""
    try:
        statement.run(job)
    except Exception as error:
        behind = paimon_sql.paimon_error_of(error)
        if behind is None or behind is error:
            raise
        raise behind from error


def main(folder: Path, seed: int, number: int, first: int) -> None:
    """Be a party."""
    with said_file(folder, number).open("a") as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
        faulthandler.register(signal.SIGUSR1, said, all_threads=True)
        plan = plan_round(seed)
        with clock_and_zone(plan.parties[number].skew, plan.parties[number].zone):
            SparkParty(plan, folder, number).play(first)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
