"""What an overwrite takes away: everything, some partitions, or those that its rows fall into."""

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
    """What a write replaces: the partitions for which ``partitions`` is true, or those that occur in its rows.

    With neither, everything.
    """

    partitions: Predicate | None = None
    dynamic: bool = False

    def replaces(self, table: Table, partitions: Collection[bytes]) -> frozenset[bytes]:
        """Those of the partitions that new rows fall into which the write replaces; to the others it adds.

        Of a static overwrite only deletes fall outside: those of keys that move into what it replaces.
        """
        if self.dynamic or self.partitions is None:
            return frozenset(partitions)
        serialised = pa.array(sorted(partitions), pa.binary())
        held = pc.fill_null(self.partitions.evaluate(partition_values(table, serialised)), False)
        return frozenset(serialised.filter(held).to_pylist())

    def check_rows(self, table: Table, messages: Sequence[CommitMessage]) -> None:
        """Refuse rows outside of what the write replaces, as they would stand beside older ones.

        Raises:
            InvalidInputError: a condition does not hold for the partition of a row that it brings.
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
    """The DELETE entries of an overwrite that is put on a snapshot."""
    touched = {m.partition for m in messages} if overwrite.dynamic else None
    live = live_files(table, latest, partitions=touched).entries
    if not overwrite.dynamic:
        live = filter_partitions(table, live, overwrite.partitions)
    return [replace(e, kind=FileKind.DELETE) for e in entries(live)]
