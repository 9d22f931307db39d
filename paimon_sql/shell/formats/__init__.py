"""The output formats: one module each, found by themselves."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from paimon_sql.shell.formats.base import Format

__all__ = ["Format", "formats"]


@cache
def formats() -> dict[str, type[Format]]:
    """All formats by name."""
    found: dict[str, type[Format]] = {}
    for module in pkgutil.iter_modules(__path__):
        for member in vars(importlib.import_module(f"{__name__}.{module.name}")).values():
            # Not issubclass: in Python 3.10 an alias like tuple[int] passes for a class until that asks it.
            if Format in getattr(member, "__mro__", ()) and hasattr(member, "name"):
                found[member.name] = member
    return dict(sorted(found.items()))
