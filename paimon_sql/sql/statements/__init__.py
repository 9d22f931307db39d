"""The statements of Paimon's, a module a family: grammar, node, data, and what becomes of it."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
