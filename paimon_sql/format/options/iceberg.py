"""Options of Iceberg metadata beside a table: kept for the engines that write it."""

from __future__ import annotations

from paimon_sql.format.options.values import string

METADATA_ICEBERG_PROPERTY = string(
    "metadata.iceberg.<property>",
    None,
    "How Java engines describe the table to Iceberg; it has no effect here.",
    has_effect=False,
)
