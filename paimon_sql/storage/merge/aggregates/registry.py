"""Registry of aggregate functions by name."""

from __future__ import annotations

from paimon_sql.discovery import by_name
from paimon_sql.storage.merge.aggregates.base import AggregateFunction

FUNCTIONS: dict[str, type[AggregateFunction]] = by_name(
    "paimon_sql.storage.merge.aggregates.functions", AggregateFunction
)
