"""All procedures, found by themselves: one module each in this room."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from functools import cache
from pathlib import Path

from paimon_sql.errors import NotFoundError
from paimon_sql.procedures.base import Procedure

_ROOM = __name__.rpartition(".")[0]


@cache
def procedures() -> dict[str, Procedure]:
    """All procedures by name."""
    found: dict[str, Procedure] = {}
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        home = f"{_ROOM}.{module.name}"
        for member in vars(importlib.import_module(home)).values():
            if (
                isinstance(member, type)
                and issubclass(member, Procedure)
                and member.__module__ == home
                and member is not Procedure
            ):
                found[member.name] = member()
    return dict(sorted(found.items()))


def find_procedure(name: str) -> Procedure:
    """The procedure of that name, in any case, with or without ``sys`` before it.

    Raises:
        NotFoundError: there is none.
    """
    found = procedures().get(name.lower().removeprefix("sys."))
    if found is None:
        raise NotFoundError(f"There is no procedure {name}.", name=name, remedy=_nearest(name))
    return found


def _nearest(name: str) -> str:
    near = difflib.get_close_matches(name.lower().removeprefix("sys."), procedures(), n=1)
    return f"Did you mean {near[0]}?" if near else f"There are {', '.join(procedures())}."
