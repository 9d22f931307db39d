"""Statements that Python executes, as data.

A statement that Spark's own rules cannot execute on our tables is read into one of these classes and handed to Spark
in a CALL (see ``carry``). Expressions and queries inside stay SQL text, for Spark to parse when the statement is
executed; a table is its full name, catalog first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from paimon_sql.sql.context import TableName

Options = Mapping[str, str]
OnError = Literal["ABORT_STATEMENT", "CONTINUE", "SKIP_FILE"]
"""What COPY INTO does with rows that cannot be read: stop, leave them out, or leave their files out."""
PartitionSpec = tuple[tuple[str, str | None], ...]
"""Columns of a partition with the SQL of their values; None for a column that was only named."""


class Node:
    """A part of a statement that is written to JSON under the name of its class."""


@dataclass(frozen=True)
class Statement(Node):
    """A statement that Python executes."""


# -- changing rows ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowChange(Statement):
    """A statement that changes rows of ``table``.

    ``text`` is the whole of it in Spark's own grammar, every word at the line and column where the user wrote it; it
    is filled in when the statement is carried.
    """

    table: TableName
    text: str = field(default="", compare=False, kw_only=True)


@dataclass(frozen=True)
class Assignment(Node):
    """``column = value``; the column is its parts, the value an expression or ``DEFAULT``."""

    column: tuple[str, ...]
    value: str


@dataclass(frozen=True)
class DeleteFrom(RowChange):
    """DELETE FROM; without ``where`` all rows go. ``ctes`` is the text ``WITH a AS (..), ..`` before it, or empty."""

    alias: str | None = None
    where: str | None = None
    ctes: str = ""
    options: Options = field(default_factory=dict)


@dataclass(frozen=True)
class Update(RowChange):
    """UPDATE .. SET; without ``where`` all rows change."""

    assignments: tuple[Assignment, ...]
    alias: str | None = None
    where: str | None = None
    ctes: str = ""
    options: Options = field(default_factory=dict)


@dataclass(frozen=True)
class MergeClause(Node):
    """One WHEN clause of a MERGE.

    Attributes:
        rows: which rows it is for.
        action: what happens to them; the ``*`` forms take all columns of the source.
        condition: the expression after AND.
        assignments: the columns that are set or inserted, in order, unless the action is DELETE or a ``*`` form.
    """

    rows: Literal["MATCHED", "NOT MATCHED", "NOT MATCHED BY SOURCE"]
    action: Literal["UPDATE", "UPDATE *", "DELETE", "INSERT", "INSERT *"]
    condition: str | None = None
    assignments: tuple[Assignment, ...] = ()


@dataclass(frozen=True)
class MergeInto(RowChange):
    """MERGE INTO; of the clauses for a row, the first whose condition holds acts.

    ``source`` is what stands after USING without its alias: a table with its options and time, or a query in brackets.
    ``source_alias`` is the alias's text, with the names of columns where they are given.
    """

    source: str
    on: str
    clauses: tuple[MergeClause, ...]
    alias: str | None = None
    source_alias: str | None = None
    schema_evolution: bool = False
    ctes: str = ""
    options: Options = field(default_factory=dict)


@dataclass(frozen=True)
class EvolvingInsert(RowChange):
    """INSERT that may bring columns: BY NAME under ``write.merge-schema``, or WITH SCHEMA EVOLUTION, ``evolves``."""

    options: Options = field(default_factory=dict)
    evolves: bool = False


@dataclass(frozen=True)
class ExplainChange(Statement):
    """EXPLAIN of a statement that changes rows; ``mode`` is how much is told, in Spark's words."""

    statement: RowChange
    mode: str = "simple"


# -- statistics -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AnalyzeTable(Statement):
    """ANALYZE TABLE .. COMPUTE STATISTICS; of rows alone, of ``columns``, or of all of them."""

    table: TableName
    partition: PartitionSpec | None = None
    columns: tuple[str, ...] = ()
    all_columns: bool = False
    noscan: bool = False


