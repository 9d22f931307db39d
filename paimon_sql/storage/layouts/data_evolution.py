"""Data evolution: the columns of a row may lie in several files, which form a group (spec: Data Evolution)."""

from __future__ import annotations

from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.row_tracking import DATA_EVOLUTION_ENABLED
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.commit.checks.conflicts import OF_GROUPS
from paimon_sql.storage.compact.layouts.data_evolution import GroupCompactions
from paimon_sql.storage.data_files.layout import GroupFiles
from paimon_sql.storage.layouts.append import AppendLayout
from paimon_sql.storage.row_level.strategy import GroupRowChanges
from paimon_sql.storage.scan.changes.commits import GroupChangesLayout
from paimon_sql.storage.scan.layout import GroupScans


class DataEvolutionLayout(GroupFiles, GroupScans, GroupChangesLayout, GroupRowChanges, GroupCompactions, AppendLayout):
    """An append table with ``data-evolution.enabled``."""

    has_final_rows = False
    groups_files = True
    validations = OF_GROUPS

    @classmethod
    def applies_to(cls, schema: TableSchema) -> bool:
        return not schema.has_key and bool(TableOptions(schema.options).get(DATA_EVOLUTION_ENABLED))
