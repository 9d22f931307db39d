"""Arguments of ``paimon-sql call``: by name, in the style of Flink's actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema.types import BooleanType
from paimon_sql.procedures import Procedure, find_procedure
from paimon_sql.procedures.binding import bind_arguments, read_value
from paimon_sql.procedures.declaration import Argument
from paimon_sql.sql.statements.call import ARGUMENTS, PROCEDURES

_ACTION_ARGUMENTS = {
    "branch_name": "branch",
    "identifier": "table",
    "next_snapshot": "nextsnapshotid",
    "partition": "partitions",
    "table_conf": "options",
    "tag_name": "tag",
    "target_tag_name": "target_tag",
}
"""Arguments that Flink's actions name differently than procedures do."""

_SEPARATORS = {"partitions": ";", "options": ","}
"""Separators of the arguments that may be repeated."""


@dataclass
class ParsedCall:
    """A parsed call.

    Attributes:
        procedure: the procedure.
        arguments: its arguments by name.
        database: the current database, if given.
    """

    procedure: Procedure
    arguments: dict[str, Any] = field(default_factory=dict)
    database: str | None = None


def parse_call(name: str, words: Sequence[str]) -> ParsedCall:
    """Parse a procedure's name and its arguments ``--name value`` or ``--name=value``.

    A boolean needs no value, dashes may replace underscores, and Flink's names are known.

    Args:
        name: the procedure, with or without ``sys.``.
        words: the words after it.

    Raises:
        NotFoundError: there is no such procedure.
        InvalidInputError: an argument is unknown, missing or repeated, or a word or value is invalid.
    """
    plain = name.lower().replace("-", "_").removeprefix("sys.")
    procedure = find_procedure(PROCEDURES.get(plain, plain))
    called, known = ParsedCall(procedure), _Names(procedure)
    values: dict[str, list[str]] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--") or word == "--":
            raise InvalidInputError(f"'{word}' is no argument of {name}.", remedy="Write --name value.")
        spelled, equals, text = word[2:].partition("=")
        argument = known.find(spelled)
        if not equals:
            is_switch = argument is not None and isinstance(argument.type, BooleanType)
            if rest and (not rest[0].startswith("--") or not is_switch):
                text = rest.pop(0)
            elif is_switch:
                text = "true"
            else:
                raise InvalidInputError(f"{word} needs a value.", remedy=f"Write {word} VALUE.")
        if argument is None and known.plain(spelled) == "database":
            called.database = text
            continue
        if argument is None:
            names = ", ".join(f"--{a.name}" for a in procedure.arguments)
            raise InvalidInputError(f"{procedure.name} has no argument --{spelled}.", remedy=f"It takes {names}.")
        values.setdefault(argument.name, []).append(text)
    named = {name: _value(known.find(name), parts) for name, parts in values.items()}
    called.arguments = bind_arguments(procedure, (), named)
    return called


class _Names:
    """The names of a procedure's arguments, including Flink's."""

    def __init__(self, procedure: Procedure) -> None:
        self._known = {a.name.lower(): a for a in procedure.arguments}
        self._others = {k: v.lower() for k, v in ARGUMENTS.get(procedure.name, {}).items()}

    def plain(self, spelled: str) -> str:
        """The name in lower case, with underscores."""
        return spelled.lower().replace("-", "_")

    def find(self, spelled: str) -> Argument | None:
        """The argument of a name."""
        name = self.plain(spelled)
        candidates = (name, self._others.get(name), _ACTION_ARGUMENTS.get(name), name.replace("_", ""))
        return next((self._known[c] for c in candidates if c in self._known), None)


def _value(argument: Argument | None, parts: Sequence[str]) -> Any:
    assert argument is not None
    separator = _SEPARATORS.get(argument.name)
    if len(parts) > 1 and separator is None:
        raise InvalidInputError(f"--{argument.name} was given twice.", remedy="Leave one of them out.")
    return read_value(argument, (separator or "").join(parts))
