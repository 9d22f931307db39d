"""Grammar of declared statements: one line, by which a statement is parsed, generated and documented.

In ``DROP CATALOG! [<if_exists: IF EXISTS>] {name:word}``:

- ``WORD`` is a keyword, ``A|B`` a choice of keywords, ``=?`` optional.
- ``!`` is the cut: after it the statement is recognized, and a mismatch is an error.
- ``[..]`` is optional, ``[.. | ..]`` an optional choice.
- ``<flag: WORDS>`` records that words are there, ``<mode: A B | C>`` which of them.
- ``{name:kind}`` is a slot of a kind of `SLOTS`.
- ``(* [..] [..] *)`` has its parts in any order, each at most once.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sqlglot import exp
from sqlglot.generator import Generator
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from paimon_sql.sql.context import Reading, names_of
from paimon_sql.sql.dialect.generator import Write
from paimon_sql.sql.dialect.parser import PaimonParser
from paimon_sql.sql.errors import RefusedError

READS = ("SELECT|WITH|VALUES|TABLE|FROM|MAP|REDUCE|(",)
"""First words of queries."""


@dataclass(frozen=True)
class Slot:
    """A kind of slot.

    Attributes:
        what: the noun phrase for errors where the contents are missing; ``{}`` is the slot's name.
        parse: parses the contents; None if they do not fit.
        value: the value of a node in the statement's data, by default its text; None for another catalog's table.
        example: the usage to show, by default the slot's name.
        sql: generates a node.
    """

    what: str
    parse: Callable[[PaimonParser], exp.Expr | None]
    value: Callable[[Any, Reading], object] = lambda node, reading: reading.text(node)
    example: str = "{}"
    sql: Write = lambda generator, node: generator.sql(node)


def name_in(node: exp.Expr, _: Reading) -> str:
    """The name or string of a node."""
    return node.name


def each_name(node: exp.Expr, _: Reading) -> tuple[str, ...]:
    """The names in a list."""
    return tuple(each.name for each in node.expressions)


def _name_or_literal(parser: PaimonParser) -> exp.Expr | None:
    return parser.identifier(TokenType.STRING, TokenType.NUMBER)


SLOTS: dict[str, Slot] = {
    **dict.fromkeys(("tag", "branch"), Slot("the name of a {}", _name_or_literal, name_in)),
    "new_name": Slot("the new name", _name_or_literal, name_in),
    "word": Slot("a {}", PaimonParser.identifier, name_in),
    "names": Slot("column names in parentheses", PaimonParser.names_in_brackets, each_name, "(a, b)"),
    "list": Slot(
        "names",
        PaimonParser.name_list,
        each_name,
        "a, b",
        lambda generator, node: ", ".join(map(generator.sql, node.expressions)),
    ),
    "table": Slot("the name of a {}", PaimonParser.table_name, lambda node, reading: reading.table(node)),
    "new_table": Slot(
        "the name of a {}",
        PaimonParser.table_name,
        lambda node, reading: reading.context.resolve_new_table(names_of(node)),
    ),
    "string": Slot("a string in quotes", PaimonParser.string, name_in, "'{}'"),
    "number": Slot("the ID of a {}", PaimonParser.whole_number, lambda node, _: int(node.name)),
    "options": Slot("options in parentheses", PaimonParser.options, lambda node, _: node.values, "('key' = 'value')"),
}
"""Slots by kind, as named in lines of grammar; modules of statements add theirs. A new table may be missing; the name
of another table must be one of Paimon's, or the statement is left to Spark."""


Found = dict[str, object]
"""The parsed values of a statement by the names of its slots and flags."""
_PIECE = re.compile(
    r"\(\*|\*\)|[\[\]]|\{(?P<slot>\w+)(?::(?P<kind>\w+))?\}|<(?P<flag>\w+):(?P<words>[^<>]*)>|[^\s\[\]{}<>]+"
)


