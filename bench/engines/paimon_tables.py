"""Paimon's tables, the same by paimon-sql and by the Java connector."""

from __future__ import annotations

from collections.abc import Sequence

from bench.dataset import KEY, column_list
from bench.engines.base import Engine

_KINDS = {
    "aggregation": {
        "merge-engine": "aggregation",
        "fields.default-aggregate-function": "last_non_null_value",
        "write-only": "true",
    },
    "partial-update": {"merge-engine": "partial-update", "write-only": "true"},
    "vectors": {"deletion-vectors.enabled": "true"},
    "lookup": {"changelog-producer": "lookup"},
    "indexed": {"file-index.bloom-filter.columns": KEY},
}
"""The options of each kind of table."""
_KEYLESS = frozenset({"indexed"})


class PaimonTables(Engine):
    """Tables with the options of each kind; compaction and expiration by procedures."""

    kinds = tuple(_KINDS)
    write_only_property = "'write-only'='true'"

    def define(self, table: str, columns: str, key: Sequence[str], buckets: int) -> None:
        self._create(table, columns, {"primary-key": ",".join(key), "bucket": str(buckets)} if key else {})

    def create_kind(self, table: str, kind: str) -> None:
        key = {} if kind in _KEYLESS else {"primary-key": KEY, "bucket": str(self.settings.buckets)}
        self._create(table, column_list(self.settings.variant), {**key, **_KINDS[kind]})

    def _create(self, table: str, columns: str, options: dict[str, str]) -> None:
        pairs = ", ".join(f"'{key}'='{value}'" for key, value in options.items())
        self.rows(f"CREATE TABLE {table} ({columns}){f' TBLPROPERTIES ({pairs})' if pairs else ''}")

    def upsert(self, table: str, source: str) -> None:
        # An INSERT into a table with a primary key is an upsert.
        self.insert(table, source)

    def compact(self, table: str) -> None:
        self.rows(f"CALL sys.compact(table => '{table}')")

    def expire(self, table: str, keep: int) -> None:
        # A call expires 50 at most unless it says more.
        limits = f"retain_max => {keep}, retain_min => {keep}, max_deletes => 1000"
        self.rows(f"CALL sys.expire_snapshots(table => '{table}', {limits})")

    def snapshots(self, table: str) -> int | None:
        return int(self.rows(f"SELECT count(*) FROM `{table}$snapshots`")[0][0])
