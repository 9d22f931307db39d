"""Statements on rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.faults.actions.job import Read
from tests.faults.history import Role
from tests.faults.model import Deduplicate, Effect, Row
from tests.faults.spark.model import DELETE, LOAD, MERGE, UPDATE, loaded_rows
from tests.faults.spark.statements.base import COLUMNS, TABLE, SparkJob, Statement, query_of, values_of
from tests.faults.tables import TableKind

NAMES = ", ".join(Row._fields)


def _can_change(kind: TableKind) -> bool:
    if kind.engine is None:
        return True
    crosses = bool(kind.partitions) and "p" not in kind.keys
    return isinstance(kind.engine, Deduplicate) and not kind.lazy and not crosses


class Insert(Statement):
    """Rows are appended, by SQL or as a DataFrame."""

    name, weight, role = "spark insert", 24, Role.WRITE

    def run(self, job: SparkJob) -> None:
        rows = job.rows(nulls=job.kind.name == "partial update")
        job.intend(Effect("put", rows))
        way = job.chance.choice(["values", "query", "harmed", "harmed", "frame", "saved"])
        spark = job.connection.spark
        if way == "values":
            job.sql(f"INSERT INTO {TABLE} ({NAMES}) {values_of(rows)}")
        elif way in ("query", "harmed"):
            job.connection.sql(f"INSERT INTO {TABLE} ({NAMES}) {query_of(rows, harms=way == 'harmed')}")
        elif way == "frame":
            spark.createDataFrame(rows, COLUMNS).repartition(2).writeTo(TABLE).append()
        else:
            spark.sql(query_of(rows, harms=True)).write.mode("append").saveAsTable(TABLE)


class Overwriting(Statement):
    """Rows take the place of all, or of those of some partitions."""

    name, weight, role = "spark overwrite", 6, Role.WRITE

    def run(self, job: SparkJob) -> None:
        rows, how = job.rows(), "all"
        if job.kind.partitions and not (job.kind.keys and "p" not in job.kind.keys):
            how = job.chance.choice(["all", "static", "dynamic"])
        if how == "static":
            rows = tuple(row._replace(p="x") for row in rows)
            job.intend(Effect("overwrite", rows, ("x",)))
            query = query_of(rows, harms=True)
            job.connection.sql(f"INSERT OVERWRITE {TABLE} PARTITION (p = 'x') SELECT id, v, n FROM ({query})")
        elif how == "dynamic":
            job.intend(Effect("overwrite", rows, tuple(sorted({row.p for row in rows}))))
            frame = job.connection.spark.sql(query_of(rows, harms=True))
            frame.writeTo(TABLE).overwritePartitions()
        else:
            job.intend(Effect("overwrite", rows))
            job.sql(f"INSERT OVERWRITE {TABLE} ({NAMES}) {values_of(rows)}")


class Truncate(Statement):
    """All rows go."""

    name, weight, role = "spark truncate", 1, Role.WRITE

    def run(self, job: SparkJob) -> None:
        job.intend(Effect("overwrite"))
        job.sql(f"TRUNCATE TABLE {TABLE}")


def _chosen(job: SparkJob) -> Row | None:
    """A row that is there now."""
    rows = sorted(_rows_of(job.connection.sql(f"SELECT {NAMES} FROM {TABLE}")), key=repr)
    return job.chance.choice(rows) if rows else None


def _rows_of(found: Sequence[tuple[Any, ...]]) -> list[Row]:
    return [Row(*row) for row in found]


def _condition(job: SparkJob, row: Row) -> str:
    return f"id = {row.id} AND p = '{row.p}'" if "p" in job.kind.keys else f"id = {row.id}"


class Update(Statement):
    """A row gets other values."""

    name, weight, role = "spark update", 8, Role.WRITE

    def fits(self, kind: TableKind) -> bool:
        return _can_change(kind)

    def run(self, job: SparkJob) -> None:
        before = _chosen(job)
        if before is None:
            return
        row = before._replace(v=f"{job.operation.token}-{before.id}", n=job.chance.randrange(100))
        job.intend(Effect(UPDATE, (row,)))
        # A keyed table may hold another row of the key by now: the new one replaces it as a whole.
        whole = f", p = '{row.p}'" if job.kind.keys and "p" not in job.kind.keys else ""
        answer = job.connection.sql(
            f"UPDATE {TABLE} SET v = '{row.v}', n = {row.n}{whole} WHERE {_condition(job, row)}"
        )
        if answer and answer[0][0]:
            job.sure()


class Delete(Statement):
    """A row goes."""

    name, weight, role = "spark delete", 7, Role.WRITE

    def fits(self, kind: TableKind) -> bool:
        return _can_change(kind)

    def run(self, job: SparkJob) -> None:
        row = _chosen(job)
        if row is None:
            return
        job.intend(Effect(DELETE, (row,)))
        answer = job.connection.sql(f"DELETE FROM {TABLE} WHERE {_condition(job, row)}")
        if answer and answer[0][0]:
            job.sure()


class Merge(Statement):
    """Rows are changed if they are there, and inserted if they are not."""

    name, weight, role = "spark merge", 7, Role.WRITE

    def fits(self, kind: TableKind) -> bool:
        return _can_change(kind)

    def run(self, job: SparkJob) -> None:
        rows = job.rows()
        if job.kind.keys:
            job.intend(Effect("put", rows))
        else:
            # Two that find the same id missing would both insert it: each party takes ids of its own.
            shown = _rows_of(job.connection.sql(f"SELECT {NAMES} FROM {TABLE}"))
            own = sorted({r.id for r in shown if r.id // 10_000 == job.party and r.id < 200_000})
            if own:
                rows = (rows[0]._replace(id=job.chance.choice(own)), *rows[1:])
            job.intend(Effect(MERGE, rows))
        changed = "v = s.v, n = s.n" + (", p = s.p" if job.kind.keys and "p" not in job.kind.keys else "")
        on = "t.id = s.id" + (" AND t.p = s.p" if "p" in job.kind.keys else "")
        job.connection.sql(
            f"MERGE INTO {TABLE} t USING ({query_of(rows, harms=job.chance.random() < 0.5)}) s ON {on}"
            f" WHEN MATCHED THEN UPDATE SET {changed}"
            f" WHEN NOT MATCHED THEN INSERT ({NAMES}) VALUES (s.id, s.v, s.n, s.p)"
        )
        job.sure()


class CopyInto(Statement):
    """Files are loaded that were not loaded yet."""

    name, weight, role = "copy into", 6, Role.WRITE

    def fits(self, kind: TableKind) -> bool:
        return kind.engine is None

    def run(self, job: SparkJob) -> None:
        files = sorted(job.chance.sample(range(6), 2))
        job.intend(Effect(LOAD, loaded_rows(files)))
        pattern = f"f[{''.join(map(str, files))}]\\\\.csv$"
        job.connection.sql(
            f"COPY INTO {TABLE} FROM '{job.connection.folder}/in' FILE_FORMAT = (TYPE = CSV) PATTERN = '{pattern}'"
        )


class ReadRows(Statement):
    """A snapshot is read: an older one, a tag's, or the newest; and counted."""

    name, weight = "spark read", 8

    def run(self, job: SparkJob) -> None:
        table = job.opened()
        ids = table.snapshots.directory.versions()
        if not ids:
            return
        number = job.chance.choice([ids[-1], job.chance.choice(ids)])
        before = table.snapshots.get(number)
        rows = _rows_of(job.sql(f"SELECT {NAMES} FROM {TABLE} VERSION AS OF {number}"))
        (counted,) = job.connection.sql(f"SELECT count(*) FROM {TABLE} VERSION AS OF {number}")[0]
        if str(job.opened().snapshots.get(number).uuid) == str(before.uuid):
            assert counted == len(rows), f"snapshot {number} has {len(rows)} rows, and is counted as {counted}"
            job.reads.append(Read(str(before.uuid), rows))
