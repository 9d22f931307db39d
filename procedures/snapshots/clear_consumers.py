"""``CALL sys.clear_consumers``: remove consumers by name."""

from __future__ import annotations

from paimon_sql.procedures.base import Context, Done, Long, Noted, OfTable, Procedure, detail, optional
from paimon_sql.procedures.values import name_filter


class ClearConsumers(Procedure):
    """A consumer is removed if its whole name matches the first expression and not the second."""

    summary = "Remove consumers by regular expression; all of them without one."
    example = "CALL sys.clear_consumers(table => 'db.t', includingConsumers => 'app-.*')"

    class Arguments(OfTable, kw_only=True):
        includingConsumers: str | None = optional("A regular expression for those to remove; empty means all.")  # noqa: N815
        excludingConsumers: str | None = optional("A regular expression for those to keep.")  # noqa: N815

    class Result(Done, Noted, kw_only=True):
        removed_consumers: Long = detail("number of removed consumers")
        names: str | None = detail("their names; null without any")

    def call(self, context: Context, arguments: Arguments) -> Result:
        includes = name_filter(arguments.includingConsumers, "includingConsumers", ".*")
        excludes = name_filter(arguments.excludingConsumers, "excludingConsumers", "(?!)")
        consumers = context.table(arguments.table).consumers
        names = [n for n in consumers.names() if includes(n) and not excludes(n)]
        removed = [n for n in names if arguments.dry_run or consumers.remove(n)]
        note = None if removed else "no consumer matches"
        return self.Result(removed_consumers=len(removed), names=", ".join(removed) or None, note=note)
