"""Options of materialized tables: definition and refresh.

Flink and Paimon's catalogs write those with prefix ``materialized-table.``, with values in upper case.
"""

from __future__ import annotations

from paimon_sql.format.options.values import Scope, boolean, optional_choice, string

_MODES = ("CONTINUOUS", "FULL", "AUTOMATIC")

MATERIALIZED_TABLE_DEFINITION_QUERY = string(
    "materialized-table.definition-query", None, "The query that defines a materialized table, with qualified names."
)
MATERIALIZED_TABLE_INTERVAL_FRESHNESS = string(
    "materialized-table.interval-freshness", None, "The maximum age of the rows, as a number of time units."
)
MATERIALIZED_TABLE_INTERVAL_FRESHNESS_TIME_UNIT = optional_choice(
    "materialized-table.interval-freshness.time-unit",
    "The time unit of that number.",
    ("SECOND", "MINUTE", "HOUR", "DAY"),
)
MATERIALIZED_TABLE_LOGICAL_REFRESH_MODE = optional_choice(
    "materialized-table.logical-refresh-mode",
    "The requested refresh mode of the table; AUTOMATIC decides by the freshness.",
    _MODES,
)
MATERIALIZED_TABLE_REFRESH_MODE = optional_choice(
    "materialized-table.refresh-mode",
    "How the table is refreshed: CONTINUOUS computes only changes where that is exact, FULL computes all rows anew.",
    _MODES,
)
MATERIALIZED_TABLE_REFRESH_STATUS = optional_choice(
    "materialized-table.refresh-status",
    "Whether the table is refreshed when it is due.",
    ("INITIALIZING", "ACTIVATED", "SUSPENDED"),
)
MATERIALIZED_TABLE_REFRESH_HANDLER_DESCRIPTION = string(
    "materialized-table.refresh-handler-description", None, "The Flink job that refreshes the table."
)
MATERIALIZED_TABLE_REFRESH_HANDLER_BYTES = string(
    "materialized-table.refresh-handler-bytes", None, "How Flink finds that job, in Base64.", scope=Scope.FLINK
)
MATERIALIZED_TABLE_REFRESH_ON_CREATE = boolean(
    "materialized-table.refresh-on-create", "true", "Whether a materialized table is refreshed when it is created."
)
MATERIALIZED_TABLE_SETTING = string(
    "materialized-table.setting.<name>", None, "A Spark setting with which the query is executed."
)
PARTITION_FIELDS_DATE_FORMATTER = string(
    "partition.fields.<column>.date-formatter",
    None,
    "The pattern of the time in a partition column of a materialized table: a due refresh computes the partitions"
    " of the time since the last one.",
)
