"""Operations on rows: inserts, deletes, overwrites, compactions, reads."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from paimon_sql.format.metadata.index_files import DeletionVector
from paimon_sql.format.metadata.manifest import entries
from paimon_sql.format.metadata.snapshot import Operation, Snapshot
from paimon_sql.format.options.table.bucket import BUCKET
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.format.schema.system_fields import ROW_ID, RowKind
from paimon_sql.storage.compact.compaction import plan_table
from paimon_sql.storage.data_files.live_files import bucketed_groups, live_files
from paimon_sql.storage.expressions.predicates import Comparison
from paimon_sql.storage.operations import operations
from paimon_sql.storage.operations.compact_manifests import ManifestCompactor
from paimon_sql.storage.row_level.columns import ColumnTask, columns_unchanged
from paimon_sql.storage.row_level.vectors import mark
from paimon_sql.storage.schema.changes.base import apply_changes
from paimon_sql.storage.schema.changes.options import SetOption
from paimon_sql.storage.staging.proposal import Overwrite, overwritten
from paimon_sql.storage.table.time_travel.resolve import retained_snapshot
from paimon_sql.storage.write.buckets.rescale import plan_rescale, rescaled
from tests.faults.actions.base import Action
from tests.faults.actions.job import ONE, Job, Read, write
from tests.faults.history import Role
from tests.faults.model import Effect, Row
from tests.faults.reading import partitions_held, read_rows, rows_by_id
from tests.faults.tables import TableKind


class Insert(Action):
    """Rows are appended."""

    name, weight, role = "insert", 20, Role.WRITE

    def run(self, job: Job) -> None:
        rows = job.rows(nulls=job.kind.name == "partial update")
        job.intend(Effect("put", rows))
        table = job.opened()
        messages, task = write(table, rows)
        with job.transaction(table) as transaction:
            transaction.require(*task.validations(messages))
            operations.append(transaction, messages)


class DeleteKeys(Action):
    """Rows go by their keys."""

    name, weight, role = "delete keys", 5, Role.WRITE

    def fits(self, kind: TableKind) -> bool:
        return kind.engine is not None and kind.engine.deletes

    def run(self, job: Job) -> None:
        rows = job.rows()
        job.intend(Effect("delete", rows))
        table = job.opened()
        messages, task = write(table, rows, RowKind.DELETE)
        with job.transaction(table) as transaction:
            transaction.require(*task.validations(messages))
            operations.append(transaction, messages)


class DeleteMarked(Action):
    """A row of a file is marked as deleted."""

    name, weight, role = "mark deleted", 8, Role.WRITE

    def fits(self, kind: TableKind) -> bool:
        return kind.marks

    def run(self, job: Job) -> None:
        table = job.opened()
        base = table.snapshots.latest()
        files = [] if base is None else sorted(entries(live_files(table, base).entries), key=lambda e: e.file.file_name)
        if not files:
            return
        chosen = job.chance.choice(files)
        at = job.chance.randrange(chosen.file.row_count)
        (path, *_) = table.locations.files_of(chosen.partition, chosen.bucket, chosen.file)
        try:
            row = pq.read_table(path, columns=list(Row._fields)).slice(at, 1).to_pylist()[0]
        except FileNotFoundError:
            return  # it has expired
        job.intend(Effect("delete", (Row(**row),)))
        with job.transaction(table, base=base) as transaction:
            operations.append(transaction, mark(table, base, [(chosen, DeletionVector([at]))]))


class UpdateColumns(Action):
    """Columns of some rows are written beside them, as UPDATE does where data evolves."""

    name, weight, role = "update columns", 8, Role.WRITE

    def fits(self, kind: TableKind) -> bool:
        return kind.evolves

    def run(self, job: Job) -> None:
        table = job.opened()
        base = table.snapshots.latest()
        found = [] if base is None else rows_by_id(table, base)
        if base is None or not found:
            return
        chosen = sorted(job.chance.sample(found, min(len(found), job.chance.randint(1, 2))))
        columns = job.chance.choice([("v",), ("n",), ("v", "n")])
        new = [(i, row._replace(**{name: self._value(job, name) for name in columns})) for i, row in chosen]
        job.intend(Effect("update", tuple(row for _, row in new), columns=columns))
        schema = arrow_schema([table.schema.field(name) for name in columns])
        arrays = [pa.array([getattr(row, f.name) for _, row in new], f.type) for f in schema]
        arrays.append(pa.array([i for i, _ in new], pa.int64()))
        batch = pa.RecordBatch.from_arrays(arrays, names=[*columns, ROW_ID.name])
        task = ColumnTask(table, columns, tuple(bucketed_groups(table, base)))
        with job.transaction(table, base=base) as transaction:
            messages = transaction.staged.own(task.run([batch]))
            transaction.require(columns_unchanged(messages))
            operations.append(transaction, messages)

    @staticmethod
    def _value(job: Job, name: str) -> Any:
        return f"{job.operation.token}-new" if name == "v" else job.chance.randrange(1, 100)


class RescaleBuckets(Action):
    """The table gets another number of buckets, and its rows are brought into them; a write in between is refused."""

    name, weight, role = "rescale", 4, Role.WRITE

    def fits(self, kind: TableKind) -> bool:
        return kind.has_fixed_buckets

    def run(self, job: Job) -> None:
        table, number = job.opened(), job.chance.choice([1, 2, 3, 4])
        change = SetOption(BUCKET.key, str(number))
        table.schemas.evolve(lambda schema: apply_changes(schema, [change], has_data=True))
        table = job.opened()
        plan = plan_rescale(table, table.snapshots.latest(), dict.fromkeys(partitions_held(table), number))
        if plan.replaced:
            with job.transaction(table, operation=Operation.OVERWRITE) as transaction:
                messages = transaction.staged.own(rescaled(table, plan, ONE))
                operations.overwrite(transaction, messages, lambda latest: plan.removed, same_rows=True)


class Overwriting(Action):
    """Rows take the place of all, or of those of some partitions."""

    name, weight, role = "overwrite", 6, Role.WRITE

    def run(self, job: Job) -> None:
        rows, what = job.rows(), Overwrite()
        partitions: tuple[str, ...] | None = None
        if job.kind.partitions and not (job.kind.keys and "p" not in job.kind.keys):
            how = job.chance.choice(["all", "static", "dynamic"])
            if how == "static":
                rows = tuple(row._replace(p="x") for row in rows)
                what, partitions = Overwrite(Comparison("p", "=", pa.scalar("x"))), ("x",)
            elif how == "dynamic":
                what, partitions = Overwrite(dynamic=True), tuple(sorted({row.p for row in rows}))
        job.intend(Effect("overwrite", rows, partitions))
        table = job.opened()
        messages, task = write(table, rows, overwrite=what)
        with job.transaction(table) as transaction:
            transaction.require(*task.validations(messages))
            operations.overwrite(transaction, messages, lambda latest: overwritten(table, latest, what, messages))


class Truncate(Action):
    """All rows go."""

    name, weight, role = "truncate", 1, Role.WRITE

    def run(self, job: Job) -> None:
        job.intend(Effect("overwrite"))
        table, what = job.opened(), Overwrite()
        with job.transaction(table) as transaction:
            operations.overwrite(transaction, [], lambda latest: overwritten(table, latest, what, []))


class DropPartition(Action):
    """A partition goes, as ALTER TABLE DROP PARTITION and the expiry of partitions do."""

    name, weight, role = "drop partition", 1.5, Role.WRITE

    def fits(self, kind: TableKind) -> bool:
        return bool(kind.partitions) and (not kind.keys or "p" in kind.keys)

    def run(self, job: Job) -> None:
        partition = job.chance.choice("xy")
        job.intend(Effect("overwrite", (), (partition,)))
        table, what = job.opened(), Overwrite(Comparison("p", "=", pa.scalar(partition)))
        with job.transaction(table) as transaction:
            operations.overwrite(transaction, [], lambda latest: overwritten(table, latest, what, []))


class Compact(Action):
    """Files are compacted."""

    name, weight, role = "compact", 9, Role.WRITE

    def run(self, job: Job) -> None:
        table = job.opened()
        messages = plan_table(table, full=job.chance.random() < 0.6).run(ONE)
        with job.transaction(table) as transaction:
            operations.compact(transaction, messages)


class CompactManifests(Action):
    """Manifests are put together."""

    name, weight, role = "compact manifests", 2, Role.WRITE

    def run(self, job: Job) -> None:
        ManifestCompactor(job.opened()).run()


class ReadRows(Action):
    """A snapshot is read: the newest, an older one or a tag's."""

    name, weight = "read", 8

    def run(self, job: Job) -> None:
        table = job.opened()
        how = job.chance.choice(["newest", "newest", "id", "tag"])
        tags, ids = table.tags.names(), table.snapshots.directory.versions()
        snapshot: Snapshot | None = None
        if how == "tag" and tags:
            snapshot = table.tags.get(job.chance.choice(tags)).snapshot
        elif how == "id" and ids:
            snapshot = retained_snapshot(table, job.chance.choice(ids))
        else:
            snapshot = table.snapshots.latest()
        if snapshot is None:
            return
        rows = read_rows(table, snapshot)
        job.reads.append(Read(str(snapshot.uuid), rows))
