"""Rules about tables with Iceberg metadata."""

from __future__ import annotations

from collections.abc import Iterator

from paimon_sql.errors import PaimonError
from paimon_sql.format.iceberg.manifests import ROW_LINEAGE
from paimon_sql.format.iceberg.schemas import iceberg_field
from paimon_sql.format.options.table.data_file import FILE_FORMAT
from paimon_sql.format.options.table.iceberg import DISABLED, METADATA_ICEBERG_FORMAT_VERSION, METADATA_ICEBERG_STORAGE
from paimon_sql.format.options.table.index import DELETION_VECTORS_BITMAP64, DELETION_VECTORS_ENABLED
from paimon_sql.format.options.table.row_tracking import DATA_EVOLUTION_ENABLED
from paimon_sql.storage.schema.validation.definition import Definition, conflict, invalid


def iceberg_readers(table: Definition) -> Iterator[PaimonError]:
    """Iceberg readers do not merge and read Parquet only, so each file must be correct without the others."""
    if table.options.get(METADATA_ICEBERG_STORAGE) == DISABLED:
        return
    version = table.options.get(METADATA_ICEBERG_FORMAT_VERSION)
    for field in table.schema.fields:
        try:
            iceberg_field(field, field.name, version)
        except PaimonError as error:
            yield invalid(error.message, error.remedy)
    if table.is_on(DATA_EVOLUTION_ENABLED):
        yield conflict(METADATA_ICEBERG_STORAGE, f"does not go with '{DATA_EVOLUTION_ENABLED.key}'.")
    if table.options.get(FILE_FORMAT).lower() != "parquet":
        yield conflict(METADATA_ICEBERG_STORAGE, f"needs '{FILE_FORMAT.key}' = 'parquet'.")
    vectors_readable = version >= ROW_LINEAGE and table.is_on(DELETION_VECTORS_BITMAP64)
    if table.is_on(DELETION_VECTORS_ENABLED) and not table.has_key and not vectors_readable:
        yield conflict(
            METADATA_ICEBERG_STORAGE,
            f"needs '{METADATA_ICEBERG_FORMAT_VERSION.key}' = '3' and '{DELETION_VECTORS_BITMAP64.key}' = 'true'"
            " for a table without a primary key that has deletion vectors.",
            f"Set both, or leave '{DELETION_VECTORS_ENABLED.key}' out.",
        )
