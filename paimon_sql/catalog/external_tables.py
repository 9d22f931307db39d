"""External tables: those that stand where somebody says, and perhaps stood there before the catalog knew them."""

from __future__ import annotations

from typing import Any

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.options.table.table import PATH
from paimon_sql.format.schema.schema import TableSchema


def check_same(existing: TableSchema, wanted: TableSchema, location: str) -> None:
    """Refuse a definition that is not that of the table which stands there.

    Args:
        existing: the table's newest definition.
        wanted: what a statement describes.
        location: where the table stands.

    Raises:
        InvalidInputError: columns, keys, or an option that is described are others.
    """

    def shape(schema: TableSchema) -> tuple[Any, ...]:
        return [(f.name, f.type) for f in schema.fields], schema.partition_keys, schema.primary_keys

    said = {k: v for k, v in wanted.options.items() if k not in (PATH.key, "external")}
    options = {k: v for k, v in said.items() if existing.options.get(k) != v}
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