# -- tables -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CreateTableLike(Statement):
    """CREATE TABLE .. LIKE; ``options`` win over those of the source.

    ``features`` are Flink's, such as ``EXCLUDING OPTIONS``.
    """

    table: TableName
    source: TableName
    if_not_exists: bool = False
    options: Options = field(default_factory=dict)
    features: tuple[str, ...] = ()
    provider: str | None = None
    location: str | None = None


@dataclass(frozen=True)
class ColumnChange(Node):
    """A column that is added or that replaces the one of its name.

    ``type`` is read by ``types.read_type_text`` and says the nullability too; without ``comment`` the column has none.
    ``position`` is FIRST or AFTER (the column ``after``); without it a new column comes last and an old one stays.
    """

    name: str
    type: str
    comment: str | None = None
    position: Literal["FIRST", "AFTER"] | None = None
    after: str | None = None


@dataclass(frozen=True)
class AddColumns(Statement):
    """ALTER TABLE .. ADD (..) in one change of the schema, for types that Spark cannot declare."""

    table: TableName
    columns: tuple[ColumnChange, ...]


@dataclass(frozen=True)
class ModifyColumns(Statement):
    """ALTER TABLE .. MODIFY: the columns are from now on as they are written, in one change of the schema."""

    table: TableName
    columns: tuple[ColumnChange, ...]


# -- materialized tables ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CreateMaterializedTable(Statement):
    """CREATE MATERIALIZED TABLE .. AS.

    Attributes:
        query: the query in Spark's own grammar, every word at the line and column where the user wrote it.
        columns: the names of the query's columns in the order of the table's; those of the query without any.
        column_comments: what is said of a column, by its name.
        primary_key: the columns of the key; none for an append table.
        freshness: how old the rows may be, a number and its unit in the singular.
        refresh_mode: how it is refreshed; without it the freshness decides.
        or_alter: whether a table that exists gets this query, freshness, mode and these options.
    """

    table: TableName
    query: str
    columns: tuple[str, ...] = ()
    column_comments: Options = field(default_factory=dict)
    primary_key: tuple[str, ...] = ()
    comment: str | None = None
    partitions: tuple[str, ...] = ()
    options: Options = field(default_factory=dict)
    freshness: tuple[str, Literal["SECOND", "MINUTE", "HOUR", "DAY"]] | None = None
    refresh_mode: Literal["CONTINUOUS", "FULL"] | None = None
    or_alter: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class ChangeMaterializedQuery(Statement):
    """ALTER MATERIALIZED TABLE .. AS; the query as in `CreateMaterializedTable`."""

    table: TableName
    query: str


@dataclass(frozen=True)
class SuspendMaterializedTable(Statement):
    """ALTER MATERIALIZED TABLE .. SUSPEND."""

    table: TableName


@dataclass(frozen=True)
class ResumeMaterializedTable(Statement):
    """ALTER MATERIALIZED TABLE .. RESUME, with options that the table gets."""

    table: TableName
    options: Options = field(default_factory=dict)


@dataclass(frozen=True)
class RefreshMaterializedTable(Statement):
    """ALTER MATERIALIZED TABLE .. REFRESH, of all rows or of the partitions with these values, as texts."""

    table: TableName
    partition: Options = field(default_factory=dict)


@dataclass(frozen=True)
class DropMaterializedTable(Statement):
    """DROP MATERIALIZED TABLE."""

    table: TableName
    if_exists: bool = False


@dataclass(frozen=True)
class ShowMaterializedTables(Statement):
    """SHOW MATERIALIZED TABLES of a database, its catalog first; of those alone whose names are like the pattern."""

    database: TableName
    pattern: str | None = None


@dataclass(frozen=True)
class ShowCreateMaterializedTable(Statement):
    """SHOW CREATE MATERIALIZED TABLE."""

    table: TableName