class Part(ABC):
    """A part of a declared statement; ``parts`` are those inside."""

    parts: Sequence[Part] = ()

    @abstractmethod
    def parse(self, parser: PaimonParser, found: Found) -> bool:
        """Parse the part; if False, it is not next, and the parser may be anywhere.

        Raises:
            RefusedError: the part is next, but malformed.
        """

    @abstractmethod
    def sql(self, generator: Generator, node: exp.Expr) -> str | None:
        """Generate the part; None if the node does not have it."""

    def usage(self) -> str:
        """The part as usages show it."""
        return " ".join(part.usage() for part in self.parts)

    def noted(self) -> Iterator[Recorded]:
        """The parts, itself or inside, that record a value."""
        for part in self.parts:
            yield from part.noted()

    def missing(self) -> str:
        """The noun phrase for an error where the part is missing."""
        return self.usage()


class Words(Part):
    """Keywords."""

    def __init__(self, words: Sequence[str]) -> None:
        self._runs = [
            (optional, [w.removesuffix("?") for w in run])
            for optional, run in groupby(words, lambda word: word.endswith("?"))
        ]
        self._canonical = " ".join(word.split("|")[0] for _, run in self._runs for word in run)

    def parse(self, parser: PaimonParser, found: Found) -> bool:
        return all(parser.accept(*run) or optional for optional, run in self._runs)

    def sql(self, generator: Generator, node: exp.Expr) -> str | None:
        return self._canonical

    def usage(self) -> str:
        return self._canonical


class Recorded(Part):
    """A part that is recorded under a name."""

    name: str

    def noted(self) -> Iterator[Recorded]:
        yield self


class Named(Recorded):
    """Keywords: recorded is that they are there, or which choice."""

    def __init__(self, name: str, choices: Sequence[str]) -> None:
        self.name, self.choices = name, choices

    def parse(self, parser: PaimonParser, found: Found) -> bool:
        for words in self.choices:
            if parser.accept(*words.split()):
                found[self.name] = words if len(self.choices) > 1 else True
                return True
        return False

    def sql(self, generator: Generator, node: exp.Expr) -> str | None:
        value = node.args.get(self.name)
        if not value:
            return None
        return str(value) if len(self.choices) > 1 else self.choices[0]

    def usage(self) -> str:
        return "|".join(self.choices)

    def missing(self) -> str:
        return " or ".join(self.choices)


class SlotPart(Recorded):
    """A slot: recorded is its node."""

    def __init__(self, name: str, kind: str) -> None:
        self.name, self.kind, self.slot = name, kind, SLOTS[kind]

    def parse(self, parser: PaimonParser, found: Found) -> bool:
        node = self.slot.parse(parser)
        if node is None:
            return False
        found[self.name] = node
        return True

    def sql(self, generator: Generator, node: exp.Expr) -> str | None:
        value = node.args.get(self.name)
        return None if value is None else self.slot.sql(generator, value)

    def usage(self) -> str:
        return self.slot.example.format(self.name)

    def missing(self) -> str:
        return self.slot.what.format(self.name)


class Series(Part):
    """Parts in order; after the cut, each must be there.

    Attributes:
        is_whole: whether the statement must end here.
    """

    def __init__(self, parts: Sequence[Part], cut: int, *, is_whole: bool = False) -> None:
        self.parts, self._cut, self.is_whole = parts, cut, is_whole

    def parse(self, parser: PaimonParser, found: Found) -> bool:
        before = ""
        for number, part in enumerate(self.parts):
            start = parser.index
            if not part.parse(parser, found):
                if number < self._cut:
                    return False
                parser.move_to(start)
                following = self.parts[number : number + 2] if isinstance(part, Words) else [part]
                raise parser.missing(before, " and ".join(each.missing() for each in following))
            before = part.usage() if isinstance(part, Words) else before
        return True

    def sql(self, generator: Generator, node: exp.Expr) -> str | None:
        pieces = [part.sql(generator, node) for part in self.parts]
        if any(s is None and not isinstance(p, Maybe | AnyOrder) for s, p in zip(pieces, self.parts, strict=True)):
            return None
        return " ".join(filter(None, pieces))


