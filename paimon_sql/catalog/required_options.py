"""Required options of catalogs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.options import Option


def required(catalog: str, options: Mapping[str, str], option: Option[Any], remedy: str) -> str:
    """Return the value of an option, stripped.

    Raises:
        InvalidOptionError: it is not set, or empty.
    """
    value = options.get(option.key, "").strip()
    if not value:
        raise InvalidOptionError(f"Catalog {catalog} has no '{option.key}'.", key=option.key, remedy=remedy)
    return value
