"""What sqlglot loads by the name ``paimon``: the dialect, and how Spark's writes the nodes of ours.

A statement of ours is written for Spark as it is rewritten in a session whose catalogs are all Paimon's.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.generator import _DISPATCH_CACHE, Generator
from sqlglot.generators.spark import SparkGenerator

from paimon_sql.sql.dialect.nodes import Incremental, Names, Options, Parts, Travel
from paimon_sql.sql.dialect.registry import WRITERS
from paimon_sql.sql.dialect.types import ExactType
from paimon_sql.sql.names import name_sql, parts_in
from paimon_sql.sql.paimon import Paimon
from paimon_sql.sql.relation_edits import incremental_option
from paimon_sql.sql.translate import as_spark

__all__ = ["Paimon"]


def _statement(generator: Generator, node: exp.Expr) -> str:
    return as_spark(Paimon().generate(node))


def _travel(generator: Generator, node: Travel) -> str:
    """The version, and the options behind it; the call of a table function says these itself."""
    version = [generator.version_sql(node)] if node.this else []
    is_said = node.parent is not None and isinstance(node.parent.this, Incremental)
    return " ".join((*version, *([] if is_said else [_with(generator, node, [])])))


def _incremental(generator: Generator, node: Incremental) -> str:
    name = ".".join(map(name_sql, parts_in(node.expressions[0].name) or ()))
    version = node.parent.args.get("version") if node.parent is not None else None
    return f"{name} {_with(generator, version, [incremental_option(node)])}"


def _with(generator: Generator, travel: exp.Expr | None, options: list[str]) -> str:
    lists = travel.args.get("options") or [] if isinstance(travel, Travel) else []
    options += [generator.sql(each)[1:-1] for each in lists if each.expressions]
    return f"WITH ({', '.join(options)})"


def _type(generator: Generator, node: ExactType) -> str:
    return generator.datatype_sql(node)


SparkGenerator.TRANSFORMS |= dict.fromkeys(WRITERS, _statement)
SparkGenerator.TRANSFORMS |= {node: WRITERS[node] for node in (Options, Parts, Names)}
SparkGenerator.TRANSFORMS |= {Travel: _travel, Incremental: _incremental, ExactType: _type}
_DISPATCH_CACHE.pop(SparkGenerator, None)  # sqlglot builds it from these once
