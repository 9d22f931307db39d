"""CREATE CATALOG and DROP CATALOG, as Flink writes them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from paimon_sql.sql.grammar.statement import Options, Statement
from paimon_sql.sql.reading import Reading
from paimon_sql.sql.statements.base import declared
from paimon_sql.sql.text.secrets import keep

_HARMLESS = frozenset(("type", "metastore", "warehouse"))
"""Catalog options whose values are never secret."""


@declared("CREATE CATALOG! [<if_not_exists: IF NOT EXISTS>] {name:word} [COMMENT {comment:string}] WITH {options}")
@dataclass(frozen=True)
class CreateCatalog(Statement):
    """CREATE CATALOG .. WITH: a catalog for this session. Values that may be secret are kept beside (`kept_values`)."""

    name: str
    options: Options
    if_not_exists: bool = False
    comment: str | None = None

    @classmethod
    def of(cls, node: exp.Expr, reading: Reading) -> Statement | None:
        statement = super().of(node, reading)
        assert isinstance(statement, CreateCatalog)
        return replace(statement, options={k: v if k in _HARMLESS else keep(v) for k, v in statement.options.items()})


@declared("DROP CATALOG! [<if_exists: IF EXISTS>] {name:word}")
@dataclass(frozen=True)
class DropCatalog(Statement):
    """DROP CATALOG: forget a catalog of this session; its files stay."""

    name: str
    if_exists: bool = False
