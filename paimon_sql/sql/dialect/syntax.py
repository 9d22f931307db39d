"""Statements declared by one line of their grammar, by which they are read, written and explained.

``DROP CATALOG! [<if_exists: IF EXISTS>] {name:word}`` reads: words that stand there (``A|B`` is a choice of words,
``=?`` may be missing); ``!``, behind which a text is that statement, so that what does not fit is an error; ``[..]``
may be missing, ``[.. | ..]`` is a choice of which none need be there; ``<flag: WORDS>`` notes that words are there,
``<mode: A B | C>`` which of them; ``{name:kind}`` is a slot, by a kind of ``slots``; ``(* [..] [..] *)`` takes its
parts in any order, each once.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from paimon_sql.sql.dialect.errors import RefusedError
from paimon_sql.sql.dialect.slots import SLOTS, Slot

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.generator import Generator

    from paimon_sql.sql.dialect.parser import PaimonParser

Found = dict[str, Any]
"""What a statement holds, by the names of its slots and flags."""
_PIECE = re.compile(
    r"\(\*|\*\)|[\[\]]|\{(?P<slot>\w+)(?::(?P<kind>\w+))?\}|<(?P<flag>\w+):(?P<words>[^<>]*)>|[^\s\[\]{}<>]+"
)


class Part(ABC):
    """A part of a declared statement."""

    @abstractmethod
    def parse(self, parser: PaimonParser, found: Found) -> bool:
        """Step over the part if it is next; otherwise False, and the parser may stand anywhere.

        Raises:
            PlacedError: it is next, and what follows does not fit.
        """

    @abstractmethod
    def sql(self, generator: Generator, node: exp.Expr) -> str | None:
        """The part as SQL; None where the node does not say it."""

    @abstractmethod
    def told(self) -> str:
        """The part as people are told to type it."""

    def noted(self) -> Iterator[Named | SlotPart]:
        """The parts inside that note something."""
        return iter(())

    def missing(self) -> str:
        """What is missing where the part is."""
        return self.told()


class Words(Part):
    """Words that stand there."""

    def __init__(self, words: Sequence[str]) -> None:
        self._runs = [(is_extra, [w.removesuffix("?") for w in run]) for is_extra, run in groupby(words, _is_extra)]
        self._told = " ".join(word.split("|")[0] for _, run in self._runs for word in run)

    def parse(self, parser: PaimonParser, found: Found) -> bool:
        return all(parser.accept(*run) or is_extra for is_extra, run in self._runs)

    def sql(self, generator: Generator, node: exp.Expr) -> str | None:
        return self._told

    def told(self) -> str:
        return self._told


def _is_extra(word: str) -> bool:
    return word.endswith("?")


class Named(Part):
    """Words that are noted under a name: that they are there, or which of several."""

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

    def told(self) -> str:
        return "|".join(self.choices)

    def missing(self) -> str:
        return " or ".join(self.choices)

    def noted(self) -> Iterator[Named | SlotPart]:
        yield self


class SlotPart(Part):
    """What stands there is noted under the slot's name."""

    def __init__(self, name: str, slot: Slot) -> None:
        self.name, self.slot = name, slot

    def parse(self, parser: PaimonParser, found: Found) -> bool:
        node = self.slot.parse(parser)
        if node is None:
            return False
        found[self.name] = node
        return True

    def sql(self, generator: Generator, node: exp.Expr) -> str | None:
        value = node.args.get(self.name)
        return None if value is None else self.slot.sql(generator, value)

    def told(self) -> str:
        return self.slot.told(self.name)

    def missing(self) -> str:
        return self.slot.what.format(self.name)

    def noted(self) -> Iterator[Named | SlotPart]:
        yield self


class Series(Part):
    """Parts in their order; each of those behind the cut must be there.

    Attributes:
        is_whole: a text that is this is nothing more.
    """

    def __init__(self, parts: Sequence[Part], cut: int, *, is_whole: bool = False) -> None:
        self.parts, self._cut, self.is_whole = parts, cut, is_whole

    def parse(self, parser: PaimonParser, found: Found) -> bool:
        said = ""
        for number, part in enumerate(self.parts):
            start = parser.index
            if not part.parse(parser, found):
                if number < self._cut:
                    return False
                parser.go(start)
                following = self.parts[number : number + 2] if isinstance(part, Words) else [part]
                raise parser.missing(said, " and ".join(each.missing() for each in following))
            said = part.told() if isinstance(part, Words) else said
        return True

    def sql(self, generator: Generator, node: exp.Expr) -> str | None:
        pieces = [part.sql(generator, node) for part in self.parts]
        if any(s is None and not isinstance(p, Maybe | AnyOrder) for s, p in zip(pieces, self.parts, strict=True)):
            return None
        return " ".join(filter(None, pieces))

    def told(self) -> str:
        return " ".join(part.told() for part in self.parts)

    def noted(self) -> Iterator[Named | SlotPart]:
        for part in self.parts:
            yield from part.noted()


