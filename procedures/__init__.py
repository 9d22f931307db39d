"""The stored procedures of ``sys``: one module each, found by themselves.

A module declares one `Procedure`; its name, arguments, result columns and example are said once, and signature,
``DESCRIBE PROCEDURE``, documentation and listing follow from them.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from paimon_sql.procedures.base import Procedure

__all__ = ["Procedure", "procedures"]


@cache
def procedures() -> dict[str, Procedure]:
    """All procedures by name."""
    found: dict[str, Procedure] = {}
    for module in pkgutil.iter_modules(__path__):
        home = f"{__name__}.{module.name}"
        for member in vars(importlib.import_module(home)).values():
            if (
                isinstance(member, type)
                and issubclass(member, Procedure)
                and member.__module__ == home
                and member is not Procedure
            ):
                found[member.name] = member()
    return dict(sorted(found.items()))