class Maybe(Part):
    """An optional choice of series."""

    parts: Sequence[Series]

    def __init__(self, choices: Sequence[Series]) -> None:
        self.parts = choices

    def parse(self, parser: PaimonParser, found: Found) -> bool:
        self.accept(parser, found)
        return True

    def accept(self, parser: PaimonParser, found: Found) -> bool:
        """Parse one of the series, if one is next."""
        start, refused = parser.index, list[RefusedError]()
        for choice in self.parts:
            inner: Found = {}
            try:
                if choice.parse(parser, inner):
                    found |= inner
                    return True
            except RefusedError as error:
                refused.append(error)
            parser.move_to(start)
        if refused:
            raise refused[0]
        return False

    def sql(self, generator: Generator, node: exp.Expr) -> str | None:
        present = (c for c in self.parts if any(node.args.get(each.name) for each in c.noted()))
        return next((sql for choice in present if (sql := choice.sql(generator, node))), None)

    def usage(self) -> str:
        return f"[{' | '.join(choice.usage() for choice in self.parts)}]"


class AnyOrder(Part):
    """Optional parts in any order, each at most once."""

    parts: Sequence[Maybe]

    def __init__(self, parts: Sequence[Maybe]) -> None:
        self.parts = parts

    def parse(self, parser: PaimonParser, found: Found) -> bool:
        while True:
            for part in self.parts:
                first, inner = parser.token, Found()
                if part.accept(parser, inner):
                    if inner.keys() & found.keys():
                        raise parser.refusal(f"{first.text.upper()} is specified twice", first)
                    found |= inner
                    break
            else:
                return True

    def sql(self, generator: Generator, node: exp.Expr) -> str | None:
        return " ".join(filter(None, (part.sql(generator, node) for part in self.parts))) or None


def compiled(line: str) -> Series:
    """Compile a line of grammar."""
    pieces = deque(_PIECE.finditer(line.replace("!", " ! ")))
    series = _series(pieces, is_part=False)
    if pieces:
        raise ValueError(f"Unexpected text at the end of a line of grammar: {line}")
    return series


def _series(pieces: deque[re.Match[str]], *, is_part: bool) -> Series:
    """Compile and remove the series at the beginning, up to its closing piece."""
    parts: list[Part] = []
    words: list[str] = []
    cut: int | None = None

    def flush_words() -> None:
        if words:
            parts.append(Words(tuple(words)))
            words.clear()

    while pieces and pieces[0][0] not in ("]", "|", "*)"):
        piece = pieces.popleft()
        if piece[0] not in ("[", "(*", "!") and not piece["slot"] and not piece["flag"]:
            if is_part and piece[0] == "=":  # the first word alone decides that an option is there
                flush_words()
            words.append(piece[0])
            continue
        flush_words()
        if piece["slot"]:
            parts.append(SlotPart(piece["slot"], piece["kind"] or piece["slot"]))
        elif piece["flag"]:
            parts.append(Named(piece["flag"], [" ".join(words.split()) for words in piece["words"].split("|")]))
        elif piece[0] == "!":
            cut = len(parts)
        elif piece[0] == "[":
            parts.append(_maybe(pieces))
        else:
            unordered: list[Maybe] = []
            while pieces.popleft()[0] == "[":
                unordered.append(_maybe(pieces))
            parts.append(AnyOrder(unordered))
    flush_words()
    # The first words of an optional part decide whether it is there.
    return Series(parts, cut if cut is not None else 1 if is_part else len(parts), is_whole=cut is not None)


def _maybe(pieces: deque[re.Match[str]]) -> Maybe:
    choices = [_series(pieces, is_part=True)]
    while pieces.popleft()[0] == "|":
        choices.append(_series(pieces, is_part=True))
    return Maybe(choices)
