"""One writer's share of a write, as it travels to a worker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from paimon_sql.format.arrow import arrow_field, arrow_schema
from paimon_sql.format.special_fields import VALUE_KIND
from paimon_sql.storage.commit.messages import CommitMessage
from paimon_sql.storage.default_values import default_scalars, fill_defaults
from paimon_sql.storage.scan.live_files import live_files
from paimon_sql.storage.table import Table
from paimon_sql.storage.write.append_writer import AppendWriter
from paimon_sql.storage.write.buffer import Target
from paimon_sql.storage.write.key_value_writer import KeyValueWriter
from paimon_sql.storage.write.routing import conform_batch
from paimon_sql.storage.write.settings import WriteSettings


@dataclass(frozen=True)
class WriteTask:
    """Writes rows into files; ``sequences`` are the greatest sequence numbers by partition and bucket."""

    table: Table
    sequences: Mapping[Target, int] = field(default_factory=dict)

    def run(self, batches: Iterable[pa.RecordBatch]) -> list[CommitMessage]:
        """Write all rows; on any error nothing is left behind.

        Args:
            batches: the rows, their columns those of the table in its order; the types are brought to the table's.
                Rows of a keyed table may have their kind in a column ``_VALUE_KIND`` behind them. A null in a column
                with a default value becomes that value.
        """
        schema = arrow_schema(self.table.schema.fields)
        with_kind = schema.append(arrow_field(VALUE_KIND))
        defaults = default_scalars(self.table.schema.fields)
        writer = self._writer()
        try:
            for batch in batches:
                has_kind = batch.schema.names[-1:] == [VALUE_KIND.name]
                rows = conform_batch(batch, with_kind if has_kind else schema)
                writer.write(fill_defaults(rows, defaults) if defaults else rows)
            return writer.close()
        except BaseException:
            writer.abort()
            raise

    def _writer(self) -> AppendWriter | KeyValueWriter:
        kind = KeyValueWriter if self.table.schema.primary_keys else AppendWriter
        return kind(self.table, self.sequences)


def plan_write(table: Table, overwrite: bool = False) -> WriteTask:
    """The task that each writer of a statement carries out.

    Args:
        table: the table.
        overwrite: whether what was there goes, so that sequence numbers begin anew.
    """
    if overwrite or (WriteSettings(table.schema).buckets <= 0 and not table.schema.primary_keys):
        return WriteTask(table)
    live = live_files(table, table.snapshots.latest()).entries
    if not len(live):
        return WriteTask(table)
    grouped = live.group_by(["partition", "bucket"]).aggregate([("max_sequence_number", "max")])
    columns = [grouped[c].to_pylist() for c in ("partition", "bucket", "max_sequence_number_max")]
    return WriteTask(table, {(p, b): s for p, b, s in zip(*columns, strict=True)})
