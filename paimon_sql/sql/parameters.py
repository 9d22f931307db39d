"""Parameters of statements, ``?`` and ``:name``, whose values a session gives beside the text."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_sql.sql.scan import Token


def has_parameters(tokens: Sequence[Token], start: int, stop: int) -> bool:
    """Whether one stands among the tokens that begin from offset ``start`` on and before ``stop``."""
    return first_parameter(tokens, start, stop) is not None


def first_parameter(tokens: Sequence[Token], start: int, stop: int) -> Token | None:
    """The first of them; None if there is none."""
    inside = [t for t in tokens if start <= t.start < stop]
    if not inside:
        return None
    around = zip([inside[0], *inside], inside, [*inside[1:], inside[-1]], strict=False)
    for before, token, following in around:
        named = token.word == ":" and following.kind == "word" and not _is_behind_name(before, token)
        if token.word == "?" or named:
            return token
    return None


def _is_behind_name(before: Token, colon: Token) -> bool:
    """Whether a colon belongs to the name that it touches, as in ``STRUCT<a: INT>`` and ``json:path``."""
    return before.end == colon.start and (before.kind in ("word", "quoted") or before.word in (")", "]"))