class Maybe(Part):
    """One of some series, or none of them."""

    def __init__(self, choices: Sequence[Series]) -> None:
        self.choices = choices

    def parse(self, parser: PaimonParser, found: Found) -> bool:
        self.accept(parser, found)
        return True

    def accept(self, parser: PaimonParser, found: Found) -> bool:
        """Step over one of the series if one is next."""
        start, refused = parser.index, list[RefusedError]()
        for choice in self.choices:
            inner: Found = {}
            try:
                if choice.parse(parser, inner):
                    found |= inner
                    return True
            except RefusedError as error:
                refused.append(error)
            parser.go(start)
        if refused:
            raise refused[0]
        return False

    def sql(self, generator: Generator, node: exp.Expr) -> str | None:
        said = (c for c in self.choices if any(node.args.get(each.name) for each in c.noted()))
        return next((sql for choice in said if (sql := choice.sql(generator, node))), None)

    def told(self) -> str:
        return f"[{' | '.join(choice.told() for choice in self.choices)}]"

    def noted(self) -> Iterator[Named | SlotPart]:
        for choice in self.choices:
            yield from choice.noted()


class AnyOrder(Part):
    """Parts that may be missing, in any order, each once."""

    def __init__(self, parts: Sequence[Maybe]) -> None:
        self.parts = parts

    def parse(self, parser: PaimonParser, found: Found) -> bool:
        while True:
            for part in self.parts:
                first, inner = parser.token, Found()
                if part.accept(parser, inner):
                    if inner.keys() & found.keys():
                        raise parser.refusal(f"The statement has {first.text.upper()} twice", first)
                    found |= inner
                    break
            else:
                return True

    def sql(self, generator: Generator, node: exp.Expr) -> str | None:
        return " ".join(filter(None, (part.sql(generator, node) for part in self.parts))) or None

    def told(self) -> str:
        return " ".join(part.told() for part in self.parts)

    def noted(self) -> Iterator[Named | SlotPart]:
        for part in self.parts:
            yield from part.noted()


def compiled(line: str) -> Series:
    """The grammar that a line declares."""
    pieces = list(_PIECE.finditer(line.replace("!", " ! ")))
    series, rest = _series(pieces, is_part=False)
    if rest:
        raise ValueError(f"The line of grammar does not end where it should: {line}")
    return series


def _series(pieces: list[re.Match[str]], *, is_part: bool) -> tuple[Series, list[re.Match[str]]]:
    """The series that the pieces begin with, up to what closes it, and the other pieces."""
    parts: list[Part] = []
    words: list[str] = []
    cut: int | None = None

    def say() -> None:
        if words:
            parts.append(Words(tuple(words)))
            words.clear()

    while pieces and pieces[0][0] not in ("]", "|", "*)"):
        piece, *pieces = pieces
        if piece[0] not in ("[", "(*", "!") and not piece["slot"] and not piece["flag"]:
            if is_part and piece[0] == "=":  # its first word alone tells that an option is there
                say()
            words.append(piece[0])
            continue
        say()
        if piece["slot"]:
            parts.append(SlotPart(piece["slot"], SLOTS[piece["kind"] or piece["slot"]]))
        elif piece["flag"]:
            parts.append(Named(piece["flag"], [" ".join(words.split()) for words in piece["words"].split("|")]))
        elif piece[0] == "!":
            cut = len(parts)
        elif piece[0] == "[":
            maybe, pieces = _maybe(pieces)
            parts.append(maybe)
        else:
            anyhow: list[Maybe] = []
            while pieces[0][0] == "[":
                maybe, pieces = _maybe(pieces[1:])
                anyhow.append(maybe)
            parts.append(AnyOrder(anyhow))
            pieces = pieces[1:]
    say()
    # Of a part that may be missing its first words tell whether it is there.
    return Series(parts, cut if cut is not None else 1 if is_part else len(parts), is_whole=cut is not None), pieces


def _maybe(pieces: list[re.Match[str]]) -> tuple[Maybe, list[re.Match[str]]]:
    choices: list[Series] = []
    while True:
        choice, pieces = _series(pieces, is_part=True)
        choices.append(choice)
        closing, *pieces = pieces
        if closing[0] == "]":
            return Maybe(choices), pieces
