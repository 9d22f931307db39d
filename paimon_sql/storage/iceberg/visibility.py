"""Which data files of a table Iceberg's readers may see: as they cannot merge, each must be right."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.iceberg.manifests import ROW_LINEAGE
from paimon_sql.format.metadata.manifest import FileKind
from paimon_sql.format.options.table.data_file import DATA_FILE_EXTERNAL_PATHS
from paimon_sql.format.options.table.iceberg import METADATA_ICEBERG_FORMAT_VERSION, METADATA_ICEBERG_STORAGE
from paimon_sql.format.options.table.index import DELETION_VECTORS_BITMAP64, DELETION_VECTORS_ENABLED
from paimon_sql.storage.data_files.file_groups import has_data_evolution
from paimon_sql.storage.data_files.lsm_levels import max_level
from paimon_sql.storage.table.table import Table

LEAST_LEVEL = "paimon-least-level"
"""What the summary of a snapshot calls the least level whose files it has."""
_PARQUET = ".parquet"


@dataclass(frozen=True)
class Visibility:
    """What is seen of a table.

    Attributes:
        least_level: the least level whose files are seen.
        with_deletions: whether deletion vectors are told as well.
        ignores_deletions: whether what they delete is seen on purpose: newer rows of its keys are not seen, either.
    """

    least_level: int
    with_deletions: bool
    ignores_deletions: bool

    @classmethod
    def of(cls, table: Table) -> Visibility:
        """That of a table under its options: of a keyed one the deepest level alone, unless deletion vectors help.

        Raises:
            UnsupportedError: files of the table hold parts of rows.
        """
        if has_data_evolution(table):
            raise UnsupportedError(
                f"{table.name}: Iceberg's readers cannot put together rows whose columns lie in several files.",
                remedy=f"Set '{METADATA_ICEBERG_STORAGE.key}' to 'disabled'.",
            )
        options, keyed = table.options, bool(table.schema.primary_keys)
        told = bool(
            options.get(DELETION_VECTORS_ENABLED)
            and options.get(DELETION_VECTORS_BITMAP64)
            and options.get(METADATA_ICEBERG_FORMAT_VERSION) >= ROW_LINEAGE
        )
        if told and options.has(DATA_FILE_EXTERNAL_PATHS):
            raise UnsupportedError(
                f"{table.name}: Iceberg's readers cannot be told which rows of files in external paths are deleted.",
                remedy=f"Set '{METADATA_ICEBERG_FORMAT_VERSION.key}' to '2'.",
            )
        if not keyed:
            return cls(0, told, ignores_deletions=False)
        return cls(1 if told else max_level(options), told, ignores_deletions=not told)

    def seen(self, entries: pa.Table) -> pa.Table:
        """The entries of files that are seen, of a table of ``MANIFEST_SCHEMA``.

        Raises:
            UnsupportedError: one of them is of a format without Iceberg's ids of columns.
        """
        found = entries.filter(pc.greater_equal(entries["level"], self.least_level))
        other = found.filter(
            pc.and_(
                pc.equal(found["kind"], FileKind.ADD), pc.invert(pc.ends_with(found["file_name"], pattern=_PARQUET))
            )
        )
        if len(other):
            raise UnsupportedError(
                f"Iceberg's readers read Parquet files alone, and not {other['file_name'][0]}.",
                remedy="Set 'file.format' to 'parquet' and compact the table fully.",
            )
        return found
