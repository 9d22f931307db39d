"""Broken text is rewritten or refused with its place, and never anything else."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from paimon_sql.sql.errors import SqlSyntaxError
from paimon_sql.sql.paimon import Paimon
from paimon_sql.sql.rewrite import RewriteContext, rewrite
from tests.sql.sql_cases import REWRITES, STATEMENTS, pairs


def broken(tokens: list[str], words: list[str], dice: random.Random) -> str:
    """The text of some tokens after a few accidents."""
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(tokens) + 1)
        match dice.randrange(5):
            case 0:
                tokens = tokens[:at] + tokens[at + 1 :]
            case 1:
                tokens = [*tokens[:at], dice.choice(words), *tokens[at:]]
            case 2:
                tokens = [*tokens[:at], dice.choice(words), *tokens[at + 1 :]]
            case 3:
                tokens = tokens[:at]
            case _:
                tokens = tokens[at:]
    return " ".join(tokens)


def test_broken_statements_are_rewritten_or_refused(
    conformance: Callable[[str], Iterator[tuple[str, str]]], context: RewriteContext
) -> None:
    texts = [text for _, text in conformance("dialect")]
    texts += [text for name in REWRITES for text, _ in pairs(name)] + [text for text, _ in STATEMENTS]
    statements = [[text[t.start : t.end + 1] for t in Paimon().tokenize(text)] for text in texts]
    words = [word for statement in statements for word in statement]
    dice = random.Random(7)
    refused = 0
    for _ in range(4_000):
        text = broken(dice.choice(statements), words, dice)
        try:
            assert isinstance(rewrite(text, context).sql, str)
        except SqlSyntaxError as error:
            refused += 1
            assert error.text == text and "^" in error.highlight()
    assert refused > 50
