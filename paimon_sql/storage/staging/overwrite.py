"""Scope of an overwrite: the whole table, some partitions, or those of the new rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.layout.partitions import PartitionPaths
from paimon_sql.format.metadata.manifest import FileKind, ManifestEntry, entries
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.storage.data_files.live_files import filter_partitions, live_files, partition_values
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.table.table import Table


@dataclass(frozen=True)
class Overwrite:
    """The scope of an overwrite: partitions that match ``partitions``, or with ``dynamic`` those of its rows.

    With neither, the whole table.
    """

    partitions: Predicate | None = None
    dynamic: bool = False

    def replaces(self, table: Table, partitions: Collection[bytes]) -> frozenset[bytes]:
        """Return those partitions of new rows that the overwrite replaces; to the others it appends.

        In a static overwrite only deletes are outside: those of keys that move into a replaced partition.
        """
        if self.dynamic or self.partitions is None:
            return frozenset(partitions)
        serialized = pa.array(sorted(partitions), pa.binary())
        matches = pc.fill_null(self.partitions.evaluate(partition_values(table, serialized)), False)
        return frozenset(serialized.filter(matches).to_pylist())

    def check_rows(self, table: Table, messages: Sequence[CommitMessage]) -> None:
        """Check that all new rows are in replaced partitions, as otherwise they would be appended to old ones.

        Raises:
            InvalidInputError: the partition of a row does not match the condition.
        """
        new = {m.partition for m in messages for f in m.new_files if f.row_count > (f.delete_row_count or 0)}
        if outside := new - self.replaces(table, new):
            paths = PartitionPaths.of(table.schema)
            raise InvalidInputError(
                f"{table.name}: an overwrite brings rows of the partition {min(map(paths.name, outside))}, which its"
                " condition does not replace.",
                remedy="Leave these rows out, widen the condition, or append them by a statement of their own.",
            )


def overwritten(
    table: Table, latest: Snapshot | None, overwrite: Overwrite, messages: Sequence[CommitMessage]
) -> list[ManifestEntry]:
    """Return the DELETE entries of an overwrite on top of a snapshot."""
    touched = {m.partition for m in messages} if overwrite.dynamic else None
    live = live_files(table, latest, partitions=touched).entries
    if not overwrite.dynamic:
        live = filter_partitions(table, live, overwrite.partitions)
    return [replace(e, kind=FileKind.DELETE) for e in entries(live)]
