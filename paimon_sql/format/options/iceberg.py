"""Options of Iceberg metadata beside a table: kept for the engines that write it."""

from __future__ import annotations

from paimon_sql.format.options.values import kept_for, string

METADATA_ICEBERG_PROPERTY = string(
    "metadata.iceberg.<property>",
    None,
    "How Java engines describe the table to Iceberg; it has no effect here.",
    status=kept_for("Iceberg metadata of Java engines"),
)
