"""One ALTER statement, one version of the schema."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace

from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.schema.changes.base import Context, SchemaChange
from paimon_sql.storage.schema.validation import validate_change


def apply_changes(
    schema: TableSchema,
    changes: Iterable[SchemaChange],
    *,
    has_data: bool,
    case_sensitive: bool = False,
    now: Callable[[], float] = time.time,
) -> TableSchema:
    """The next version of a schema, with all changes made one after the other.

    Args:
        schema: the newest version.
        changes: the changes; each sees what those before it made.
        has_data: whether the table has a snapshot.
        case_sensitive: whether ``A`` and ``a`` are two columns.
        now: the clock, in seconds.

    Returns:
        A version whose id is one more; the same object if nothing changes.

    Raises:
        InvalidSchemaError: a change is not possible, or the definition would not be valid any more.
        InvalidOptionError: an option does not exist, does not take the value or must not change.
    """
    context = Context(has_data, case_sensitive)
    changed = schema
    for change in changes:
        changed = change.apply(changed, context)
    if changed == schema:
        return schema
    validate_change(schema, changed)
    return replace(changed, id=schema.id + 1, time_millis=max(int(now() * 1000), schema.time_millis))
