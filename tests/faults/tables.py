"""The kinds of tables that the model plays with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from paimon_sql.format.schema.schema import TableSchema, new_schema
from paimon_sql.format.schema.types import BigIntType, DataField, IntType, string_type
from tests.faults.model import Aggregate, AppendState, Deduplicate, Engine, FirstRow, KeyedState, PartialUpdate, State

COLUMNS = (
    DataField(0, "id", IntType()),
    DataField(1, "v", string_type()),
    DataField(2, "n", BigIntType()),
    DataField(3, "p", string_type(False)),
)
_QUICK = {"commit.min-retry-wait": "1 ms", "commit.max-retry-wait": "20 ms", "commit.max-retries": "30"}


@dataclass(frozen=True)
class TableKind:
    """A kind of table.

    Attributes:
        name: its name.
        options: its options.
        keys: its primary key.
        partitions: its partition columns.
        engine: the rule of its merge engine; None without a key.
        lazy: whether rows show only when a compaction has come to them.
        weight: how often it is chosen.
        alone: whether rows of one key are written by one party alone.
        marks: whether rows of its files can be marked as deleted.
        evolves: whether columns of its rows are written beside the rows.
    """

    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    engine: Engine | None = None
    lazy: bool = False
    weight: float = 1.0
    alone: bool = False
    marks: bool = False
    evolves: bool = False

    @property
    def has_fixed_buckets(self) -> bool:
        """Whether its partitions have a number of buckets, which can be changed."""
        return int(self.options.get("bucket", "-1")) > 0

    def schema(self, time_millis: int, more: Mapping[str, str]) -> TableSchema:
        """The definition of a new table."""
        fields = [replace(f, type=f.type.as_nullable(False)) if f.name in self.keys else f for f in COLUMNS]
        made = new_schema(
            fields,
            options={**_QUICK, **self.options, **more},
            primary_keys=self.keys,
            partition_keys=self.partitions,
        )
        return replace(made, time_millis=time_millis)

    def empty(self) -> State:
        """The state of a new table."""
        if self.engine is None:
            return AppendState()
        return KeyedState(self.engine, "p" in self.keys)


_ONLY = {"write-only": "true"}
_BY = ("p",)
_KINDS = (
    TableKind("append", _ONLY, weight=3),
    TableKind("append partitions", _ONLY, (), _BY, weight=2),
    TableKind("append compacting", {"compaction.min.file-num": "2"}, (), _BY),
    TableKind("append vectors", {**_ONLY, "deletion-vectors.enabled": "true"}, (), _BY, marks=True),
    TableKind("append buckets", {**_ONLY, "bucket": "2", "bucket-key": "id"}),
    TableKind("append tracked", {**_ONLY, "row-tracking.enabled": "true"}, (), _BY),
    TableKind(
        "append evolving",
        {**_ONLY, "row-tracking.enabled": "true", "data-evolution.enabled": "true"},
        (),
        _BY,
        weight=1.5,
        evolves=True,
    ),
    TableKind("keyed", {**_ONLY, "bucket": "2"}, ("id",), (), Deduplicate(), weight=2),
    TableKind(
        "keyed compacting", {"bucket": "1", "num-sorted-run.compaction-trigger": "2"}, ("id",), (), Deduplicate()
    ),
    TableKind("keyed partitions", {**_ONLY, "bucket": "1"}, ("id", "p"), _BY, Deduplicate()),
    TableKind(
        "keyed vectors", {"bucket": "1", "deletion-vectors.enabled": "true"}, ("id",), (), Deduplicate(), lazy=True
    ),
    TableKind("keyed dynamic", {"bucket": "-1", "dynamic-bucket.target-row-num": "3"}, ("id", "p"), _BY, Deduplicate()),
    TableKind("keyed across partitions", {"bucket": "-1"}, ("id",), _BY, Deduplicate(), weight=0.5),
    TableKind("keyed postponed", {"bucket": "-2"}, ("id", "p"), _BY, Deduplicate(), lazy=True),
    TableKind("keyed changelog", {"bucket": "1", "changelog-producer": "lookup", **_ONLY}, ("id",), (), Deduplicate()),
    TableKind("keyed input", {"bucket": "1", "changelog-producer": "input", **_ONLY}, ("id",), (), Deduplicate()),
    TableKind("partial update", {"bucket": "1", "merge-engine": "partial-update"}, ("id",), (), PartialUpdate()),
    TableKind(
        "aggregation",
        {
            "bucket": "1",
            "merge-engine": "aggregation",
            "fields.v.aggregate-function": "max",
            "fields.n.aggregate-function": "sum",
        },
        ("id", "p"),
        _BY,
        Aggregate(),
        weight=1.5,
    ),
    TableKind(
        "aggregation changelog",
        {
            "bucket": "1",
            "merge-engine": "aggregation",
            "changelog-producer": "lookup",
            "num-sorted-run.compaction-trigger": "2",
            "fields.v.aggregate-function": "max",
            "fields.n.aggregate-function": "sum",
        },
        ("id",),
        (),
        Aggregate(),
    ),
    TableKind("first row", {"bucket": "1", "merge-engine": "first-row"}, ("id",), (), FirstRow(), lazy=True),
)
KINDS: dict[str, TableKind] = {kind.name: kind for kind in _KINDS}
"""The kinds by name."""


def place(folder: Path) -> Path:
    """Where the table of a round stands."""
    return folder / "warehouse" / "db.db" / "t"
