"""``python -m bench.metadata``: what tables of many files, partitions, snapshots, tags or columns cost.

Each shape of table is made from metadata alone, without data files. A process of its own then opens the table and
measures each operation; the first sample of an operation is `cold`, the median of the others `warm`. The table printed
last compares the warm figures of each shape with those of the shape ``small``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import SparkSession

import paimon_sql
from bench.command import names
from bench.commits import commit
from bench.own_process import answer_of
from bench.settings import Settings
from bench.spark_session import spark_settings
from bench.watch import Watch
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.metadata.snapshot import CommitKind
from paimon_sql.format.rows.encode import encode_rows
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.schema import TableSchema, new_schema
from paimon_sql.format.schema.types import BigIntType, DataField, DoubleType, IntType, string_type
from paimon_sql.format.statistics.column_statistics import SimpleStats
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.staging.commit_messages import CommitMessage, append_changes
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write

_IDS_PER_FILE = 1000
_EXPIRED = 50


@dataclass(frozen=True)
class Shape:
    """The counts that make a table large.

    Attributes:
        files: data files in all.
        snapshots: commits that add them.
        partitions: values of the partition column `part`.
        tags: tags of the last snapshots.
        columns: columns in all.
        keyed: whether the table has a primary key, `id` in each partition, in one bucket.
    """

    files: int = 1_000
    snapshots: int = 100
    partitions: int = 10
    tags: int = 0
    columns: int = 4
    keyed: bool = False


SHAPES = {
    "small": Shape(),
    "files-100k": Shape(files=100_000, snapshots=200, partitions=100),
    "files-1m": Shape(files=1_000_000, snapshots=400, partitions=1_000),
    "keyed-small": Shape(keyed=True),
    "keyed-1m": Shape(files=1_000_000, snapshots=400, partitions=1_000, keyed=True),
    "partitions-10k": Shape(files=10_000, partitions=10_000),
    "snapshots-10k": Shape(files=10_000, snapshots=10_000),
    "tags-1k": Shape(snapshots=1_000, tags=1_000),
    "columns-500": Shape(columns=500),
}


def schema_of(shape: Shape) -> TableSchema:
    """Return the schema of the table: `id`, `name`, `amount`, further INT columns, and the partition column `part`."""
    fields = [DataField(0, "id", BigIntType(nullable=not shape.keyed)), DataField(1, "name", string_type())]
    fields.append(DataField(2, "amount", DoubleType()))
    fields += [DataField(number, f"c{number}", IntType()) for number in range(3, shape.columns - 1)]
    fields.append(DataField(max(3, shape.columns - 1), "part", IntType(nullable=not shape.keyed)))
    options = {"snapshot.num-retained.min": "1000000", "write-only": "true"}
    if shape.keyed:
        options["bucket"] = "1"
    keys = ["part", "id"] if shape.keyed else []
    return new_schema(fields, options=options, partition_keys=["part"], primary_keys=keys)


def make(path: Path, shape: Shape) -> None:
    """Make a table of a shape; none of its data files exists."""
    schema = schema_of(shape)
    table = Table("many", str(path), LocalFileIO(), schema)
    table.schemas.try_add(schema)
    samples = dict(enumerate(_samples(table, shape)))
    numbers = np.arange(shape.files)
    for part in np.array_split(numbers, shape.snapshots):
        # Files that arrive together lie in few partitions, as those of a day do.
        partitions = part * shape.partitions // shape.files
        changes = append_changes(
            _with_files(samples[partition], schema, part[partitions == partition])
            for partition in np.unique(partitions).tolist()
        )
        commit(table, CommitKind.APPEND, changes)
    latest = table.snapshots.latest()
    assert latest is not None
    for number in range(shape.tags):
        table.tags.create(f"tag-{number}", table.snapshots.get(latest.id - number % shape.snapshots))


def _samples(table: Table, shape: Shape) -> Iterator[CommitMessage]:
    """The message of a write of two rows to one partition, then the same for all partitions."""
    schema = arrow_schema(table.schema.fields)
    columns = [
        pa.array([0, 1]).cast(field.type) if field.name != "name" else pa.array(["Ada", "Zoe"]) for field in schema
    ]
    columns[-1] = pa.array([0, 0], pa.int32())
    (message,) = plan_write(table).run([pa.record_batch(columns, schema=schema)])
    shutil.rmtree(table.locations.bucket(message.partition, message.bucket))
    partitions = encode_rows([pa.array(range(shape.partitions), pa.int32())], [IntType()], prefix=True)
    for partition in partitions.to_pylist():
        yield replace(message, partition=partition)


def _with_files(sample: CommitMessage, schema: TableSchema, numbers: npt.NDArray[np.int64]) -> CommitMessage:
    """Return the message with a file for each number: its ids are a thousand of its own."""
    (file,) = sample.new_files
    assert isinstance(file, DataFileMeta)
    types = [field.type for field in schema.fields]
    ends, keys = [], []
    for end in (0, _IDS_PER_FILE - 2):
        ids = numbers * _IDS_PER_FILE + end
        columns = [pa.array(ids), pa.array([f"name {number:012}" for number in ids.tolist()]), pa.array(ids / 7)]
        columns += [pa.array((ids % 1000).astype(np.int32)) for _ in types[3:]]
        ends.append(encode_rows(columns, types, prefix=True).to_pylist())
        keys.append(encode_rows(columns[:1], types[:1], prefix=True).to_pylist())
    files = []
    for low, high, low_key, high_key in zip(*ends, *keys, strict=True):
        new = replace(file, file_name=f"data-{uuid.uuid4()}-0.parquet")
        new = replace(new, value_stats=SimpleStats(low, high, file.value_stats.null_counts))
        if file.min_key:
            stats = SimpleStats(low_key, high_key, file.key_stats.null_counts)
            new = replace(new, min_key=low_key, max_key=high_key, key_stats=stats)
        files.append(new)
    return replace(sample, new_files=tuple(files))


class Operations:
    """The operations on the table `many` of a warehouse, by name; each is done as often as it is asked for."""

    def __init__(self, spark: SparkSession, shape: Shape) -> None:
        self._spark = spark
        self._shape = shape
        self._inserted = 0

    def by_name(self) -> dict[str, Callable[[], object]]:
        """Return the operations in the order in which they are measured."""
        middle = self._shape.files // 2
        # A look-up by key reads files, which do not exist, while it is planned: its key lies between two of them.
        selective = f"id = {middle * _IDS_PER_FILE + (_IDS_PER_FILE - 1 if self._shape.keyed else 7)}"
        partition = middle * self._shape.partitions // self._shape.files
        tables = {
            f"${name}": self._rows(f"SELECT * FROM `many${name}`") for name in ("snapshots", "partitions", "summary")
        }
        return {
            "open": self._rows("DESCRIBE many"),
            "plan, by id": self._planned(f"SELECT * FROM many WHERE {selective}"),
            "plan, by partition": self._planned(f"SELECT * FROM many WHERE part = {partition}"),
            "plan, all": self._planned("SELECT * FROM many"),
            "count": self._rows("SELECT count(*) FROM many"),
            "one-row INSERT": self._insert,
            "$files, one": self._rows(f"SELECT * FROM `many$files` WHERE partition = '{{{partition}}}' LIMIT 1"),
            "$files, by partition": self._rows("SELECT partition, count(*) FROM `many$files` GROUP BY partition"),
            "$files": lambda: self._spark.table("`many$files`").write.format("noop").mode("append").save(),
            **tables,
            "orphans, dry run": self._rows("CALL sys.remove_orphan_files(table => 'many', dry_run => true)"),
            f"expire {_EXPIRED}": self._expire,
        }

    def _rows(self, statement: str) -> Callable[[], object]:
        return lambda: self._spark.sql(statement).collect()

    def _planned(self, query: str) -> Callable[[], object]:
        return lambda: self._spark.sql(query)._jdf.queryExecution().executedPlan().toString()

    def _insert(self) -> None:
        self._inserted += 1
        number = self._inserted
        more = "".join(f", {number}" for _ in range(3, self._shape.columns - 1))
        self._spark.sql(f"INSERT INTO many VALUES ({number}, 'new', {number}.5{more}, 0)")

    def _expire(self) -> None:
        count = self._spark.sql("SELECT count(*) FROM `many$snapshots`").collect()[0][0]
        keep = max(1, count - _EXPIRED)
        limits = f"retain_max => {keep}, retain_min => {keep}, max_deletes => {_EXPIRED}"
        self._spark.sql(f"CALL sys.expire_snapshots(table => 'many', {limits})").collect()


@dataclass(frozen=True)
class Seconds:
    """What an operation takes: its first sample, and the median of the others."""

    cold: float
    warm: float


@dataclass(frozen=True)
class Measured:
    """The operations on a table.

    Attributes:
        seconds: by operation.
        memory: of all processes at most, in GiB.
    """

    seconds: dict[str, Seconds]
    memory: float

    def to_json(self) -> str:
        """Return a line that `from_json` reads."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Measured:
        """Return what `to_json` wrote."""
        values = json.loads(text)
        return Measured({name: Seconds(**took) for name, took in values["seconds"].items()}, values["memory"])


