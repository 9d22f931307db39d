"""Casts between Paimon's types on whole columns, as reading old files under a changed schema needs them."""

from paimon_sql.storage.expressions.casts import from_text, numbers, times, to_text
from paimon_sql.storage.expressions.casts.registry import CastCall, can_cast, cast, rule

RULES = (numbers, times, to_text, from_text)
"""The modules whose rules are registered."""

__all__ = ["RULES", "CastCall", "can_cast", "cast", "rule"]
