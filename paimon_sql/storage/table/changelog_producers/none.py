"""The changelog producer ``none``."""

from __future__ import annotations

from paimon_sql.storage.table.changelog_producers.base import ChangelogProducer


class NoChangelog(ChangelogProducer):
    """Commits have no changelog; streams read the new rows of level 0."""

    name = "none"
    produces = False
