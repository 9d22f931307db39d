"""Tables whose columns were changed in files of their own (``data-evolution.enabled``): a row lies in several files.

Source: Paimon's specification of data evolution; its reads bring files of the same row ids together.
"""

from __future__ import annotations

import numpy as np

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.options.row_tracking import DATA_EVOLUTION_ENABLED
from paimon_sql.format.snapshot import Snapshot
from paimon_sql.storage.scan.live_files import live_files
from paimon_sql.storage.table import Table


def refuse_rows_in_pieces(table: Table, snapshot: Snapshot | None) -> None:
    """Nothing, unless rows of the snapshot lie in several files, which are not brought together yet.

    Read one by one, such files would give rows that there are not. All files are looked at, since those that a
    condition leaves out belong to rows of those that it does not.

    Raises:
        UnsupportedError: files of the snapshot share row ids.
    """
    if not table.options.get(DATA_EVOLUTION_ENABLED):
        return
    entries = live_files(table, snapshot).entries
    first = entries["first_row_id"].fill_null(-1).to_numpy()
    order = np.argsort(first, kind="stable")
    ends = first[order] + entries["row_count"].to_numpy()[order]
    known = first[order] >= 0
    if np.any((first[order][1:] < np.maximum.accumulate(ends)[:-1]) & known[:-1]):
        raise UnsupportedError(
            f"{table.name}: columns were changed in files of their own (data evolution), which cannot be read yet.",
            remedy="Compact the table with Apache Paimon, or read an older snapshot: VERSION AS OF ...",
        )
