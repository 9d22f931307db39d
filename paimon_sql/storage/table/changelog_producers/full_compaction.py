"""The changelog producer ``full-compaction``."""

from __future__ import annotations

from collections.abc import Iterator

from paimon_sql.errors import PaimonError
from paimon_sql.format.options.operations.changelog import CHANGELOG_PRODUCER
from paimon_sql.format.options.table.index import DELETION_VECTORS_ENABLED
from paimon_sql.storage.metadata.definition import Definition, conflict
from paimon_sql.storage.table.changelog_producers.base import ChangelogProducer


class FullCompactionChangelog(ChangelogProducer):
    """Full compactions compare their result with that of the one before."""

    name = "full-compaction"
    from_full_compactions = True

    def problems(self, table: Definition) -> Iterator[PaimonError]:
        if table.is_on(DELETION_VECTORS_ENABLED):
            yield conflict(
                DELETION_VECTORS_ENABLED,
                f"cannot be true with '{CHANGELOG_PRODUCER.key}' = 'full-compaction'.",
                "Use 'none', 'input' or 'lookup'.",
            )
