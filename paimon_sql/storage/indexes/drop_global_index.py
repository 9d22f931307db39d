"""Global index files to delete: of a dropped index, and of an index whose rows change (spec: Global Index)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

import pyarrow as pa

from paimon_sql.errors import CommitConflictError, InvalidInputError
from paimon_sql.format.metadata.index_manifest import IndexManifestEntry
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.table.index import GLOBAL_INDEX_COLUMN_UPDATE_ACTION
from paimon_sql.storage.data_files.live_files import partition_values
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.scan.global_index.entries import global_entries, indexed_fields, meta_of, named_columns
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.staging.proposal import Proposal, Validation
from paimon_sql.storage.table.table import Table


def index_files_of(
    table: Table, columns: str, index_type: str, partitions: Predicate | None
) -> list[IndexManifestEntry]:
    """Return the files of one global index in the latest snapshot.

    Args:
        table: the table.
        columns: the indexed columns, separated by commas.
        index_type: the type, also one that paimon-sql cannot build.
        partitions: a condition on the partitions; None for all.

    Raises:
        InvalidInputError: a column does not exist.
    """
    wanted, kind = tuple(f.id for f in named_columns(table, columns)), index_type.strip().lower()
    index_files = [
        e
        for e in global_entries(table, table.snapshots.latest())
        if e.file.index_type == kind and indexed_fields(meta_of(e)) == wanted
    ]
    if partitions is None or not index_files:
        return index_files
    values = partition_values(table, pa.array([e.partition for e in index_files], pa.binary()))
    chosen = partitions.evaluate(values).fill_null(False)
    return [e for e, matches in zip(index_files, chosen.to_pylist(), strict=True) if matches]


def outdated_indexes(
    table: Table, snapshot: Snapshot | None, messages: Sequence[CommitMessage], columns: Collection[str]
) -> list[IndexManifestEntry]:
    """Return the global index files over changed columns, which the statement's commit must delete.

    Args:
        table: the table.
        snapshot: the snapshot that the statement read.
        messages: the commit messages of the statement.
        columns: the columns that it changes in existing rows.

    Raises:
        InvalidInputError: the table does not allow such changes, which is the default.
    """
    action = table.options.get(GLOBAL_INDEX_COLUMN_UPDATE_ACTION)
    partitions = {m.partition for m in messages if any(f.first_row_id is not None for f in m.new_files)}
    if action == "IGNORE" or not partitions:
        return []
    names = {f.id: f.name for f in table.schema.fields if f.name in columns}
    found = [
        e
        for e in global_entries(table, snapshot)
        if e.partition in partitions and not names.keys().isdisjoint(indexed_fields(meta_of(e)))
    ]
    if found and action == "THROW_ERROR":
        changed = {names[i] for e in found for i in indexed_fields(meta_of(e)) if i in names}
        raise InvalidInputError(
            f"{table.name}: {', '.join(sorted(changed))} cannot be changed, because it has a global index.",
            remedy="Drop the index with CALL sys.drop_global_index, or set"
            f" '{GLOBAL_INDEX_COLUMN_UPDATE_ACTION.key}' to DROP_PARTITION_INDEX or IGNORE.",
        )
    return found


def indexes_unchanged(messages: Sequence[CommitMessage], columns: Collection[str]) -> Validation:
    """The validation that no concurrent commit built an index over changed columns since the base snapshot.

    Args:
        messages: the commit messages of the statement.
        columns: the columns that it changes in existing rows.
    """
    return Validation("no global index over a changed column was built", partial(_check_indexes, messages, columns))


def _check_indexes(messages: Sequence[CommitMessage], columns: Collection[str], proposal: Proposal) -> None:
    action = GLOBAL_INDEX_COLUMN_UPDATE_ACTION
    table, base, latest = proposal.table, proposal.base, proposal.latest
    if latest is None or base is None or latest.index_manifest in (None, base.index_manifest):
        return
    if table.options.get(action) == "IGNORE":
        return
    lenient = table.with_options({action.key: "DROP_PARTITION_INDEX"})
    known, now = ({e.file.file_name for e in outdated_indexes(lenient, s, messages, columns)} for s in (base, latest))
    if now - known:
        raise CommitConflictError(
            f"{table.name}: a global index over a changed column was built while the statement ran.",
            remedy="Run the statement again.",
        )
