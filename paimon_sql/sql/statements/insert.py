"""INSERTs into tables of ours that Spark alone would carry out otherwise.

BY NAME where a table takes new columns: Spark can only write into those that there are. With dynamic partition columns
where a session wants these last, as Hive does: Spark takes all columns in the order of the table.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from paimon_sql.format.options.spark import WRITE_MERGE_SCHEMA
from paimon_sql.sql.context import TableName
from paimon_sql.sql.dialect.nodes import options_of
from paimon_sql.sql.edits import Edit
from paimon_sql.sql.names import parts_in, quote_name
from paimon_sql.sql.outcome import Carried, Outcome, rewrites
from paimon_sql.sql.reading import Reading
from paimon_sql.sql.statements.base import Options, RowChange


@dataclass(frozen=True)
class EvolvingInsert(RowChange):
    """INSERT that may bring columns: BY NAME under ``write.merge-schema``, or WITH SCHEMA EVOLUTION, ``evolves``."""

    options: Options = field(default_factory=dict)
    evolves: bool = False


@rewrites(exp.Insert)
def insert(node: exp.Insert, reading: Reading) -> Outcome | None:
    """``[WITH ..] INSERT [WITH SCHEMA EVOLUTION] INTO|OVERWRITE [TABLE] t [PARTITION (..)] [BY NAME] ..``."""
    target = node.this.this if isinstance(node.this, exp.Schema) else node.this
    table = reading.table(target) if isinstance(target, exp.Table) else None
    if table is None:
        return None
    options, partition = options_of(target), target.args.get("partition")
    if node.meta.get("evolves"):
        return Carried(EvolvingInsert(table, options, evolves=True), spark_parses=True)
    if not node.args.get("by_name"):
        names_columns = isinstance(node.this, exp.Schema)
        return None if partition is None or names_columns else _like_hive(node, partition, table, reading)
    asked = options.get(WRITE_MERGE_SCHEMA.key)
    merges = reading.context.merges_schema(table) if asked is None else asked.lower() == "true"
    return Carried(EvolvingInsert(table, options), spark_parses=True) if merges else None


def _like_hive(node: exp.Insert, partition: exp.Partition, table: TableName, reading: Reading) -> Outcome | None:
    """The names of the columns behind a PARTITION with dynamic columns, where the statement has none.

    A query whose columns are called as the table's are, in their order, is left as it is.
    """
    pieces = [(each.name.split("=", 1)[0], "=" not in each.name) for each in partition.expressions]
    values = [((parts_in(name) or ("",))[0], is_free) for name, is_free in pieces]
    dynamic = [name for name, is_free in values if is_free]
    columns = reading.context.hive_columns(table) if dynamic else ()
    if not columns:
        return None
    given = {name.lower() for name, _ in values}
    names = [*(c for c in columns if c.lower() not in given), *dynamic]
    end = node.meta["into_end"]
    fixed = {name.lower() for name, is_free in values if not is_free}
    begin, text = node.meta["verb"], reading.source
    if reading.context.query_columns(text[:begin] + text[end:]) == tuple(
        c.lower() for c in columns if c.lower() not in fixed
    ):
        return None
    return [Edit(end, end, f" ({', '.join(map(quote_name, names))})")]
