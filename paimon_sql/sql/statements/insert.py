"""INSERT into Paimon tables where Spark alone would do something else.

BY NAME into a table that takes new columns: Spark only writes existing ones. With dynamic partition columns in a
session that has them last, as Hive does: Spark takes all columns in the order of the table.
"""

from __future__ import annotations

from dataclasses import field

from sqlglot import exp

from paimon_sql.format.options.engines.spark import WRITE_MERGE_SCHEMA
from paimon_sql.sql.carried_statements import Options, RowChange
from paimon_sql.sql.context import Reading, TableName
from paimon_sql.sql.dialect.nodes import options_of
from paimon_sql.sql.edits import Edit
from paimon_sql.sql.statements.base import Carried, Outcome, rewrites
from paimon_sql.sql.text.names import parts_in, quote_name


class EvolvingInsert(RowChange):
    """INSERT that may add columns: BY NAME under ``write.merge-schema``, or WITH SCHEMA EVOLUTION (``evolves``)."""

    options: Options = field(default_factory=dict)
    evolves: bool = False


@rewrites(exp.Insert)
def insert(node: exp.Insert, reading: Reading) -> Outcome | None:
    """Rewrite ``[WITH ..] INSERT [WITH SCHEMA EVOLUTION] INTO|OVERWRITE [TABLE] t [PARTITION (..)] [BY NAME] ..``."""
    target = node.this.this if isinstance(node.this, exp.Schema) else node.this
    table = reading.table(target) if isinstance(target, exp.Table) else None
    if table is None:
        return None
    options, partition = options_of(target), target.args.get("partition")
    if node.meta.get("evolves"):
        return Carried(EvolvingInsert(table, options, evolves=True))
    if not node.args.get("by_name"):
        names_columns = isinstance(node.this, exp.Schema)
        return None if partition is None or names_columns else _like_hive(node, partition, table, reading)
    merge_option = options.get(WRITE_MERGE_SCHEMA.key)
    merges = reading.context.merges_schema(table) if merge_option is None else merge_option.lower() == "true"
    return Carried(EvolvingInsert(table, options)) if merges else None


def _like_hive(node: exp.Insert, partition: exp.Partition, table: TableName, reading: Reading) -> Outcome | None:
    """Add the column list after a PARTITION with dynamic columns, in Hive's order.

    A query whose columns have the names of the table's, in their order, is left unchanged.
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
    own = tuple(c.lower() for c in columns if c.lower() not in fixed)
    if reading.context.query_columns(reading.source[: node.meta["verb"]] + reading.source[end:]) == own:
        return None
    return [Edit(end, end, f" ({', '.join(map(quote_name, names))})")]
