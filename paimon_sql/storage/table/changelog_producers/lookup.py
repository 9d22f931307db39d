"""The changelog producer ``lookup``."""

from __future__ import annotations

from collections.abc import Iterator

from paimon_sql.errors import PaimonError
from paimon_sql.format.options.operations.changelog import CHANGELOG_PRODUCER
from paimon_sql.format.options.operations.compaction import FULL_COMPACTION_DELTA_COMMITS
from paimon_sql.storage.metadata.definition import Definition, conflict
from paimon_sql.storage.table.changelog_producers.base import ChangelogProducer


class LookupChangelog(ChangelogProducer):
    """Compactions compare new rows with the older ones, which they look up."""

    name = "lookup"
    looks_up = True

    def problems(self, table: Definition) -> Iterator[PaimonError]:
        if table.options.has(FULL_COMPACTION_DELTA_COMMITS):
            yield conflict(
                FULL_COMPACTION_DELTA_COMMITS,
                f"cannot be combined with '{CHANGELOG_PRODUCER.key}' = 'lookup'.",
                f"Leave it out, or set '{CHANGELOG_PRODUCER.key}' = 'full-compaction'.",
            )
