"""The session as the rewrite sees it, and the text and resolved names of a statement's nodes in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from paimon_sql.errors import InvalidInputError
from paimon_sql.sql.dialect.nodes import Parts, Verbatim, span
from paimon_sql.sql.edits import Edit, apply
from paimon_sql.sql.errors import SqlSyntaxError
from paimon_sql.sql.text.names import parts_in

TableName = tuple[str, ...]
"""Full name of a table: catalog, database, table."""

SESSION_CATALOG = "spark_catalog"
"""The name of Spark's built-in catalog."""


def no_blobs(catalog: str, table: str, column: str) -> tuple[str, int]:
    """Default of ``blob_column``: there are no tables.

    Raises:
        InvalidInputError: always.
    """
    raise InvalidInputError(f"Catalog {catalog} has no table {table}.")


@dataclass(frozen=True)
class RewriteContext:
    """The session that a statement is run in; by default, there are no tables and functions but those of Paimon.

    Attributes:
        current_catalog: the catalog of names without one.
        current_database: the database of names that consist of a table alone.
        catalogs: names of the Paimon catalogs.
        other_catalogs: names of all other catalogs, so that ``other.t`` is not taken for a table of database ``other``.
        shared_catalogs: names of the Paimon catalogs that also hold other tables.
        default_provider: provider of tables of a shared catalog that are created without USING.
        is_foreign_table: whether a name in a shared catalog is not that of a Paimon table.
        partition_keys: the partition columns of a Paimon table; empty for a missing table.
        is_format_table: whether a Paimon table is a format table.
        merges_schema: whether the session lets writes add columns to a Paimon table.
        hive_columns: the columns of a Paimon table whose dynamic partition columns come last in an INSERT, as in Hive;
            empty where INSERT follows the table's order.
        query_columns: the names of a query's columns in lower case; empty if it has an error.
        has_function: whether a Paimon catalog has a function of that full name.
        blob_column: for catalog, table and blob column, the table's name ``db.t`` and the column's field id.
        has_table: whether a Paimon catalog has a table of that full name.
        refuses_unstored: whether CREATE TABLE refuses watermarks and columns that are not stored, instead of leaving
            them out.
    """

    current_catalog: str
    current_database: str
    catalogs: frozenset[str]
    other_catalogs: frozenset[str] = frozenset({SESSION_CATALOG})
    shared_catalogs: frozenset[str] = frozenset()
    default_provider: str = ""
    is_foreign_table: Callable[[TableName], bool] = lambda _: False
    partition_keys: Callable[[TableName], tuple[str, ...]] = lambda _: ()
    is_format_table: Callable[[TableName], bool] = lambda _: False
    merges_schema: Callable[[TableName], bool] = lambda _: False
    hive_columns: Callable[[TableName], tuple[str, ...]] = lambda _: ()
    query_columns: Callable[[str], tuple[str, ...]] = lambda _: ()
    has_function: Callable[[TableName], bool] = lambda _: False
    blob_column: Callable[[str, str, str], tuple[str, int]] = no_blobs
    has_table: Callable[[TableName], bool] = lambda _: False
    refuses_unstored: Callable[[], bool] = lambda: False

    def full_name(self, parts: tuple[str, ...]) -> TableName:
        """Resolve a table name, as Spark does."""
        if len(parts) == 1:
            return (self.current_catalog, self.current_database, *parts)
        if parts[0].lower() in self.shared_catalogs:
            return (parts[0].lower(), *parts[1:])  # the only catalog name that Spark matches in any case
        if parts[0] in self.catalogs or parts[0] in self.other_catalogs or len(parts) > 2:
            return parts
        return (self.current_catalog, *parts)

    def table(self, parts: tuple[str, ...] | None) -> TableName | None:
        """Resolve the name of a Paimon table; None if it is another catalog's, or without a name."""
        full = self.resolve_new_table(parts)
        return None if full and full[0] in self.shared_catalogs and self.is_foreign_table(full) else full

    def resolve_new_table(self, parts: tuple[str, ...] | None) -> TableName | None:
        """Resolve the name of a table that may be missing; None if its catalog is not Paimon's."""
        full = self.full_name(parts) if parts else None
        return full if full and full[0] in self.catalogs else None

    def function(self, parts: tuple[str, ...] | None) -> TableName | None:
        """Resolve a function of a Paimon catalog; None for Spark's, as in shared catalogs outside of ``sys``."""
        full = self.resolve_new_table(parts)
        return None if full and full[0] in self.shared_catalogs and full[1].lower() != "sys" else full

    @property
    def host(self) -> str | None:
        """The Paimon catalog for statements that name no table: the current one, or the first by name."""
        return self.current_catalog if self.current_catalog in self.catalogs else min(self.catalogs, default=None)


@dataclass(frozen=True)
class Reading:
    """The SQL text and the resolved names of nodes.

    Attributes:
        source: the statement's text.
        context: the session.
        edits: the edits of Paimon tables inside.
        warnings: what the user must know about the rewriting; copies share the list.
    """

    source: str
    context: RewriteContext
    edits: Sequence[Edit] = field(default=())
    warnings: list[str] = field(default_factory=list)

    def with_edits(self, edits: Sequence[Edit]) -> Reading:
        """A copy with further edits."""
        return replace(self, edits=(*self.edits, *edits))

    def text(self, node: exp.Expr) -> str:
        """A node's text in Spark's grammar."""
        return self.part(*span(node))

    def part(self, start: int, end: int) -> str:
        """``source[start:end]`` in Spark's grammar."""
        return apply(self.source, self.edits, start, end)

    def error(self, problem: str, node: exp.Expr, remedy: str | None = None) -> SqlSyntaxError:
        """An error at a node."""
        start, end = span(node)
        return SqlSyntaxError(problem, text=self.source, start=start, end=end, remedy=remedy)

    def table(self, node: exp.Expr) -> TableName | None:
        """The full name of a Paimon table; None if it is another catalog's."""
        return self.context.table(names_of(node))


def names_of(node: exp.Expr) -> tuple[str, ...] | None:
    """The parts of a name; None if it is computed."""
    if isinstance(node, Parts):
        return tuple(part.name for part in node.expressions)
    if isinstance(node, exp.Identifier):
        return (node.name,)
    if isinstance(node, Verbatim):
        return parts_in(node.name)
    this = node.this if isinstance(node, exp.Table) else None
    if isinstance(this, exp.Func):  # IDENTIFIER('db.t')
        arguments = [each for each in this.iter_expressions() if isinstance(each, exp.Literal) and each.is_string]
        return parts_in(arguments[0].name) if len(arguments) == 1 else None
    return tuple(part.name for part in node.parts) if isinstance(node, exp.Table | exp.Column | exp.Dot) else None
