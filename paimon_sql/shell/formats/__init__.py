"""Output formats: one module each, discovered automatically."""

from __future__ import annotations

from functools import cache

from paimon_sql.discovery import by_name
from paimon_sql.shell.formats.base import Format

__all__ = ["Format", "formats"]


@cache
def formats() -> dict[str, type[Format]]:
    """The formats by name."""
    return dict(sorted(by_name(__name__, Format).items()))
