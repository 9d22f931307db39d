"""Chain tables made with the storage core alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from paimon_sql.format.schema.types import BigIntType, DataField, string_type
from paimon_sql.storage.branches.management import create_branch
from paimon_sql.storage.branches.selection import branch_of
from paimon_sql.storage.table.table import Table
from tests.storage.core_tables import make_table

COLUMNS = (
    DataField(0, "k", BigIntType()),
    DataField(1, "n", BigIntType()),
    DataField(2, "v", string_type()),
    DataField(3, "region", string_type()),
    DataField(4, "dt", string_type()),
)
OPTIONS = {
    "chain-table.enabled": "true",
    "sequence.field": "n",
    "bucket-key": "k",
    "partition.timestamp-pattern": "$dt",
    "partition.timestamp-formatter": "yyyyMMdd",
    "scan.fallback-snapshot-branch": "whole",
    "scan.fallback-delta-branch": "changed",
}


def make_chain(
    path: Path, options: Mapping[str, str] | None = None, partitions: Sequence[str] = ("dt",)
) -> tuple[Table, Table, Table]:
    """A chain table, its branch with whole partitions and the one with changes; rows are ``(k, n, v, region, dt)``."""
    table = make_table(
        path, {**OPTIONS, **(options or {})}, columns=COLUMNS, keys=["k", *partitions], partitions=partitions
    )
    for name in ("whole", "changed"):
        create_branch(table, name)
    return table, branch_of(table, "whole"), branch_of(table, "changed")
