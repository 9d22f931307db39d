"""Rules about object tables: their columns are fixed."""

from __future__ import annotations

from collections.abc import Iterator

from paimon_sql.errors import PaimonError
from paimon_sql.storage.object_tables.definition import OBJECT_FIELDS
from paimon_sql.storage.schema.validation.definition import Definition, wrong


def columns_of_objects(table: Definition) -> Iterator[PaimonError]:
    """The columns are those of every object table."""
    if [(f.name, f.type) for f in table.schema.fields] != [(f.name, f.type) for f in OBJECT_FIELDS]:
        yield wrong("The columns of an object table are always the same.", "Leave them out.")
    if table.schema.partition_keys:
        yield wrong("An object table has no partitions.", "Leave PARTITIONED BY out.")
