"""Refresh of a materialized table: its state, and the partitions that are refreshed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import tzinfo
from functools import cached_property

import pyarrow as pa

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.bytes.bounded import load_json
from paimon_sql.format.layout.partitions import PartitionPaths
from paimon_sql.format.metadata.snapshot import CommitKind, Snapshot
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.text.values import parse_text
from paimon_sql.storage.expressions.predicates import Comparison, IsNull, Or, Predicate, all_of
from paimon_sql.storage.materialized.definition import Definition
from paimon_sql.storage.table.table import Table

PROPERTY = "materialized-table.refresh"
_SAME_ROWS = (CommitKind.COMPACT, CommitKind.ANALYZE)


@dataclass(frozen=True)
class SourceState:
    """The state of a source table that a refresh read.

    Attributes:
        table: the full name.
        branch: the branch.
        snapshot: the snapshot id; None for an empty table.
        time_millis: the commit time of the snapshot, which distinguishes it from one of another table of that name.
        schema: the id of the schema it was read with.
    """

    table: str
    branch: str
    snapshot: int | None
    time_millis: int | None
    schema: int


@dataclass(frozen=True)
class RefreshState:
    """The result of a refresh, which is stored in the snapshot of its rows.

    State and rows are therefore always consistent: a rollback reverts both, and every branch and tag has its own state.
    Compactions and statistics, which change no row, inherit it; after any other snapshot without it it is unknown.

    Attributes:
        query: the digest of the query.
        refreshed: when the table was refreshed, in milliseconds since the epoch; None if only specified partitions
            were.
        mode: FULL or INCREMENTAL.
        sources: the source tables as they were read; None if there are sources other than versioned tables.
        views: the digest of the views that were read.
    """

    query: str
    refreshed: int | None
    mode: str
    sources: tuple[SourceState, ...] | None = None
    views: str = ""

    def properties(self) -> dict[str, str]:
        """Return the snapshot properties that store the state."""
        return {PROPERTY: json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":"))}

    @staticmethod
    def read(properties: Mapping[str, str] | None) -> RefreshState | None:
        """Read the state from snapshot properties; None if it is missing or unreadable."""
        with suppress(ValueError, LookupError, TypeError):
            found = load_json((properties or {})[PROPERTY])
            sources = found["sources"]
            read = None if sources is None else tuple(SourceState(**source) for source in sources)
            return RefreshState(found["query"], found["refreshed"], found["mode"], read, found["views"])
        return None


def inherited_properties(kind: CommitKind, latest: Snapshot | None) -> dict[str, str]:
    """Return the properties that a snapshot of this kind inherits from the previous one."""
    state = (latest.properties or {}).get(PROPERTY) if latest and kind in _SAME_ROWS else None
    return {} if state is None else {PROPERTY: state}


def last_refresh(table: Table, latest: Snapshot | None) -> RefreshState | None:
    """Return the state of the last refresh; None if there was none, rows changed since, or it is unknown.

    Compactions by other engines do not inherit the state; it is then searched in older snapshots.

    Args:
        table: the table.
        latest: its latest snapshot.
    """
    snapshot = latest
    while snapshot is not None:
        found = RefreshState.read(snapshot.properties)
        if found is not None or not keeps_rows(snapshot):
            return found
        snapshot = table.snapshots.find(snapshot.id - 1)
    return None


def keeps_rows(snapshot: Snapshot) -> bool:
    """Whether a snapshot has the same rows as the previous one."""
    return snapshot.commit_kind in _SAME_ROWS


def is_due(definition: Definition, state: RefreshState | None, now: int) -> bool:
    """Whether a refresh is due: the last one is older than the freshness, or was of another query.

    Args:
        definition: the table's definition.
        state: the state of the last refresh.
        now: the current time in milliseconds since the epoch.
    """
    if state is None or state.refreshed is None or state.query != definition.digest:
        return True
    return now - state.refreshed >= definition.freshness.length.total_seconds() * 1000


class PartitionChoice:
    """Partition specs of a table; a partial spec matches all partitions with its values.

    Args:
        schema: the table's schema.
        named: the values as strings by column; the default partition name means null.
        zone: the time zone of TIMESTAMP_LTZ values.

    Raises:
        InvalidInputError: a column is not a partition column, or a string is not a value of its type.
    """

    def __init__(self, schema: TableSchema, named: Sequence[Mapping[str, str]], zone: tzinfo) -> None:
        self._schema = schema
        self._named = named
        default = PartitionPaths.of(schema).default_name
        self._scalars = [{k: self._scalar(k, v, default, zone) for k, v in spec.items()} for spec in named]

    @property
    def shown(self) -> str:
        """The specs for display: ``dt=x/h=1``, comma-separated."""
        return ", ".join("/".join(f"{k}={v}" for k, v in spec.items()) for spec in self._named)

    @cached_property
    def values(self) -> list[dict[str, object]]:
        """The values by column; columns that are not specified are absent."""
        return [{k: v.as_py() for k, v in spec.items()} for spec in self._scalars]

    @cached_property
    def predicate(self) -> Predicate:
        """The predicate that the rows of these partitions match."""
        parts = [
            all_of([Comparison(k, "=", v) if v.is_valid else IsNull(k) for k, v in spec.items()])
            for spec in self._scalars
        ]
        known = tuple(part for part in parts if part is not None)
        return known[0] if len(known) == 1 else Or(known)

    def _scalar(self, name: str, text: str, default: str, zone: tzinfo) -> pa.Scalar:
        if name not in self._schema.partition_keys:
            keys = ", ".join(self._schema.partition_keys)
            remedy = f"Its partition columns are {keys}." if keys else "It has no partitions."
            raise InvalidInputError(f"{name} is not a partition column of the table.", remedy=remedy)
        data_type = self._schema.field(name).type
        if text == default:
            return pa.scalar(None, arrow_type(data_type))
        try:
            return pa.scalar(parse_text(text, data_type, zone), arrow_type(data_type))
        except (ValueError, InvalidInputError) as error:
            raise InvalidInputError(f"'{text}' is not a value of partition column {name}: {error}") from error
