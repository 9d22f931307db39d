"""Output formats: one module each, discovered automatically."""

from __future__ import annotations

from functools import cache

from paimon_sql.discovery import implementations
from paimon_sql.shell.formats.base import Format

__all__ = ["Format", "formats"]


@cache
def formats() -> dict[str, type[Format]]:
    """The formats by name."""
    return dict(sorted((each.name, each) for each in implementations(__name__, Format)))
