"""Whether one snapshot was built on another: a number alone does not tell, because it comes again."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.table.table import Table


def is_built_on(table: Table, later: Snapshot, earlier: Snapshot, added: Callable[[], pa.Array]) -> bool | None:
    """Whether a snapshot holds what the one before it brought; None if that one brought no file.

    Args:
        table: the table.
        later: the snapshot.
        earlier: one whose number is less by one.
        added: the names of the data files that ``earlier`` added; asked for only where manifests were merged.

    Raises:
        MissingFileError: a manifest list or manifest has gone.
    """
    base = {m.file_name for m in table.manifests.read_list(later.base_manifest_list)}
    if base & {m.file_name for m in table.manifests.read_list(earlier.delta_manifest_list)}:
        return True
    names = added()
    if not len(names):
        return None
    merged = table.manifests.read_all(sorted(base))
    return any(pc.any(pc.is_in(e["file_name"], value_set=names)).as_py() for e in merged)
