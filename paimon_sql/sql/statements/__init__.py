"""The statements of Paimon's, a module a family: grammar, node, data, and what becomes of it."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages

for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)
