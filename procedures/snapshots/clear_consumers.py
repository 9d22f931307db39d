"""``CALL sys.clear_consumers``: forget consumers by name."""

from __future__ import annotations

from typing import Any

from paimon_sql.format.schema.types import BigIntType, BooleanType, string_type
from paimon_sql.procedures.base import TABLE, Argument, Context, Procedure, result
from paimon_sql.procedures.patterns import pattern_of
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE


class ClearConsumers(Procedure):
    """A consumer goes when its whole name matches the one expression and not the other."""

    name = "clear_consumers"
    summary = "Remove consumers by regular expression; all of them without one."
    arguments = (
        TABLE,
        Argument("includingConsumers", string_type(), "A regular expression for those to remove; empty means all."),
        Argument("excludingConsumers", string_type(), "A regular expression for those to keep."),
        DRY_RUN,
    )
    results = (result("result", BooleanType(), "always true"),)
    details = (
        result("removed_consumers", BigIntType(), "how many were removed"),
        result("names", string_type(), "their names; null without any"),
        result("note", string_type(), "why nothing was done"),
    )
    example = "CALL sys.clear_consumers(table => 'db.t', includingConsumers => 'app-.*')"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        including = pattern_of(arguments["includingConsumers"], "includingConsumers", ".*")
        excluding = pattern_of(arguments["excludingConsumers"], "excludingConsumers", "(?!)")
        consumers = context.table(arguments["table"]).consumers
        names = [n for n in consumers.names() if including.accepts(n) and not excluding.accepts(n)]
        dry_run = bool(arguments["dry_run"])
        removed = [n for n in names if dry_run or consumers.remove(n)]
        note = "no consumer has such a name" if not removed else NOTHING_DONE if dry_run else None
        return [(True, len(removed), ", ".join(removed) or None, note)]
