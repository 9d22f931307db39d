"""The changelog producer ``input``."""

from __future__ import annotations

from paimon_sql.storage.table.changelog_producers.base import ChangelogProducer


class InputChangelog(ChangelogProducer):
    """The written rows are the changelog."""

    name = "input"
    from_input = True
