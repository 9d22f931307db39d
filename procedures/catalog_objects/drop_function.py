"""``CALL sys.drop_function``: drop a function of the catalog."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.procedures.base import Context, Procedure, Record, column, detail, optional, required
from paimon_sql.procedures.catalog_objects.create_function import THE_FUNCTION, WHETHER_DRY_RUN
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE


class DropFunction(Procedure):
    """Drops all its definitions; statements and views that call it fail afterwards."""

    summary = "Drop a function of the catalog."
    example = "CALL sys.drop_function(`function` => 'db.twice')"

    class Arguments(Record, kw_only=True):
        function: str = required(THE_FUNCTION)
        dry_run: bool | None = optional(DRY_RUN)

    class Result(Record):
        result: bool = column("always true")
        note: str | None = detail(WHETHER_DRY_RUN)

    def call(self, context: Context, arguments: Arguments) -> Iterable[Result]:
        catalog, identifier = context.locate_object(arguments.function, "function")
        if arguments.dry_run:
            catalog.function(identifier)
        else:
            catalog.drop_function(identifier)
        yield self.Result(True, NOTHING_DONE if arguments.dry_run else None)
