"""Append tables: files hold complete rows, and no row replaces another."""

from __future__ import annotations

from typing import ClassVar

from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.commit.checks.conflicts import OF_APPENDS, CommitLayout
from paimon_sql.storage.compact.layouts.append import AppendCompactions
from paimon_sql.storage.data_files.layout import AppendFiles
from paimon_sql.storage.row_level.strategy import AppendRowChanges
from paimon_sql.storage.scan.changes.commits import FileChanges
from paimon_sql.storage.scan.changes.plan import ChangesLayout
from paimon_sql.storage.scan.layout import AppendScans
from paimon_sql.storage.staging.proposal import Validation
from paimon_sql.storage.write.task import WriteLayout
from paimon_sql.storage.write.writers import AppendWriter


class AppendLayout(
    AppendFiles, AppendScans, ChangesLayout, CommitLayout, WriteLayout, AppendRowChanges, AppendCompactions
):
    """A table without a primary key."""

    has_final_rows = True
    commit_changes = FileChanges
    validations: ClassVar[tuple[Validation, ...]] = OF_APPENDS
    writer = AppendWriter

    @classmethod
    def applies_to(cls, schema: TableSchema) -> bool:
        return not schema.has_key
