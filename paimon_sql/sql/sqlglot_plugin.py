"""What sqlglot loads by the name ``paimon``: the dialect, and how Spark's writes the nodes of ours.

A statement of ours is written for Spark as it is rewritten in a session whose catalogs are all Paimon's.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.generator import _DISPATCH_CACHE, Generator
from sqlglot.generators.spark import SparkGenerator

from paimon_sql.sql.context import RewriteContext, TableName
from paimon_sql.sql.dialect.nodes import Incremental, Names, Options, Parts, Travel
from paimon_sql.sql.dialect.registry import WRITERS
from paimon_sql.sql.dialect.types import ExactType
from paimon_sql.sql.paimon import Paimon
from paimon_sql.sql.relation_edits import incremental_option
from paimon_sql.sql.names import name_sql, parts_in
from paimon_sql.sql.rewrite import rewrite

__all__ = ["Paimon", "as_spark"]


class _Everywhere(RewriteContext):
    """A session whose catalogs are all Paimon's."""

    def to_be(self, parts: tuple[str, ...] | None) -> TableName | None:
        full = self.full_name(parts) if parts else None
        return full and (self.current_catalog, *full[1:])


_EVERYWHERE = _Everywhere("paimon", "default", frozenset(["paimon"]), other_catalogs=frozenset())


def as_spark(text: str) -> str:
    """A statement as Spark writes it, whatever its catalog; what Spark has no words for stays as it is.

    Raises:
        SqlSyntaxError: a construct of ours is malformed or cannot be kept.
    """
    rewritten = rewrite(text, _EVERYWHERE)
    return text if rewritten.statements else rewritten.sql


def _statement(generator: Generator, node: exp.Expression) -> str:
    return as_spark(Paimon().generate(node))


def _travel(generator: Generator, node: exp.Expression) -> str:
    """The version, and the options behind it; the call of a table function says these itself."""
    version = [generator.version_sql(node)] if node.this else []
    is_said = node.parent is not None and isinstance(node.parent.this, Incremental)
    return " ".join((*version, *([] if is_said else [_with(generator, node, [])])))


def _incremental(generator: Generator, node: exp.Expression) -> str:
    name = ".".join(map(name_sql, parts_in(node.expressions[0].name) or ()))
    version = node.parent.args.get("version") if node.parent is not None else None
    return f"{name} {_with(generator, version, [incremental_option(node)])}"


def _with(generator: Generator, travel: exp.Expression | None, options: list[str]) -> str:
    lists = travel.args.get("options") or [] if isinstance(travel, Travel) else []
    options += [generator.sql(each)[1:-1] for each in lists if each.expressions]
    return f"WITH ({', '.join(options)})"


SparkGenerator.TRANSFORMS |= {
    **dict.fromkeys(WRITERS, _statement),
    **{node: WRITERS[node] for node in (Options, Parts, Names)},
    Travel: _travel,
    Incremental: _incremental,
    ExactType: lambda generator, node: generator.datatype_sql(node),
}
_DISPATCH_CACHE.pop(SparkGenerator, None)  # sqlglot builds it from these once
