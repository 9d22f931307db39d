"""External tables: tables at a location that the user sets, which may exist before the catalog knows them."""

from __future__ import annotations

from typing import Any

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.options.table.table import PATH
from paimon_sql.format.schema.schema import TableSchema


def check_same(existing: TableSchema, wanted: TableSchema, location: str) -> None:
    """Refuse a schema that does not match the existing table.

    Args:
        existing: the table's latest schema.
        wanted: the schema of the statement.
        location: the table's directory.

    Raises:
        InvalidInputError: columns, keys or given options differ.
    """

    def shape(schema: TableSchema) -> tuple[Any, ...]:
        return [(f.name, f.type) for f in schema.fields], schema.partition_keys, schema.primary_keys

    given = {k: v for k, v in wanted.options.items() if k not in (PATH.key, "external")}
    options = {k: v for k, v in given.items() if existing.options.get(k) != v}
    if shape(existing) != shape(wanted) or options:
        what = (
            f"its options do not say {', '.join(f'{k}={v}' for k, v in sorted(options.items()))}"
            if options
            else ("it has other columns or keys")
        )
        raise InvalidInputError(
            f"The table that stands in {location} is not the one that was described: {what}.",
            remedy="Describe it as it is.",
        )
