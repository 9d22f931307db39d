"""The number of a table's rows as the columns of its manifests tell it, where no file needs to be looked at alone."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.paths import POSTPONE_BUCKET
from paimon_sql.format.snapshot import Snapshot
from paimon_sql.storage.scan.all_branches import files_to_read
from paimon_sql.storage.scan.deletions import deletions_of
from paimon_sql.storage.scan.file_groups import evolves
from paimon_sql.storage.scan.live_files import ScanMetrics
from paimon_sql.storage.scan.two_branches import BranchFiles
from paimon_sql.storage.span import span_to_read
from paimon_sql.storage.table import Table


@dataclass(frozen=True)
class RowCount:
    """How many rows there are, of which snapshot, and what was looked at to know it."""

    rows: int
    snapshot: Snapshot | None
    metrics: ScanMetrics


def count_of_files(table: Table) -> RowCount | None:
    """The number of rows that a read without a condition gives; None if that takes a plan of the read.

    Metadata alone tell it for tables without a primary key whose files hold whole rows of their own.

    Args:
        table: the table, under the options of the read.
    """
    if span_to_read(table) is not None:
        return None
    found = files_to_read(table, None)
    if found.chain is not None or found.version.created_from_millis is not None or len(found.parts) != 1:
        return None
    (part,) = found.parts
    rows = None if part.table.schema.primary_keys or evolves(part.table) else _rows(part)
    return None if rows is None else RowCount(rows, found.version.snapshot, part.live.metrics)


def _rows(part: BranchFiles) -> int | None:
    live = part.live.entries
    live = live.filter(pc.not_equal(live["bucket"], POSTPONE_BUCKET))
    deleted = {key[2]: d.range.cardinality for key, d in deletions_of(part.table, part.snapshot).items()}
    names = pa.array(deleted, pa.string())
    counts = [deleted[name] for name in names.filter(pc.is_in(names, value_set=live["file_name"])).to_pylist()]
    total: int = pc.sum(live["row_count"]).as_py() or 0
    return None if None in counts else total - sum(count or 0 for count in counts)