# -- tags and branches ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CreateTag(Statement):
    """CREATE TAG, REPLACE TAG or CREATE OR REPLACE TAG.

    Attributes:
        snapshot: the snapshot that it names; the latest one without it.
        time_retained: how long it stays, as the procedures write it (``7 d``); for ever without it.
        mode: CREATE refuses a tag that exists, REPLACE one that does not.
        if_not_exists: with CREATE, leave a tag that exists as it is.
    """

    table: TableName
    tag: str
    mode: Literal["CREATE", "REPLACE", "CREATE OR REPLACE"] = "CREATE"
    snapshot: int | None = None
    time_retained: str | None = None
    if_not_exists: bool = False


@dataclass(frozen=True)
class DeleteTag(Statement):
    """DELETE TAG; ``tag`` may be several names, separated by commas."""

    table: TableName
    tag: str
    if_exists: bool = False


@dataclass(frozen=True)
class RenameTag(Statement):
    """RENAME TAG .. TO."""

    table: TableName
    tag: str
    target: str


@dataclass(frozen=True)
class DropPartitions(Statement):
    """ALTER TABLE .. DROP PARTITION, of which one names some of the partition columns; each is written ``(a = 1)``."""

    table: TableName
    partitions: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True)
class DescribePartition(Statement):
    """DESCRIBE EXTENDED of a partition that is written ``(a = 1)``."""

    table: TableName
    partition: str


@dataclass(frozen=True)
class RepairPartitions(Statement):
    """MSCK REPAIR TABLE: the catalog's list of partitions is brought up to date, by what it lacks or has over."""

    table: TableName
    way: Literal["ADD", "DROP", "SYNC"] = "ADD"


@dataclass(frozen=True)
class ShowTags(Statement):
    """SHOW TAGS: one column ``tag``."""

    table: TableName


@dataclass(frozen=True)
class CreateBranch(Statement):
    """CREATE BRANCH, from a tag or snapshot or empty."""

    table: TableName
    branch: str
    tag: str | None = None
    if_not_exists: bool = False
    snapshot: int | None = None


@dataclass(frozen=True)
class DeleteBranch(Statement):
    """DELETE BRANCH; ``branch`` may be several names, separated by commas."""

    table: TableName
    branch: str
    if_exists: bool = False


@dataclass(frozen=True)
class RenameBranch(Statement):
    """RENAME BRANCH .. TO."""

    table: TableName
    branch: str
    target: str


@dataclass(frozen=True)
class ShowBranches(Statement):
    """SHOW BRANCHES: one column ``branch``."""

    table: TableName


# -- catalogs, functions and files ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CreateCatalog(Statement):
    """CREATE CATALOG .. WITH: a catalog for this session. Values that may be secret are kept beside (`kept_values`)."""

    name: str
    options: Options
    if_not_exists: bool = False
    comment: str | None = None


@dataclass(frozen=True)
class DropCatalog(Statement):
    """DROP CATALOG: forget a catalog of this session; its files stay."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class DescribeFunction(Statement):
    """DESCRIBE FUNCTION of one of a catalog's functions, its full name like a table's."""

    function: TableName
    extended: bool = False


@dataclass(frozen=True)
class CreateFunction(Statement):
    """CREATE FUNCTION of a catalog, its full name like a table's; ``definition`` is the text behind the name."""

    function: TableName
    definition: str
    replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropFunction(Statement):
    """DROP FUNCTION of a catalog."""

    function: TableName
    if_exists: bool = False


@dataclass(frozen=True)
class CopyIntoTable(Statement):
    """COPY INTO table FROM 'path'.

    ``file_format`` is what ``file_format.file_format`` reads: checked, its keys and all fixed words in upper case;
    ``TYPE`` is one of the keys, and a list is its values in order.
    """

    table: TableName
    path: str
    file_format: Mapping[str, str | tuple[str, ...]]
    columns: tuple[str, ...] = ()
    pattern: str | None = None
    force: bool = False
    on_error: OnError = "ABORT_STATEMENT"


@dataclass(frozen=True)
class CopyIntoLocation(Statement):
    """COPY INTO 'path' FROM table or (query); ``source`` is the table's SQL or the query without its brackets."""

    path: str
    source: str
    is_query: bool
    file_format: Mapping[str, str | tuple[str, ...]]
    overwrite: bool = False
