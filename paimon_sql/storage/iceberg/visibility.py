"""Visibility of data files to Iceberg readers, which cannot merge: every visible file must be correct by itself."""

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

MIN_LEVEL = "paimon-least-level"
"""The property of a snapshot summary for the min level of its files."""
_PARQUET = ".parquet"


@dataclass(frozen=True)
class Visibility:
    """The visible files of a table.

    Attributes:
        least_level: the min level of visible files.
        with_deletions: whether deletion vectors are published.
        ignores_deletions: whether deletion vectors are ignored on purpose: newer rows of the keys are invisible, too.
    """

    least_level: int
    with_deletions: bool
    ignores_deletions: bool

    @classmethod
    def of(cls, table: Table) -> Visibility:
        """Return a table's visibility: with a primary key only the max level, unless deletion vectors are published.

        Raises:
            UnsupportedError: the table has data evolution.
        """
        if has_data_evolution(table):
            raise UnsupportedError(
                f"{table.name}: Iceberg's readers cannot put together rows whose columns lie in several files.",
                remedy=f"Set '{METADATA_ICEBERG_STORAGE.key}' to 'disabled'.",
            )
        options, keyed = table.options, bool(table.schema.primary_keys)
        publishes_vectors = bool(
            options.get(DELETION_VECTORS_ENABLED)
            and options.get(DELETION_VECTORS_BITMAP64)
            and options.get(METADATA_ICEBERG_FORMAT_VERSION) >= ROW_LINEAGE
        )
        if publishes_vectors and options.has(DATA_FILE_EXTERNAL_PATHS):
            raise UnsupportedError(
                f"{table.name}: Iceberg's readers cannot be told which rows of files in external paths are deleted.",
                remedy=f"Set '{METADATA_ICEBERG_FORMAT_VERSION.key}' to '2'.",
            )
        if not keyed:
            return cls(0, publishes_vectors, ignores_deletions=False)
        return cls(
            1 if publishes_vectors else max_level(options), publishes_vectors, ignores_deletions=not publishes_vectors
        )

    def seen(self, entries: pa.Table) -> pa.Table:
        """Return the entries of visible files, of ``MANIFEST_SCHEMA``.

        Raises:
            UnsupportedError: a file is not in Parquet, and so lacks Iceberg's field ids.
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
