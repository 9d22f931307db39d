"""Options of materialized tables: definition and refresh.

Flink and Paimon's catalogs write those with prefix ``materialized-table.``, with values in upper case.
"""

from __future__ import annotations

from paimon_sql.format.options.values import Scope, boolean, optional_choice, string

_MODES = ("CONTINUOUS", "FULL", "AUTOMATIC")

MATERIALIZED_TABLE_DEFINITION_QUERY = string(
    "materialized-table.definition-query", None, "The query that defines a materialized table, its names whole."
)
MATERIALIZED_TABLE_INTERVAL_FRESHNESS = string(
    "materialized-table.interval-freshness", None, "How old the rows may be, as a number of units of time."
)
MATERIALIZED_TABLE_INTERVAL_FRESHNESS_TIME_UNIT = optional_choice(
    "materialized-table.interval-freshness.time-unit",
    "The unit of that number.",
    ("SECOND", "MINUTE", "HOUR", "DAY"),
)
MATERIALIZED_TABLE_LOGICAL_REFRESH_MODE = optional_choice(
    "materialized-table.logical-refresh-mode",
    "How the table was asked to be refreshed; AUTOMATIC leaves it to the freshness.",
    _MODES,
)
MATERIALIZED_TABLE_REFRESH_MODE = optional_choice(
    "materialized-table.refresh-mode",
    "How the table is refreshed: CONTINUOUS takes what is new alone where that is exact, FULL works all rows out anew.",
    _MODES,
)
MATERIALIZED_TABLE_REFRESH_STATUS = optional_choice(
    "materialized-table.refresh-status",
    "Whether the table is refreshed when it is due.",
    ("INITIALIZING", "ACTIVATED", "SUSPENDED"),
)
MATERIALIZED_TABLE_REFRESH_HANDLER_DESCRIPTION = string(
    "materialized-table.refresh-handler-description", None, "Which of Flink's jobs keeps the table up to date."
)
MATERIALIZED_TABLE_REFRESH_HANDLER_BYTES = string(
    "materialized-table.refresh-handler-bytes",
    None,
    "How Flink finds that job, in Base64; kept for Flink.",
    scope=Scope.FLINK,
)
MATERIALIZED_TABLE_REFRESH_ON_CREATE = boolean(
    "materialized-table.refresh-on-create", "true", "Whether a materialized table is refreshed when it is made."
)
MATERIALIZED_TABLE_SETTING = string(
    "materialized-table.setting.<name>", None, "A setting of Spark under which the query is worked out."
)
PARTITION_FIELDS_DATE_FORMATTER = string(
    "partition.fields.<column>.date-formatter",
    None,
    "The pattern by which a partition column of a materialized table tells its time: a refresh that is due works out"
    " the partitions of the time since the last one.",
)
