"""The arguments of ``paimon-sql call``: those of a procedure by name, as Flink's actions write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.types import BooleanType
from paimon_sql.procedures import Procedure, find_procedure
from paimon_sql.procedures.base import Argument
from paimon_sql.procedures.binding import bound, read_value
from paimon_sql.sql.statements.call import ARGUMENTS, PROCEDURES

_OF_ACTIONS = {
    "branch_name": "branch",
    "identifier": "table",
    "next_snapshot": "nextsnapshotid",
    "partition": "partitions",
    "table_conf": "options",
    "tag_name": "tag",
    "target_tag_name": "target_tag",
}
"""What Flink's actions call arguments that its procedures name otherwise."""

_SEPARATORS = {"partitions": ";", "options": ","}
"""Arguments that may be given several times, and what stands between their parts."""


@dataclass
class Called:
    """A call as a command line writes it.

    Attributes:
        procedure: the procedure.
        arguments: a value for each of its arguments.
        database: the current database, if one is named.
    """

    procedure: Procedure
    arguments: dict[str, Any] = field(default_factory=dict)
    database: str | None = None


def parse_call(name: str, words: Sequence[str]) -> Called:
    """Read a procedure's name and its arguments ``--name value`` or ``--name=value``.

    A switch may stand alone, dashes may stand for underscores, and Flink's names are known.

    Args:
        name: the procedure, with or without ``sys.``.
        words: the words behind it.

    Raises:
        NotFoundError: there is no such procedure.
        InvalidInputError: a word is no argument, one is unknown, missing or given twice, or a value does not fit.
    """
    plain = name.lower().replace("-", "_").removeprefix("sys.")
    procedure = find_procedure(PROCEDURES.get(plain, plain))
    called, known = Called(procedure), _Names(procedure)
    texts: dict[str, list[str]] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--") or word == "--":
            raise InvalidInputError(f"'{word}' is no argument of {name}.", remedy="Write --name value.")
        spelled, equals, text = word[2:].partition("=")
        argument = known.find(spelled)
        if not equals:
            stands_alone = argument is not None and isinstance(argument.type, BooleanType)
            if rest and (not rest[0].startswith("--") or not stands_alone):
                text = rest.pop(0)
            elif stands_alone:
                text = "true"
            else:
                raise InvalidInputError(f"{word} needs a value.", remedy=f"Write {word} VALUE.")
        if argument is None and known.plain(spelled) == "database":
            called.database = text
            continue
        if argument is None:
            names = ", ".join(f"--{a.name}" for a in procedure.arguments)
            raise InvalidInputError(f"{procedure.name} has no argument --{spelled}.", remedy=f"It takes {names}.")
        texts.setdefault(argument.name, []).append(text)
    named = {name: _value(known.find(name), parts) for name, parts in texts.items()}
    called.arguments = bound(procedure, (), named)
    return called


class _Names:
    """The names of a procedure's arguments, Flink's among them."""

    def __init__(self, procedure: Procedure) -> None:
        self._known = {a.name.lower(): a for a in procedure.arguments}
        self._others = {k: v.lower() for k, v in ARGUMENTS.get(procedure.name, {}).items()}

    def plain(self, spelled: str) -> str:
        """A name in lower case, with underscores."""
        return spelled.lower().replace("-", "_")

    def find(self, spelled: str) -> Argument | None:
        """The argument of that name; None if there is none."""
        name = self.plain(spelled)
        candidates = (name, self._others.get(name), _OF_ACTIONS.get(name), name.replace("_", ""))
        return next((self._known[c] for c in candidates if c in self._known), None)


def _value(argument: Argument | None, parts: Sequence[str]) -> Any:
    assert argument is not None
    separator = _SEPARATORS.get(argument.name)
    if len(parts) > 1 and separator is None:
        raise InvalidInputError(f"--{argument.name} was given twice.", remedy="Leave one of them out.")
    return read_value(argument, (separator or "").join(parts))
