"""Primary-key tables: a bucket is an LSM tree, whose rows of one key are merged (spec: LSM Trees)."""

from __future__ import annotations

from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.commit.checks.primary_key import KeyCommits
from paimon_sql.storage.compact.layouts.primary_key import KeyCompactions
from paimon_sql.storage.data_files.layout import KeyFiles
from paimon_sql.storage.row_level.strategy import KeyRowChanges
from paimon_sql.storage.scan.changes.commits import KeyChanges
from paimon_sql.storage.scan.changes.plan import ChangesLayout
from paimon_sql.storage.scan.layout import KeyScans
from paimon_sql.storage.write.task import WriteLayout
from paimon_sql.storage.write.writers import KeyValueWriter


class PrimaryKeyLayout(KeyFiles, KeyScans, ChangesLayout, KeyCommits, WriteLayout, KeyRowChanges, KeyCompactions):
    """A table with a primary key."""

    compares_states = True
    commit_changes = KeyChanges
    writer = KeyValueWriter
    orders_rows = True

    @classmethod
    def applies_to(cls, schema: TableSchema) -> bool:
        return schema.has_key
