"""Vector columns in separate files beside the data files (Paimon: `vector.file.format`)."""

from __future__ import annotations

from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.index import VECTOR_FILE_FORMAT
from paimon_sql.format.options.table.row_tracking import DATA_EVOLUTION_ENABLED
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.types import DataField, VectorType


def fields_in_vector_files(schema: TableSchema) -> tuple[DataField, ...]:
    """Return the columns that are stored in vector files, all in the same ones."""
    options = TableOptions(schema.options)
    if not options.get(VECTOR_FILE_FORMAT) or not options.get(DATA_EVOLUTION_ENABLED):
        return ()
    return tuple(f for f in schema.fields if isinstance(f.type, VectorType))
