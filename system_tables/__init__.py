"""The system tables ``t$name``: one module each, found by themselves."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from paimon_sql.system_tables.base import SystemTable

__all__ = ["SystemTable", "system_tables"]


@cache
def system_tables() -> dict[str, SystemTable]:
    """All system tables of a data table by name."""
    found: dict[str, SystemTable] = {}
    for module in pkgutil.iter_modules(__path__):
        home = f"{__name__}.{module.name}"
        for member in vars(importlib.import_module(home)).values():
            if (
                isinstance(member, type)
                and issubclass(member, SystemTable)
                and member.__module__ == home
                and member is not SystemTable
            ):
                found[member.name] = member()
    return dict(sorted(found.items()))
