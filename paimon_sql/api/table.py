"""Tables of the Python API: reads, time travel, writes and maintenance."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import pyarrow as pa

from paimon_sql.api.alter import Alteration
from paimon_sql.api.columns import names_in
from paimon_sql.api.commit_feed import CommitFeed
from paimon_sql.api.rows import ArrowLike, batches_of, keys_of, value_of
from paimon_sql.api.scan import Scan, condition_of
from paimon_sql.api.sources import Changes, Rows
from paimon_sql.catalog.alter_table import alter_table
from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.catalog.table_types import writable
from paimon_sql.errors import InvalidInputError, NotFoundError, UnsupportedError, did_you_mean
from paimon_sql.format.metadata.snapshot import Snapshot
from paimon_sql.format.options.operations import scan as scan_options
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.storage.branches.selection import branch_of
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.expressions.predicates import Predicate
from paimon_sql.storage.scan.layout import ScanLayout
from paimon_sql.storage.staging.proposal import Overwrite
from paimon_sql.storage.statements.delete import delete
from paimon_sql.storage.statements.insert import insert
from paimon_sql.storage.statements.selection import with_keys
from paimon_sql.storage.statements.update import Assignments, Compute, update
from paimon_sql.storage.table.table import Table as StoredTable
from paimon_sql.storage.table.time_travel.change_range import Bound, commits_between

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars


@dataclass(frozen=True)
class Table:
    """A table as of when it was opened: its columns and options stay, its rows are those of each call.

    Opened by `Catalog.table` or `open_table`. Every write is one transaction, under the same checks as those of Spark
    sessions and of Apache Paimon's other engines, which may use the table at the same time.
    """

    _stored: StoredTable
    _identifier: Identifier
    _catalog: Catalog = field(repr=False)

    @property
    def name(self) -> str:
        """Database and table; the path of a table that was opened by its directory outside of a warehouse."""
        return str(self._identifier)

    @property
    def path(self) -> str:
        """The directory or URI of the table."""
        return self._stored.path

    @property
    def schema(self) -> pa.Schema:
        """The columns in Arrow's types."""
        return arrow_schema(self._stored.schema.fields)

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The columns of the primary key; empty for append tables."""
        return self._stored.schema.primary_keys

    @property
    def partition_by(self) -> tuple[str, ...]:
        """The partition columns."""
        return self._stored.schema.partition_keys

    @property
    def options(self) -> Mapping[str, str]:
        """The options that are set."""
        return dict(self._stored.schema.options)

    @property
    def comment(self) -> str | None:
        """The table's comment."""
        return self._stored.schema.comment

    def with_options(self, options: Mapping[str, str]) -> Table:
        """Return the same table under further options for reads and writes, which are not stored.

        Raises:
            InvalidOptionError: an option does not exist, or its value is invalid.
        """
        return replace(self, _stored=self._stored.with_options(options))

    def branch(self, name: str) -> Table:
        """Return a branch of the table.

        Raises:
            NotFoundError: it does not exist.
        """
        identifier = replace(self._identifier, branch=name)
        return replace(self, _stored=branch_of(self._stored, name), _identifier=identifier)

    # Reads.

    def scan(self, where: str | None = None, columns: Sequence[str] | None = None, *, limit: int | None = None) -> Scan:
        """Return a scan of some columns of the rows that satisfy a condition.

        Args:
            where: a condition in SQL: columns compared with literals by ``=``, ``<``, ``IN``, ``BETWEEN``, ``LIKE``,
                ``IS NULL``, joined by ``AND``, ``OR`` and ``NOT``.
            columns: the names of the columns; all by default.
            limit: the max number of rows.

        Raises:
            InvalidInputError: the condition cannot be parsed, or a column does not exist.

        >>> orders.scan("amount > 20 AND day LIKE '2026-%'", ["id"]).to_arrow().to_pylist()
        [{'id': 2}]
        """
        return Scan.of(Rows(self._stored), where, columns, limit)

    def changes(
        self,
        start: int | str | None = None,
        end: int | str | None = None,
        *,
        where: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> Scan:
        """Return a scan of the rows that commits changed, one row per change.

        After the table's columns come ``_change_type`` (``insert``, ``delete``, ``update_preimage`` or
        ``update_postimage``), ``_commit_version``, the snapshot, and ``_commit_timestamp``.

        Args:
            start: the first commit, by the id of a snapshot or a tag; the first one with retained changes by default.
            end: the last commit; the latest one by default.
            where: a condition on the table's columns; see `scan`.
            columns: the names of the columns; all by default.

        Raises:
            NoSuchSnapshotError: a commit, or the state before it that is needed, is not retained.
            InvalidInputError: the range ends before it begins, or as for `scan`.

        >>> orders.changes(columns=["id", "_change_type"]).head(1).to_arrow().to_pylist()
        [{'id': 1, '_change_type': 'insert'}]
        """
        ends = [None if version is None else Bound(str(version)) for version in (start, end)]
        return Scan.of(Changes(self._stored, commits_between(self._stored, *ends)), where, columns, None)

    def follow(
        self,
        start: int | None = None,
        *,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        consumer: str | None = None,
        wait: float | None = None,
        poll: float = 1.0,
    ) -> Iterator[tuple[int, Scan]]:
        """Yield the changes of each commit, and then those of each new one when it is there.

        Each item is the id of a snapshot, and a scan as of `changes`, which may have no rows, as after a compaction.
        Whoever stores the next id together with what was made of the rows continues there, without gap or repetition.

        Args:
            start: the first commit, by the id of its snapshot, which need not exist yet; the first one with retained
                changes by default.
            where: a condition on the table's columns; see `scan`.
            columns: the names of the columns; all by default.
            consumer: the name of a consumer of the table, which stores the progress: a later call continues there
                whatever its start is, and snapshots that it has not read do not expire. A commit counts as read when
                the next one is asked for.
            wait: the seconds to wait for another commit before the iteration ends; forever by default.
            poll: the seconds between two looks for new commits.

        Raises:
            NoSuchSnapshotError: a commit, or the state before it that is needed, is not retained, or a rollback removed
                the commit that was read last; also later. A rollback between two calls is not noticed.
            InvalidInputError: as for `changes`.

        >>> for snapshot, changes in orders.follow(columns=["id", "_change_type"], wait=0):
        ...     print(snapshot, changes.count())
        1 2
        """
        commits = CommitFeed(self._stored, consumer, wait, poll)
        first = commits.first(start)
        scan = Scan.of(Changes(self._stored, range(0)), where, columns, None)
        return ((n, scan.over(Changes(self._stored, range(n, n + 1)))) for n in commits.after(first))

    def at(
        self,
        version: int | str | None = None,
        *,
        timestamp: datetime | None = None,
    ) -> Table:
        """Return the table as it was, with the columns of that time; it is read-only.

        Args:
            version: the id of a snapshot, or the name of a tag.
            timestamp: the last snapshot at or before this time; without a time zone it is UTC.

        Raises:
            NoSuchSnapshotError: no such state is retained.
            InvalidInputError: not exactly one of the arguments is given.

        >>> orders.at(1).scan().count()
        2
        """
        if (version is None) == (timestamp is None):
            raise InvalidInputError("Time travel needs a version or a timestamp.", remedy="Give one of the two.")
        if timestamp is not None:
            millis = int((timestamp if timestamp.tzinfo else timestamp.replace(tzinfo=timezone.utc)).timestamp() * 1000)
            options = {scan_options.SCAN_TIMESTAMP_MILLIS.key: str(millis)}
        else:
            options = {scan_options.SCAN_VERSION.key: str(version)}
        moved = self._stored.with_options(options)
        return replace(self, _stored=ScanLayout.of(moved).scanned_version(moved).of(moved))

    def to_arrow(self) -> pa.Table:
        """Read the whole table into memory."""
        return self.scan().to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """Read the whole table into a data frame of pandas."""
        return self.scan().to_pandas()

    def to_polars(self) -> polars.LazyFrame:
        """Return a lazy frame of Polars; see `Scan.to_polars`."""
        return self.scan().to_polars()

    def to_duckdb(self, connection: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyRelation:
        """Return a relation of DuckDB; see `Scan.to_duckdb`."""
        return self.scan().to_duckdb(connection)

    # Writes.

    def append(self, rows: ArrowLike) -> int | None:
        """Add rows; in a table with a primary key they are merged with those of the same key by its merge engine.

        Args:
            rows: the table's columns by name, in any order; missing ones get their default value, or null.

        Returns:
            The id of the snapshot; None without rows.

        Raises:
            PaimonError: a row does not fit the table, or cannot be committed; then nothing is written.

        >>> orders.append(pa.table({"id": [3], "day": ["2026-11-02"], "amount": [1.5]}))
        2
        """
        return self._insert(rows, None)

    def upsert(self, rows: ArrowLike) -> int | None:
        """Add rows, in the place of those of the same primary key; as `append`.

        Raises:
            UnsupportedError: the table has no primary key.

        >>> orders.upsert([{"id": 1, "day": "2026-11-03", "amount": 9.0}])
        2
        """
        if not self.primary_key:
            raise UnsupportedError(
                f"{self.name} has no primary key, by which rows could be replaced.", remedy="Append the rows."
            )
        return self._insert(rows, None)

    def overwrite(self, rows: ArrowLike, where: str | None = None, *, dynamic: bool = False) -> int | None:
        """Replace rows by others, in one snapshot.

        Args:
            rows: as for `append`.
            where: a condition on partition columns: the partitions to replace, in which all rows must be.
            dynamic: whether to replace the partitions of the rows; with neither, the whole table is replaced.

        Raises:
            InvalidInputError: the condition is on other columns, or rows are outside of it.

        >>> orders.overwrite([{"id": 7, "day": "2026-11-04", "amount": 2.0}])
        2
        >>> orders.scan(columns=["id"]).to_arrow().to_pylist()
        [{'id': 7}]
        """
        predicate = condition_of(self._stored, where)
        self._check_partitions(predicate)
        return self._insert(rows, Overwrite(predicate, dynamic))

    def delete(self, where: str | None = None) -> int:
        """Delete the rows that satisfy a condition, all of them without one; return their number.

        Raises:
            UnsupportedError: rows of the table cannot be deleted, as with some merge engines.
            CommitConflictError: others changed the same rows in the meantime, several times.

        >>> orders.delete("amount < 20")
        1
        """
        return delete(self._writable(), condition_of(self._stored, where), self._executor())

    def delete_keys(self, keys: ArrowLike) -> int:
        """Delete the rows with some primary keys; return their number.

        Args:
            keys: rows with the columns of the primary key, as for `append`; other columns are ignored.

        Raises:
            UnsupportedError: the table has no primary key, or as for `delete`.
            InvalidInputError: a column of the key is missing.
            CommitConflictError: as for `delete`.

        >>> orders.delete_keys([{"id": 1}, {"id": 99}])
        1
        """
        table = self._writable()
        if not self.primary_key:
            raise UnsupportedError(
                f"{self.name} has no primary key, by which rows could be deleted.", remedy="Delete by a condition."
            )
        found = keys_of(table, keys)
        return delete(table, with_keys(found), self._executor()) if len(found) else 0

    def update(self, values: Mapping[str, object], where: str | None = None) -> int:
        """Update the rows that satisfy a condition, all of them without one; return their number.

        Args:
            values: the new values by column: a value for all rows, None for null (which under ``merge-engine`` =
                ``partial-update`` replaces no value, as in SQL), or a function that computes them. It gets rows as a
                `pyarrow.RecordBatch` with all columns and their old values, and returns an Arrow array with one value
                per row. It is called batch by batch, and again if the transaction has to be repeated.
            where: a condition; see `scan`.

        Raises:
            UnsupportedError: rows of the table cannot be updated, as with some merge engines, or not these columns.
            InvalidInputError: a column does not exist, or a value does not fit it.
            CommitConflictError: others changed the same rows in the meantime, several times.

        >>> import pyarrow.compute as pc
        >>> orders.update({"day": "2026-11-09", "amount": lambda rows: pc.multiply(rows["amount"], 2)}, "id = 1")
        1
        >>> orders.scan("id = 1", ["day", "amount"]).to_arrow().to_pylist()
        [{'day': '2026-11-09', 'amount': 25.0}]
        """
        table = self._writable()
        if not values:
            raise InvalidInputError(f"{self.name}: an update needs a column.", remedy="Name at least one.")
        names = names_in(table, table.schema.names, table.schema.names, list(values))
        assigned: dict[str, pa.Scalar | Compute] = {
            name: value if callable(value) else value_of(table, name, value)
            for name, value in zip(names, values.values(), strict=True)
        }
        return update(table, Assignments(assigned), condition_of(table, where), self._executor())

    def alter(
        self,
        *,
        drop: Collection[str] = (),
        rename: Mapping[str, str] | None = None,
        add: Mapping[str, pa.DataType] | None = None,
        types: Mapping[str, pa.DataType] | None = None,
        nullable: Mapping[str, bool] | None = None,
        comments: Mapping[str, str | None] | None = None,
        options: Mapping[str, str | None] | None = None,
        comment: str | None = None,
    ) -> Table:
        """Change the definition of the table in one step, and return the changed table.

        Files are not rewritten: rows that exist are read with the new columns and types. The changes apply in the order
        of the arguments, so that later ones find columns by their new names. A field inside of a column is
        ``column.field``; a name that has dots itself stands in back-quotes.

        Args:
            drop: columns to drop.
            rename: new names of columns.
            add: new columns with their types; they are null in rows that exist.
            types: new types of columns.
            nullable: whether columns may be null.
            comments: comments of columns; None removes one.
            options: values of the table's options; None removes one.
            comment: the table's comment; an empty one is removed.

        Raises:
            InvalidSchemaError: a column does not exist, or keys, data or other columns forbid a change.
            InvalidOptionError: an option does not exist, has an invalid value, or cannot be changed.
            UnsupportedError: the table is materialized: its columns are those of its query.

        >>> orders = orders.alter(rename={"day": "ordered"}, add={"note": pa.string()}, comment="since 2026")
        >>> orders.schema.names
        ['id', 'ordered', 'amount', 'note']
        """
        self._refuse_earlier_state()
        alteration = Alteration(
            drop, rename or {}, add or {}, types or {}, nullable or {}, comments or {}, options or {}, comment
        )
        alter_table(self._catalog, self._identifier, list(alteration.changes()), case_sensitive=False)
        return replace(self, _stored=self._catalog.table(self._identifier))

    def call(self, procedure: str, **arguments: object) -> list[dict[str, object]]:
        """Call a procedure on this table, such as ``compact`` or ``create_tag``; see `paimon_sql.procedures.call`."""
        from paimon_sql.procedures import call

        return call(self._catalog, procedure, table=self.name, **arguments)

    # Metadata.

    def snapshots(self) -> list[Snapshot]:
        """Return the retained snapshots in order."""
        return self._stored.snapshots.listed()

    def tags(self) -> dict[str, int]:
        """Return the ids of the tagged snapshots by tag."""
        return {tag.name: tag.snapshot.id for tag in self._stored.tags.all()}

    def branches(self) -> list[str]:
        """Return the names of the branches, without ``main``."""
        return self._stored.branches.names()

    def metadata(self, name: str) -> pa.Table:
        """Return the rows of a system table, such as ``files`` for ``t$files``.

        Raises:
            NotFoundError: there is no such system table.
        """
        from paimon_sql.system_tables import system_tables

        found = system_tables().get(name.lower())
        if found is None:
            raise NotFoundError(
                f"There is no system table ${name} of {self.name}.",
                name=name,
                remedy=did_you_mean(name, system_tables()) or f"There are {', '.join(sorted(system_tables()))}.",
            )
        return found.rows(self._stored)

    def _insert(self, rows: ArrowLike, overwrite: Overwrite | None) -> int | None:
        table = self._writable()
        made = insert(table, batches_of(table, rows), self._executor(), overwrite)
        return None if made is None else made.id

    def _writable(self) -> StoredTable:
        self._refuse_earlier_state()
        return writable(self._stored)

    def _refuse_earlier_state(self) -> None:
        if ScanLayout.of(self._stored).scanned_version(self._stored).travelled:
            raise UnsupportedError(f"{self.name} is read at an earlier state, which cannot be changed.")

    def _check_partitions(self, predicate: Predicate | None) -> None:
        others = set() if predicate is None else predicate.columns() - set(self.partition_by)
        if others:
            raise InvalidInputError(
                f"{self.name}: {min(others)} is not a partition column.",
                remedy="An overwrite replaces whole partitions; to replace other rows, delete them and append.",
            )

    @staticmethod
    def _executor() -> LocalExecutor:
        return LocalExecutor(os.cpu_count() or 1)
