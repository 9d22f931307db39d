"""Options of tables, sessions and catalogs.

Each topic module declares options: those with an effect here by one statement each, in ``KEPT`` those that only other
engines read. `TableOptions` reads their values, `validate` checks them.
"""

from __future__ import annotations

from paimon_sql.format.options.documentation import generate_docs
from paimon_sql.format.options.registry import OPTIONS, PATTERNS, find_option, nearest_key
from paimon_sql.format.options.validation import canonical, check_changes, validate
from paimon_sql.format.options.values import Option, Scope, TableOptions

__all__ = [
    "OPTIONS",
    "PATTERNS",
    "Option",
    "Scope",
    "TableOptions",
    "canonical",
    "check_changes",
    "find_option",
    "generate_docs",
    "nearest_key",
    "validate",
]
