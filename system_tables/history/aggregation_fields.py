"""``t$aggregation_fields``: the columns of a table with their options."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.format.schema.records import Record, column
from paimon_sql.storage.table.table import Table
from paimon_sql.system_tables.base import RecordTable, SystemTable


class AggregationFields(RecordTable[Table], SystemTable):
    """The columns as they are now, with the options ``fields.<name>.*`` of each."""

    summary = "One row per column of the table."

    class Row(Record):
        field_name: str = column("the column")
        field_type: str = column("its type")
        function: str | None = column("the values of its options fields.<name>.*")
        function_options: str | None = column("the keys of those options")
        comment: str | None = column("its comment")

    def records(self, table: Table) -> Iterable[Row]:
        for f in table.schema.fields:
            prefix = f"fields.{f.name}."
            given = {k: v for k, v in table.schema.options.items() if k.startswith(prefix)}
            values, keys = (f"[{', '.join(strings)}]" for strings in (given.values(), given.keys()))
            yield self.Row(f.name, f.type.sql(), values, keys, f.description)
