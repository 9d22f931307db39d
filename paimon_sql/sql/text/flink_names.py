"""Flink's names of procedures and their arguments, with those of Paimon's Spark connector."""

from __future__ import annotations

PROCEDURES = {"rollback_to": "rollback"}
"""Flink's names of procedures, with Spark's."""

ARGUMENTS: dict[str, dict[str, str]] = {
    "clear_consumers": {"including_consumers": "includingConsumers", "excluding_consumers": "excludingConsumers"},
    "compact_database": {"table_options": "options"},
    "create_function": {"input_params": "inputParams", "return_params": "returnParams"},
    "create_tag": {"snapshot_id": "snapshot"},
    "migrate_database": {"connector": "source_type", "source_database": "database"},
    "migrate_table": {"connector": "source_type", "source_table": "table"},
    "rename_tag": {"tagname": "tag", "targettagname": "target_tag"},
    "repair": {"table": "database_or_table"},
    "replace_tag": {"snapshot_id": "snapshot"},
    "rescale": {"partition": "partitions"},
    "reset_consumer": {"consumer_id": "consumerId", "next_snapshot_id": "nextSnapshotId"},
    "rollback": {"snapshot_id": "snapshot"},
}
"""Flink's names of arguments in lower case, with Spark's, by procedure."""
