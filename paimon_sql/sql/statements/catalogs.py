"""CREATE CATALOG and DROP CATALOG, in Flink's syntax."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from paimon_sql.sql.carried_statements import Options, Statement
from paimon_sql.sql.context import Reading
from paimon_sql.sql.statements.base import declared
from paimon_sql.sql.text.secrets import secret_store

_HARMLESS = frozenset(("type", "metastore", "warehouse"))
"""Catalog options whose values are never secret."""


@declared("CREATE CATALOG! [<if_not_exists: IF NOT EXISTS>] {name:word} [COMMENT {comment:string}] WITH {options}")
class CreateCatalog(Statement):
    """CREATE CATALOG .. WITH: adds a catalog to this session. Secret values are not part of the carried statement."""

    name: str
    options: Options
    if_not_exists: bool = False
    comment: str | None = None

    def completed(self, node: exp.Expr, reading: Reading) -> Statement:
        keep = secret_store().store
        return replace(self, options={k: v if k in _HARMLESS else keep(v) for k, v in self.options.items()})


@declared("DROP CATALOG! [<if_exists: IF EXISTS>] {name:word}")
class DropCatalog(Statement):
    """DROP CATALOG: removes a catalog from this session; its files are kept."""

    name: str
    if_exists: bool = False
