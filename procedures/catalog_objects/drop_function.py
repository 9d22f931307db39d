"""``CALL sys.drop_function``: drop a function of the catalog."""

from __future__ import annotations

from paimon_sql.procedures.base import Context, DryRun, Procedure, required
from paimon_sql.procedures.catalog_objects.create_function import THE_FUNCTION, CreateFunction


class DropFunction(Procedure):
    """Drops all its definitions; statements and views that call it fail afterwards."""

    summary = "Drop a function of the catalog."
    example = "CALL sys.drop_function(`function` => 'db.twice')"

    class Arguments(DryRun, kw_only=True):
        function: str = required(THE_FUNCTION)

    Result = CreateFunction.Result

    def call(self, context: Context, arguments: Arguments) -> CreateFunction.Result:
        catalog, identifier = context.locate_object(arguments.function, "function")
        if arguments.dry_run:
            catalog.function(identifier)
        else:
            catalog.drop_function(identifier)
        return self.Result()
