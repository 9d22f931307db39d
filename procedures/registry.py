"""Registry of procedures: one module each in this package, discovered automatically."""

from __future__ import annotations

import difflib
from functools import cache

from paimon_sql.discovery import implementations
from paimon_sql.errors import NotFoundError
from paimon_sql.procedures.base import Procedure


@cache
def procedures() -> dict[str, Procedure]:
    """The procedures by name."""
    found = {kind.name: kind() for kind in implementations("paimon_sql.procedures", Procedure)}
    return dict(sorted(found.items()))


def find_procedure(name: str) -> Procedure:
    """Find a procedure by name, in any case, with or without ``sys.``.

    Raises:
        NotFoundError: there is no such procedure.
    """
    found = procedures().get(name.lower().removeprefix("sys."))
    if found is None:
        raise NotFoundError(f"There is no procedure {name}.", name=name, remedy=_nearest(name))
    return found


def _nearest(name: str) -> str:
    near = difflib.get_close_matches(name.lower().removeprefix("sys."), procedures(), n=1)
    return f"Did you mean {near[0]}?" if near else f"There are {', '.join(procedures())}."
