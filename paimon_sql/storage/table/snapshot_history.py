"""History of snapshots: lost changelogs, and whether one snapshot was built on another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.table.table import Table


def without_lost_changelog(table: Table, snapshot: Snapshot) -> Snapshot:
    """Return the snapshot, without its changelog if that is missing: a tag outlives the changelog of its snapshot."""
    changelog = snapshot.changelog_manifest_list
    if not changelog or table.file_io.exists(table.paths.manifest(changelog)):
        return snapshot
    return replace(
        snapshot, changelog_manifest_list=None, changelog_manifest_list_size=None, changelog_record_count=None
    )


def is_built_on(table: Table, later: Snapshot, earlier: Snapshot, added: Callable[[], pa.Array]) -> bool | None:
    """Whether a snapshot contains the files that the one before it added; None if that one added no file.

    Args:
        table: the table.
        later: the snapshot.
        earlier: a snapshot whose id is one less.
        added: returns the names of the data files that ``earlier`` added; only called if manifests were merged.

    Raises:
        MissingFileError: a manifest list or manifest is missing.
    """
    base = {m.file_name for m in table.manifests.read_list(later.base_manifest_list)}
    if base & {m.file_name for m in table.manifests.read_list(earlier.delta_manifest_list)}:
        return True
    names = added()
    if not len(names):
        return None
    merged = table.manifests.read_all(sorted(base))
    return any(pc.any(pc.is_in(e["file_name"], value_set=names)).as_py() for e in merged)
