"""What a catalog's register of a format table's partitions is told: which there are, and what they hold."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from paimon_sql.errors import PaimonError
from paimon_sql.storage.file_io import FileStatus
from paimon_sql.storage.file_io.paths import parent_of
from paimon_sql.storage.format_tables.figures import held_by, measured
from paimon_sql.storage.format_tables.partitions import (
    Partition,
    partitions_in_folders,
    registered_partitions,
    spec_of,
)
from paimon_sql.storage.format_tables.register import Figures
from paimon_sql.storage.format_tables.table import FormatTable

_LOG = logging.getLogger(__name__)


def repair(table: FormatTable, *, adds: bool, drops: bool, counts: bool = False) -> None:
    """Let the register hold the partitions whose folders are there.

    Args:
        table: a table with a register.
        adds: whether it takes up what it lacks.
        drops: whether it leaves out what has no folder.
        counts: whether it is told what each partition holds, as far as no file is looked into.
    """
    assert table.register is not None
    there = {p.texts: p for p in partitions_in_folders(table)}
    known = {p.texts: p for p, _ in registered_partitions(table)}
    new = [p for values, p in there.items() if values not in known] if adds else []
    gone = [p for values, p in known.items() if values not in there] if drops else []
    if new:
        table.register.add([spec_of(table, p) for p in new])
    if gone:
        table.register.drop([spec_of(table, p) for p in gone])
    if counts:
        kept = [p for values, p in there.items() if adds or values in known]
        report_figures(table, measured(table, kept, rows=False))


def report_figures(table: FormatTable, figures: Sequence[tuple[Partition, Figures]]) -> None:
    """Tell a table's register all that partitions hold; what is unknown stays as it holds it."""
    if table.register is not None and figures:
        table.register.report([(spec_of(table, p), f) for p, f in figures], anew=True)


def report_written(
    table: FormatTable, written: Sequence[Partition], cleared: Sequence[Partition], paths: Sequence[str], *, anew: bool
) -> None:
    """Tell the register what came into partitions, or all that they hold where files were replaced."""
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
    """Tell the register of partitions whose files are gone."""
    _report(table, [(p, _nothing()) for p in partitions], anew=True)


def _report(table: FormatTable, figures: Sequence[tuple[Partition, Figures]], *, anew: bool) -> None:
    """Tell the register; what was done stands, whether it can be told or not."""
    if table.register is None or not figures or not table.partition_fields:
        return
    try:
        table.register.report([(spec_of(table, p), f) for p, f in figures], anew=anew)
    except PaimonError as error:
        _LOG.warning("%s: the catalog could not be told what partitions hold: %s", table.name, error)


def _nothing() -> Figures:
    return Figures(rows=0, size=0, files=0, last_file_millis=time.time_ns() // 1_000_000)
