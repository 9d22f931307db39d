"""Registry of changelog producers by name."""

from __future__ import annotations

from paimon_sql.discovery import instances
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations.changelog import CHANGELOG_PRODUCER
from paimon_sql.storage.table.changelog_producers.base import ChangelogProducer

PRODUCERS = instances("paimon_sql.storage.table.changelog_producers", ChangelogProducer)


def changelog_producer(options: TableOptions) -> ChangelogProducer:
    """The producer of the option ``changelog-producer``."""
    return PRODUCERS[options.get(CHANGELOG_PRODUCER)]