def measure(warehouse: Path, shape: Shape, samples: int) -> Measured:
    """Measure each operation in this process."""
    settings = Settings(data=warehouse, scratch=warehouse, memory="2g")
    spark = paimon_sql.connect(warehouse, **spark_settings(settings, warehouse / "spark"))
    spark.sql("CREATE TABLE other (id BIGINT, part INT) PARTITIONED BY (part)")
    for statement in ("INSERT INTO other VALUES (1, 1)", "SELECT * FROM other", "SELECT * FROM `other$files`"):
        spark.sql(statement).collect()
    seconds: dict[str, Seconds] = {}
    with Watch(os.getpid()) as watch:
        for name, operation in Operations(spark, shape).by_name().items():
            took = []
            for _ in range(samples + 1):
                started = time.perf_counter()
                operation()
                took.append(time.perf_counter() - started)
            seconds[name] = Seconds(took[0], statistics.median(took[1:]))
            print(f"  {name}: {seconds[name].warm:.3f} s", file=sys.stderr, flush=True)
    return Measured(seconds, (watch.seen.peak_memory or 0) / 2**30)


def table_of(measured: Mapping[str, Measured]) -> str:
    """Return a Markdown table of operations by shapes: warm seconds, cold ones, and the ratio to the small table."""
    lines = [f"| operation | {' | '.join(measured)} |", f"|---|{'---:|' * len(measured)}"]
    for name in next(iter(measured.values())).seconds:
        cells = []
        for shape, found in measured.items():
            seconds, base = found.seconds[name], "keyed-small" if shape.startswith("keyed") else "small"
            compared = base in measured and shape != base
            ratio = f" {seconds.warm / measured[base].seconds[name].warm:.1f}x" if compared else ""
            cells.append(f"{seconds.warm:.3f} ({seconds.cold:.2f}){ratio}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    memory = (f"{found.memory:.1f}" for found in measured.values())
    return "\n".join([*lines, f"| peak memory, GiB | {' | '.join(memory)} |"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Make each table, measure it in another process, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.metadata", description=__doc__)
    parser.add_argument("--shapes", type=names(SHAPES), default=list(SHAPES), help=f"of {', '.join(SHAPES)}")
    parser.add_argument("--samples", type=int, default=5, help="warm samples of each operation (5)")
    parser.add_argument("--divide", type=int, default=1, help="divide the counts of all shapes by this (1)")
    parser.add_argument("--scratch", type=Path, default=None, help="directory of the tables, removed at the end")
    parser.add_argument("--one", nargs=2, metavar=("SHAPE", "WAREHOUSE"), help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.one is not None:
        shape = _divided(SHAPES[given.one[0]], given.divide)
        print(measure(Path(given.one[1]), shape, given.samples).to_json())
        return 0
    found: dict[str, Measured] = {}
    for name in given.shapes:
        scratch = Path(tempfile.mkdtemp(prefix="paimon-sql-metadata-", dir=given.scratch))
        try:
            started = time.perf_counter()
            make(scratch / "default.db" / "many", _divided(SHAPES[name], given.divide))
            print(f"{name}: made in {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
            sizes = ("--samples", given.samples, "--divide", given.divide)
            found[name] = Measured.from_json(answer_of("bench.metadata", "--one", name, scratch, *sizes))
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    print(table_of(found))
    return 0


def _divided(shape: Shape, by: int) -> Shape:
    """Return a smaller shape, of at least one of everything that the shape has."""
    counts = {name: max(1, getattr(shape, name) // by) for name in ("files", "snapshots", "partitions")}
    return replace(shape, **counts, tags=shape.tags // by)


if __name__ == "__main__":
    raise SystemExit(main())
