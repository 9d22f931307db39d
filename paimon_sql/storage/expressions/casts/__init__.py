"""Casts between Paimon's types on whole columns, for files of older schemas (Paimon: `CastExecutors`)."""

from paimon_sql.storage.expressions.casts import from_text, numbers, times, to_text
from paimon_sql.storage.expressions.casts.registry import CastCall, can_cast, cast, rule

RULES = (numbers, times, to_text, from_text)
"""The modules that register rules."""

__all__ = ["RULES", "CastCall", "can_cast", "cast", "rule"]
