"""Options of materialized tables: definition and refresh.

Flink and Paimon's catalogs write those with prefix ``materialized-table.``, with values in upper case.
"""

from __future__ import annotations

from paimon_sql.format.options.values import Kinds, Scope, option

flink = Kinds(scope=Scope.FLINK).kept_for("Flink")

_MODES = ("CONTINUOUS", "FULL", "AUTOMATIC")

MATERIALIZED_TABLE_DEFINITION_QUERY = option.string(
    "materialized-table.definition-query", "The query that defines a materialized table, with qualified names."
)
MATERIALIZED_TABLE_INTERVAL_FRESHNESS = option.string(
    "materialized-table.interval-freshness", "The maximum age of the rows, as a number of time units."
)
MATERIALIZED_TABLE_INTERVAL_FRESHNESS_TIME_UNIT = option.one_of("SECOND", "MINUTE", "HOUR", "DAY")(
    "materialized-table.interval-freshness.time-unit", "The time unit of that number."
)
MATERIALIZED_TABLE_LOGICAL_REFRESH_MODE = option.one_of(*_MODES)(
    "materialized-table.logical-refresh-mode",
    "The requested refresh mode of the table; AUTOMATIC decides by the freshness.",
)
MATERIALIZED_TABLE_REFRESH_MODE = option.one_of(*_MODES)(
    "materialized-table.refresh-mode",
    "How the table is refreshed: CONTINUOUS computes only changes where that is exact, FULL computes all rows anew.",
)
MATERIALIZED_TABLE_REFRESH_STATUS = option.one_of("INITIALIZING", "ACTIVATED", "SUSPENDED")(
    "materialized-table.refresh-status", "Whether the table is refreshed when it is due."
)
MATERIALIZED_TABLE_REFRESH_HANDLER_DESCRIPTION = option.string(
    "materialized-table.refresh-handler-description", "The Flink job that refreshes the table."
)
MATERIALIZED_TABLE_REFRESH_HANDLER_BYTES = flink.string(
    "materialized-table.refresh-handler-bytes", "How Flink finds that job, in Base64."
)
MATERIALIZED_TABLE_REFRESH_ON_CREATE = option.boolean(
    "materialized-table.refresh-on-create", "Whether a materialized table is refreshed when it is created.", "true"
)
MATERIALIZED_TABLE_SETTING = option.string(
    "materialized-table.setting.<name>", "A Spark setting with which the query is executed."
)
PARTITION_FIELDS_DATE_FORMATTER = option.string(
    "partition.fields.<column>.date-formatter",
    "The pattern of the time in a partition column of a materialized table: a due refresh computes the partitions"
    " of the time since the last one.",
)
