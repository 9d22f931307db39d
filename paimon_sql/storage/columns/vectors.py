"""Which columns of vectors have files of their own beside the data files (``vector.file.format``)."""

from __future__ import annotations

from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.index import VECTOR_FILE_FORMAT
from paimon_sql.format.options.table.row_tracking import DATA_EVOLUTION_ENABLED
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import DataField, VectorType


def fields_in_vector_files(schema: TableSchema) -> tuple[DataField, ...]:
    """The columns that go into files of vectors, all of them into the same ones."""
    options = TableOptions(schema.options)
    if not options.get(VECTOR_FILE_FORMAT) or not options.get(DATA_EVOLUTION_ENABLED):
        return ()
    return tuple(f for f in schema.fields if isinstance(f.type, VectorType))
