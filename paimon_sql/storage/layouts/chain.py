"""Chain tables: a partition is read from an earlier full one and all later changes (spec: Chain Table)."""

from __future__ import annotations

from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.operations.scan import CHAIN_TABLE_ENABLED
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.storage.commit.checks.primary_key import ChainCommits
from paimon_sql.storage.layouts.primary_key import PrimaryKeyLayout
from paimon_sql.storage.scan.layout import ChainScans


class ChainLayout(ChainScans, ChainCommits, PrimaryKeyLayout):
    """A primary-key table with ``chain-table.enabled``, and its branches."""

    keeps_deletes = True

    @classmethod
    def applies_to(cls, schema: TableSchema) -> bool:
        return schema.has_key and bool(TableOptions(schema.options).get(CHAIN_TABLE_ENABLED))
