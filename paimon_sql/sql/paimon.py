"""The sqlglot dialect ``paimon``: ``sqlglot.parse_one(text, read="paimon")``.

It reads the spellings of Paimon, Flink and Spark. ``write="paimon"`` generates Flink's form of definitions,
``write="spark"`` the rewritten form.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.generator import _DISPATCH_CACHE, Generator
from sqlglot.generators.spark import SparkGenerator

from paimon_sql.sql.dialect.column_definitions import ExactType
from paimon_sql.sql.dialect.generator import WRITERS
from paimon_sql.sql.dialect.nodes import Incremental, Names, Options, Parts, Travel, option_lists
from paimon_sql.sql.dialect.session_dialect import PaimonDialect
from paimon_sql.sql.edits import incremental_option
from paimon_sql.sql.text.names import name_sql, parts_in
from paimon_sql.sql.translate import as_spark


class Paimon(PaimonDialect):
    """The dialect under its registered name."""


def _statement(generator: Generator, node: exp.Expr) -> str:
    return as_spark(PaimonDialect().generate(node))


def _travel(generator: Generator, node: Travel) -> str:
    """The version and, after it, the options, which `_incremental` writes for a table function."""
    version = [generator.version_sql(node)] if node.this else []
    is_written_by_call = node.parent is not None and isinstance(node.parent.this, Incremental)
    return " ".join((*version, *([] if is_written_by_call else [_with(generator, node.parent, [])])))


def _incremental(generator: Generator, node: Incremental) -> str:
    name = ".".join(map(name_sql, parts_in(node.expressions[0].name) or ()))
    return f"{name} {_with(generator, node.parent, [incremental_option(node)])}"


def _with(generator: Generator, table: exp.Expr | None, options: list[str]) -> str:
    options += [generator.sql(each)[1:-1] for each in option_lists(table) if each.expressions]
    return f"WITH ({', '.join(options)})"


SparkGenerator.TRANSFORMS |= dict.fromkeys(WRITERS, _statement)
SparkGenerator.TRANSFORMS |= {node: WRITERS[node] for node in (Options, Parts, Names)}
SparkGenerator.TRANSFORMS |= {
    Travel: _travel,
    Incremental: _incremental,
    ExactType: lambda generator, node: generator.datatype_sql(node),
}
_DISPATCH_CACHE.pop(SparkGenerator, None)  # sqlglot builds its cache from TRANSFORMS once
