"""Facet of table layouts: what data files hold, and which of them reads see and may skip."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.data_file import DATA_FILE_PREFIX
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import SEQUENCE_NUMBER, TRACKED, VALUE_KIND, key_value_fields
from paimon_sql.format.schema.types import DataField
from paimon_sql.storage.data_files.file_groups import groups_of_entries, stored_fields
from paimon_sql.storage.data_files.lsm_tree import max_level, reads_compacted
from paimon_sql.storage.data_files.pruning.statistics import (
    prune_by_key,
    prune_by_values,
    prune_groups,
    stats_of,
    stats_of_groups,
    stats_of_keys,
)
from paimon_sql.storage.expressions.predicates import ColumnStats, Predicate, conjuncts_on
from paimon_sql.storage.table.layout import TableLayout
from paimon_sql.storage.table.table import Table


class FileLayout(TableLayout):
    """The data files of a table.

    Class attributes:
        system_fields: the system columns that data files may hold, by name.
    """

    system_fields: ClassVar[Mapping[str, DataField]]

    @abstractmethod
    def stored_fields(self, schema: TableSchema, file: DataFileMeta) -> Sequence[DataField]:
        """Return the columns of a data file, given the schema that it was written with."""

    def may_lack_partition(self, schema: TableSchema, file: DataFileMeta) -> bool:
        """Whether a file may lack the partition columns, so that they must be taken from its partition."""
        return False

    def visible_files(self, table: Table, files: Sequence[DataFileMeta]) -> Sequence[DataFileMeta]:
        """Return the files of a bucket that reads see."""
        return files

    @abstractmethod
    def file_predicate(self, table: Table, predicate: Predicate | None) -> Predicate | None:
        """Return the part of a predicate by which a file may be skipped without a look at others; None without one."""

    @abstractmethod
    def pruned(self, table: Table, entries: pa.Table, predicate: Predicate) -> pa.Table:
        """Return the manifest entries that may contain matching rows, by statistics."""

    def skipping_stats(self, table: Table, entries: pa.Table, columns: Collection[str]) -> Mapping[str, ColumnStats]:
        """Return the statistics of columns by which `pruned` skips single files, one element per entry."""
        return {name: stats_of(table, entries, name) for name in columns}

    def groups(self, entries: pa.Table) -> npt.NDArray[np.int64]:
        """Return the index of each manifest entry's group: the files that hold columns of the same rows."""
        return np.arange(len(entries))

    def column_stats(self, table: Table, entries: pa.Table, column: str) -> ColumnStats:
        """Return statistics of one column for all rows of a file, one element per entry."""
        return stats_of(table, entries, column)


class AppendFiles(FileLayout):
    """Files of complete rows."""

    system_fields = {f.name: f for f in TRACKED}

    def stored_fields(self, schema: TableSchema, file: DataFileMeta) -> Sequence[DataField]:
        return stored_fields(schema, file)

    def may_lack_partition(self, schema: TableSchema, file: DataFileMeta) -> bool:
        # The metadata does not record this. Migrated files were added unchanged: they have no sequence numbers and not
        # a writer's file name. A false positive is harmless, as the values are the same.
        if not schema.partition_keys or file.write_cols is not None:
            return False
        unnumbered = file.min_sequence_number == file.max_sequence_number == 0 and file.first_row_id is None
        return unnumbered and not file.file_name.startswith(TableOptions(schema.options).get(DATA_FILE_PREFIX))

    def file_predicate(self, table: Table, predicate: Predicate | None) -> Predicate | None:
        return predicate

    def pruned(self, table: Table, entries: pa.Table, predicate: Predicate) -> pa.Table:
        return prune_by_values(table, entries, predicate)


class GroupFiles(AppendFiles):
    """Files of some columns of rows, which are skipped by group (data evolution)."""

    def file_predicate(self, table: Table, predicate: Predicate | None) -> None:
        return None

    def pruned(self, table: Table, entries: pa.Table, predicate: Predicate) -> pa.Table:
        return prune_groups(table, entries, predicate)

    def groups(self, entries: pa.Table) -> npt.NDArray[np.int64]:
        return groups_of_entries(entries)

    def column_stats(self, table: Table, entries: pa.Table, column: str) -> ColumnStats:
        return stats_of_groups(table, entries, column)


class KeyFiles(FileLayout):
    """Files of an LSM tree, which may hold several versions of a row.

    Only statistics of the key skip files: an old version may match conditions that the newest does not match.
    """

    system_fields = {f.name: f for f in (SEQUENCE_NUMBER, VALUE_KIND)}

    def stored_fields(self, schema: TableSchema, file: DataFileMeta) -> Sequence[DataField]:
        return key_value_fields(schema)

    def visible_files(self, table: Table, files: Sequence[DataFileMeta]) -> Sequence[DataFileMeta]:
        if not (table.read_optimized or reads_compacted(table)):
            return files
        min_level = max_level(table.options) if table.read_optimized else 1
        return [f for f in files if f.level >= min_level]

    def file_predicate(self, table: Table, predicate: Predicate | None) -> Predicate | None:
        return conjuncts_on(predicate, table.schema.trimmed_primary_keys)

    def pruned(self, table: Table, entries: pa.Table, predicate: Predicate) -> pa.Table:
        return prune_by_key(table, entries, predicate)

    def skipping_stats(self, table: Table, entries: pa.Table, columns: Collection[str]) -> Mapping[str, ColumnStats]:
        return stats_of_keys(table, entries, columns)
