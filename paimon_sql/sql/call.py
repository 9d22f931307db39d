"""CALL with Flink's names of procedures and arguments, mapped to those of the Spark catalog."""

from __future__ import annotations

from paimon_sql.sql.context import RewriteContext
from paimon_sql.sql.cursor import Cursor
from paimon_sql.sql.edits import Edit
from paimon_sql.sql.outcome import Outcome
from paimon_sql.sql.scan import unquote_name

PROCEDURES = {"rollback_to": "rollback"}
"""Procedures that Flink names otherwise."""

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
"""Arguments that Flink names otherwise, by the Spark catalog's procedure; all names in lower case on the left."""


def call(cursor: Cursor, context: RewriteContext) -> Outcome | None:
    """``CALL [catalog.]sys.procedure(..)`` of a Paimon catalog."""
    cursor.accept("CALL")
    parts = cursor.names()
    last = cursor.peek(-1)
    if not parts or len(parts) < 2 or context.full_name(parts)[0] not in context.catalogs or parts[-2].lower() != "sys":
        return None
    written = parts[-1].lower()
    procedure = PROCEDURES.get(written, written)
    inside = cursor.group()
    if inside is None:
        return None
    edits = [Edit(last.start, last.end, procedure)] if procedure != written else []
    arguments = inside.split()
    names = ARGUMENTS.get(procedure, {})
    for argument in arguments:
        name = argument.peek()
        if argument.peek(1).word == "=>" and (known := names.get(unquote_name(name).lower())):
            edits.append(Edit(name.start, name.end, known))
    if written == "rollback_to":
        edits += _rollback_by_place(arguments)
    return edits


def _rollback_by_place(arguments: list[Cursor]) -> list[Edit]:
    """Flink's ``rollback_to('t', 2)`` and ``rollback_to('t', 'tag')``: the argument's kind says what it is."""
    if len(arguments) != 2 or any(a.peek(1).word == "=>" for a in arguments):
        return []
    table, target = (a.peek() for a in arguments)
    name = "version" if target.kind == "string" else "snapshot"
    return [Edit(table.start, table.start, "table => "), Edit(target.start, target.start, f"{name} => ")]
