"""Updates of a partition register: partitions by their directories, and statistics."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from paimon_sql.errors import PaimonError
from paimon_sql.storage.file_io import FileStatus
from paimon_sql.storage.file_io.paths import parent_of
from paimon_sql.storage.format_tables.partitions import (
    Partition,
    partitions_in_folders,
    registered_partitions,
    spec_of,
)
from paimon_sql.storage.format_tables.register import PartitionStatistics
from paimon_sql.storage.format_tables.statistics import held_by, measured
from paimon_sql.storage.format_tables.table import FormatTable

_LOG = logging.getLogger(__name__)


def repair(table: FormatTable, *, adds: bool, drops: bool, counts: bool = False) -> None:
    """Synchronize the register with the partition directories.

    Args:
        table: a table with a register.
        adds: whether to register partitions with a directory.
        drops: whether to unregister partitions without a directory.
        counts: whether to report the statistics that need no file to be opened.
    """
    assert table.register is not None
    existing = {p.texts: p for p in partitions_in_folders(table)}
    registered = {p.texts: p for p, _ in registered_partitions(table)}
    new = [p for values, p in existing.items() if values not in registered] if adds else []
    missing = [p for values, p in registered.items() if values not in existing] if drops else []
    if new:
        table.register.add([spec_of(table, p) for p in new])
    if missing:
        table.register.drop([spec_of(table, p) for p in missing])
    if counts:
        measurable = [p for values, p in existing.items() if adds or values in registered]
        report_figures(table, measured(table, measurable, rows=False))


def report_figures(table: FormatTable, figures: Sequence[tuple[Partition, PartitionStatistics]]) -> None:
    """Report complete statistics of partitions to a table's register; unknown ones are not changed."""
    if table.register is not None and figures:
        table.register.report([(spec_of(table, p), f) for p, f in figures], anew=True)


def report_written(
    table: FormatTable, written: Sequence[Partition], cleared: Sequence[Partition], paths: Sequence[str], *, anew: bool
) -> None:
    """Report statistics of written files: in addition, or complete ones if files were replaced."""
    if table.register is None:
        return
    found: dict[str, list[FileStatus]] = {p.path: [] for p in written}
    try:
        for path in paths:
            status = table.file_io.status(path)
            if status is not None:
                found[parent_of(path)].append(status)
        figures = [(p, held_by(table, found[p.path], rows=True)) for p in written]
    except (PaimonError, OSError) as error:
        _LOG.warning("%s: what was written could not be counted: %s", table.name, error)
        return
    emptied = [(p, _nothing()) for p in cleared if p.path not in found]
    _report(table, [*figures, *emptied], anew=anew)


def report_emptied(table: FormatTable, partitions: Sequence[Partition]) -> None:
    """Report partitions as empty."""
    _report(table, [(p, _nothing()) for p in partitions], anew=True)


def _report(table: FormatTable, figures: Sequence[tuple[Partition, PartitionStatistics]], *, anew: bool) -> None:
    """Report to the register; a failure is logged, for the files are changed already."""
    if table.register is None or not figures or not table.partition_fields:
        return
    try:
        table.register.report([(spec_of(table, p), f) for p, f in figures], anew=anew)
    except PaimonError as error:
        _LOG.warning("%s: the catalog could not be told what partitions hold: %s", table.name, error)


def _nothing() -> PartitionStatistics:
    return PartitionStatistics(rows=0, size=0, files=0, last_file_millis=time.time_ns() // 1_000_000)
