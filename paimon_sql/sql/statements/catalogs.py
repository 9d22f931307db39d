"""CREATE CATALOG and DROP CATALOG, in Flink's syntax."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from paimon_sql.sql.carried_statements import Options, Statement
from paimon_sql.sql.context import Reading
from paimon_sql.sql.statements.base import declared
from paimon_sql.sql.text.secrets import secret_store

_HARMLESS = frozenset(("type", "metastore", "warehouse"))
"""Catalog options whose values are never secret."""


@declared("CREATE CATALOG! [<if_not_exists: IF NOT EXISTS>] {name:word} [COMMENT {comment:string}] WITH {options}")
@dataclass(frozen=True)
class CreateCatalog(Statement):
    """CREATE CATALOG .. WITH: adds a catalog to this session. Secret values are not part of the carried statement."""

    name: str
    options: Options
    if_not_exists: bool = False
    comment: str | None = None

    @classmethod
    def of(cls, node: exp.Expr, reading: Reading) -> Statement | None:
        statement = super().of(node, reading)
        assert isinstance(statement, CreateCatalog)
        keep = secret_store().store
        return replace(statement, options={k: v if k in _HARMLESS else keep(v) for k, v in statement.options.items()})


@declared("DROP CATALOG! [<if_exists: IF EXISTS>] {name:word}")
@dataclass(frozen=True)
class DropCatalog(Statement):
    """DROP CATALOG: removes a catalog from this session; its files are kept."""

    name: str
    if_exists: bool = False
