"""Files that are all there is in their buckets: they go to the deepest level as they are (``overwrite-upgrade``)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from paimon_sql.format.options.operations.commit import OVERWRITE_UPGRADE
from paimon_sql.storage.data_files.lsm_levels import max_level
from paimon_sql.storage.data_files.sections import sections_of
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.table.table import Table


def upgraded(
    table: Table, messages: Sequence[CommitMessage], replaced: Collection[bytes] | None = None
) -> list[CommitMessage]:
    """The messages of an overwrite, their files on the deepest level where they share no key and hold no deletes.

    A bucket whose files overlap stays as it was written. Nothing changes in tables without a primary key, where rows
    wait for their buckets, or if some file is not of level 0.

    Args:
        table: the table.
        messages: the new files.
        replaced: the partitions in whose buckets is nothing else; None for all of them. What is added to others stays
            on level 0, for files of one level must not share keys.
    """
    wanted: bool = table.options.get(OVERWRITE_UPGRADE)
    if not (wanted and table.schema.primary_keys) or any(
        m.bucket < 0 or any(f.level for f in m.new_files) for m in messages
    ):
        return list(messages)
    buckets: dict[tuple[bytes, int], list[CommitMessage]] = {}
    for m in messages:
        buckets.setdefault((m.partition, m.bucket), []).append(m)
    level = max_level(table.options)
    found = []
    for (partition, _), theirs in buckets.items():
        files = [f for m in theirs for f in m.new_files]
        apart = all(len(s.runs) == 1 for s in sections_of(table.schema, files))
        alone = replaced is None or partition in replaced
        if alone and apart and all(f.delete_row_count == 0 for f in files):
            theirs = [replace(m, new_files=tuple(replace(f, level=level) for f in m.new_files)) for m in theirs]
        found += theirs
    return found
