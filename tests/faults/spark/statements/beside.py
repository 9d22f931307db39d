"""What is done to tables beside that of the round: tables as queries, and the sink of a stream."""

from __future__ import annotations

import time
from pathlib import Path

from tests.faults.model import Row
from tests.faults.processes.files import RealProcess
from tests.faults.spark.statements.base import COLUMNS, SparkJob, Statement, query_of

SINK = "s"
FILES = 8
"""How many files the stream reads, one in each micro-batch."""


class TableAsSelect(Statement):
    """A new table is made of a query."""

    name, weight = "create as select", 3

    def run(self, job: SparkJob) -> None:
        rows = job.rows()
        table = f"c_{job.operation.token}"
        job.journal.write("made", token=job.operation.token, table=table, rows=rows)
        job.connection.sql(f"CREATE TABLE db.{table} AS {query_of(rows, harms=job.chance.random() < 0.5)}")


class ReplaceAsSelect(Statement):
    """A table of the party's own is made of a query, in the place of the one before."""

    name, weight = "replace as select", 4

    def run(self, job: SparkJob) -> None:
        rows = tuple(Row(row.id, f"{job.operation.token}-{i}", row.n, row.p) for i, row in enumerate(job.rows()))
        table = f"r_{job.party}"
        job.journal.write("made", token=job.operation.token, table=table, rows=rows)
        query = query_of(rows, harms=job.chance.random() < 0.5)
        job.connection.sql(f"CREATE OR REPLACE TABLE db.{table} AS {query}")


def checkpoint(folder: Path, party: int) -> Path:
    """A party's copy of the checkpoint of the one stream."""
    return folder / f"checkpoint-{party}"


class Stream(Statement):
    """The stream goes on for a while; both parties run it from copies of one checkpoint."""

    name, weight = "stream", 5
    patience: float = 2.5

    def run(self, job: SparkJob) -> None:
        reader = job.connection.spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", "1")
        rows = reader.json(str(job.connection.folder / "stream"))
        place = checkpoint(job.connection.folder, job.party)
        writer = rows.repartition(2).writeStream.option("checkpointLocation", str(place))
        query = writer.trigger(availableNow=True).toTable(f"db.{SINK}")
        try:
            until = time.monotonic() + self.patience
            while time.monotonic() < until and query.isActive:
                time.sleep(0.05)
        finally:
            query.stop()
        if query.exception() is not None:
            raise query.exception()


class FinishStream(Stream):
    """The stream comes to the end of what there is, without faults; failed runs are repeated."""

    name, weight, patience = "finish stream", 0, 60.0

    def run(self, job: SparkJob) -> None:
        process = getattr(job.file_io, "process", None)
        assert isinstance(process, RealProcess)
        process.is_spared = True
        super().run(job)
        job.journal.write("finished", token=job.operation.token)


class ExpireSink(Statement):
    """Old snapshots of the stream's sink go."""

    name, weight = "expire sink", 2

    def run(self, job: SparkJob) -> None:
        job.sql(f"CALL sys.expire_snapshots(table => 'db.{SINK}', retain_max => 1, retain_min => 1)")
