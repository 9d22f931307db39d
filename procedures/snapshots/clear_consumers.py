"""``CALL sys.clear_consumers``: remove consumers by name."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.procedures.base import Context, Long, OfTable, Procedure, Record, column, detail, optional
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE, pattern_of


class ClearConsumers(Procedure):
    """A consumer is removed if its whole name matches the first expression and not the second."""

    summary = "Remove consumers by regular expression; all of them without one."
    example = "CALL sys.clear_consumers(table => 'db.t', includingConsumers => 'app-.*')"

    class Arguments(OfTable, kw_only=True):
        includingConsumers: str | None = optional("A regular expression for those to remove; empty means all.")  # noqa: N815
        excludingConsumers: str | None = optional("A regular expression for those to keep.")  # noqa: N815
        dry_run: bool | None = optional(DRY_RUN)

    class Result(Record):
        result: bool = column("always true")
        removed_consumers: Long = detail("number of removed consumers")
        names: str | None = detail("their names; null without any")
        note: str | None = detail("why nothing was done")

    def call(self, context: Context, arguments: Arguments) -> Iterable[Result]:
        including = pattern_of(arguments.includingConsumers, "includingConsumers", ".*")
        excluding = pattern_of(arguments.excludingConsumers, "excludingConsumers", "(?!)")
        consumers = context.table(arguments.table).consumers
        names = [n for n in consumers.names() if including.accepts(n) and not excluding.accepts(n)]
        dry_run = bool(arguments.dry_run)
        removed = [n for n in names if dry_run or consumers.remove(n)]
        note = "no consumer matches" if not removed else NOTHING_DONE if dry_run else None
        yield self.Result(True, len(removed), ", ".join(removed) or None, note)
