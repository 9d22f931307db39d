"""Reads of a single bucket (``scan.bucket``), in any bucket mode."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.options.operations.scan import SCAN_BUCKET
from paimon_sql.storage.data_files.live_files import LiveFiles
from paimon_sql.storage.table.table import Table


def in_scanned_bucket(table: Table, entries: pa.Table) -> pa.Table:
    """The entries of the bucket that the read names; all entries if it names none.

    Args:
        table: the table, under the options of the read.
        entries: entries of manifests.
    """
    bucket = table.options.get(SCAN_BUCKET)
    return entries if bucket is None else entries.filter(pc.equal(entries["bucket"], bucket))


def live_in_scanned_bucket(table: Table, live: LiveFiles) -> LiveFiles:
    """The live files of the bucket that the read names, as `in_scanned_bucket`."""
    entries = in_scanned_bucket(table, live.entries)
    if entries is live.entries:
        return live
    metrics = replace(live.metrics, files_read=len(entries), bytes_read=pc.sum(entries["file_size"]).as_py() or 0)
    return replace(live, entries=entries, metrics=metrics)
