"""Paimon's stored procedures as Spark's: signatures from their declarations, calls into their bodies."""

from __future__ import annotations

from typing import Any

from paimon_sql.catalog.base import Catalog
from paimon_sql.errors import NotFoundError
from paimon_sql.spark.java import Jvm


def procedure_names() -> list[str]:
    """The names of all procedures of ``sys``."""
    return []


def load_procedure(jvm: Jvm, catalog: Catalog, session: Any, ident: Any) -> Any:
    """The procedure of that name."""
    raise NotFoundError(f"There is no procedure {ident.name()}.", name=ident.name())
