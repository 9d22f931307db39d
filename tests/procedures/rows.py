"""The rows of a call, without a record of the run."""

from __future__ import annotations

from typing import Any

from paimon_sql.procedures import calling
from paimon_sql.procedures.base import Context


def rows_of(context: Context, name: str, /, **given: Any) -> list[dict[str, Any]]:
    """Call a procedure by name; returns rows as dictionaries by column."""
    procedure = calling.find_procedure(name)
    return calling.ProcedureResult(procedure, calling.rows_of(context, procedure, given)).to_dicts()
