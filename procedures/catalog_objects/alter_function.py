"""``CALL sys.alter_function``: change a function of the catalog."""

from __future__ import annotations

import json

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.schema.catalog_objects import apply_change
from paimon_sql.procedures.base import Context, Done, DryRun, DryRunNoted, Procedure, detail, required
from paimon_sql.procedures.catalog_objects.create_function import THE_FUNCTION


class AlterFunction(Procedure):
    """One change at a time: a definition for an engine, an option, or the comment."""

    summary = "Change a function of the catalog: its definitions, options or comment."
    example = (
        'CALL sys.alter_function(`function` => \'db.twice\', `change` => \'{"action": "addDefinition", "name": "spark",'
        ' "definition": {"type": "sql", "definition": "2 * x"}}\')'
    )

    class Arguments(DryRun, kw_only=True):
        function: str = required(THE_FUNCTION)
        change: str = required(
            'The change, as JSON; its "action" is addDefinition, updateDefinition, dropDefinition, setOption,'
            " removeOption or updateComment."
        )

    class Result(Done, DryRunNoted, kw_only=True):
        definitions: str | None = detail("the engines that have a definition now")

    def call(self, context: Context, arguments: Arguments) -> Result:
        try:
            change = json.loads(arguments.change)
        except ValueError as error:
            raise InvalidInputError(f"change is not valid JSON: {error}.") from error
        catalog, identifier = context.locate_object(arguments.function, "function")
        if arguments.dry_run:
            changed = apply_change(catalog.function(identifier), change)
        else:
            changed = catalog.alter_function(identifier, lambda function: apply_change(function, change))
        return self.Result(definitions=", ".join(sorted(changed.definitions)) or None)
