"""Statements of other lakehouses for what Paimon has procedures and system tables: refused, with what to write."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from paimon_sql.sql.context import Reading, names_of
from paimon_sql.sql.dialect.generator import as_written, writes
from paimon_sql.sql.dialect.nodes import Verbatim, span
from paimon_sql.sql.dialect.parser import PaimonParser, reads
from paimon_sql.sql.errors import SqlSyntaxError
from paimon_sql.sql.statements.base import Outcome, rewrites

_COMPACT, _ROLLBACK = "CALL sys.compact(table => '{}'{})", "CALL sys.rollback(table => '{}', version => '{}')"
_EXPIRE, _ORPHANS = "CALL sys.expire_snapshots(table => '{}')", "CALL sys.remove_orphan_files(table => '{}')"
_EXECUTED = {
    "OPTIMIZE": _COMPACT.format("{0}", ""),
    "EXPIRE_SNAPSHOTS": _EXPIRE,
    "REMOVE_ORPHAN_FILES": _ORPHANS,
    "ROLLBACK_TO_SNAPSHOT": _ROLLBACK.format("{0}", "<snapshot or tag>"),
}
"""Procedures after ALTER TABLE .. EXECUTE, with Paimon's."""


class OtherLakehouse(Verbatim):
    """A statement of another lakehouse, as text: ``expressions`` has the table, ``meta["remedy"]`` what to write.

    ``meta["words"]`` is the position of its first words. ``meta["column"]`` is whether it could also be a DESCRIBE of
    a column, of the table that its second word names.
    """


writes(OtherLakehouse)(as_written)

Remedy = Callable[[PaimonParser, str], str]
"""What to write instead, by the words after the table and the table's name."""


@rewrites(OtherLakehouse)
def refuse(node: OtherLakehouse, reading: Reading) -> Outcome | None:
    """Refuse the statement if its table is one of Paimon's."""
    (table,) = node.expressions
    if reading.table(table) is None:
        return None
    start, end = node.meta["words"]
    words = reading.source[start:end]
    described = reading.context.resolve_new_table((words.split()[-1],)) if node.meta["column"] else None
    if described is not None and reading.context.has_table(described):
        return None
    problem = f"Paimon has no {' '.join(words.upper().split())}."
    raise SqlSyntaxError(problem, text=reading.source, start=start, end=end, remedy=node.meta["remedy"])


def _refused(*words: str, of_column: bool = False) -> Callable[[Remedy], Remedy]:
    """Register the remedy of the statements that begin with these words, TABLE or not, and a table."""

    def register(remedy: Remedy) -> Remedy:
        @reads(*words)
        def read(parser: PaimonParser) -> OtherLakehouse | None:
            first = parser.token
            parser.accept(*words)
            last = parser.previous()
            parser.accept("TABLE")
            return _statement(parser, parser.table_name(), (first.start, last.end + 1), remedy, of_column)

        return remedy

    return register


def _statement(
    parser: PaimonParser, table: exp.Expr | None, words: tuple[int, int], remedy: Remedy, of_column: bool = False
) -> OtherLakehouse | None:
    if table is None or names_of(table) is None:
        return None
    node = OtherLakehouse(this=parser.sql.strip().rstrip(";"), expressions=[table])
    shown = parser.sql[slice(*span(table))]
    node.meta.update(words=words, remedy=f"Write {remedy(parser, shown)}.", column=of_column)
    parser.rest()
    return node


@_refused("VACUUM")
def vacuum(_: PaimonParser, table: str) -> str:
    """Old files belong to snapshots, and files of failed writes to nothing."""
    expire, orphans = _EXPIRE.format(table), _ORPHANS.format(table)
    return f"{expire} to delete old snapshots with their files, and {orphans} to delete files of failed writes"


@_refused("OPTIMIZE")
def optimize(parser: PaimonParser, table: str) -> str:
    """Compaction, sorted or not."""
    while parser.token and not parser.accept("ZORDER", "BY"):
        parser.step()
    columns = (parser.names_in_brackets() or parser.name_list()) if parser.token else None
    if columns is None:
        return _COMPACT.format(table, "")
    names = ",".join(column.name for column in columns.expressions)
    return _COMPACT.format(table, f", order_strategy => 'zorder', order_by => '{names}'")


@_refused("REORG", "TABLE")
def reorganize(_: PaimonParser, table: str) -> str:
    """A full compaction."""
    return _COMPACT.format(table, ", compact_strategy => 'full'")


@_refused("DESCRIBE|DESC", "HISTORY", of_column=True)
def describe_history(_: PaimonParser, table: str) -> str:
    """The snapshots."""
    return f"SELECT * FROM {table}$snapshots"


@_refused("DESCRIBE|DESC", "DETAIL", of_column=True)
def describe_detail(_: PaimonParser, table: str) -> str:
    """The summary of files, or the definition."""
    return f"SELECT * FROM {table}$summary, or DESCRIBE EXTENDED {table}"


@_refused("RESTORE")
def restore(parser: PaimonParser, table: str) -> str:
    """A rollback."""
    if parser.accept("TO", "TIMESTAMP", "AS", "OF"):
        return f"CALL sys.rollback_to_timestamp(table => '{table}', timestamp => <milliseconds since 1970>)"
    parser.accept("TO", "VERSION", "AS", "OF")
    version = parser.literal() if parser.token else None
    return _ROLLBACK.format(table, version.name if version is not None else "<snapshot or tag>")


@_refused("FSCK", "REPAIR")
def check_files(_: PaimonParser, table: str) -> str:
    """The files that are missing."""
    return f"CALL sys.remove_unexisting_files(table => '{table}', dry_run => true)"


@reads("ALTER", "TABLE")
def alter_execute(parser: PaimonParser) -> OtherLakehouse | None:
    """Parse ``ALTER TABLE t EXECUTE procedure``."""
    parser.accept("ALTER", "TABLE")
    table, first = parser.table_name(), parser.token
    if table is None or not parser.accept("EXECUTE"):
        return None
    call = _EXECUTED.get(parser.word(), "CALL of a procedure; SHOW PROCEDURES IN sys lists them")
    return _statement(parser, table, (first.start, first.end + 1), lambda _, name: call.format(name))


@reads("CREATE", "TABLE|OR")
def clone(parser: PaimonParser) -> OtherLakehouse | None:
    """Parse ``CREATE TABLE t SHALLOW CLONE s``."""
    parser.accept("CREATE")
    parser.accept("OR", "REPLACE")
    if not parser.accept("TABLE"):
        return None
    parser.accept("IF", "NOT", "EXISTS")
    table = parser.table_name()
    first = parser.token
    parser.accept("SHALLOW|DEEP")
    if table is None or not parser.accept("CLONE"):
        return None
    words, source = (first.start, parser.previous().end + 1), parser.table_name()
    shown = "<table>" if source is None else parser.sql[slice(*span(source))]
    call = "CALL sys.copy(source_table => '{}', target_table => '{}')"
    return _statement(parser, table, words, lambda _, name: call.format(shown, name))
