"""``CALL sys.alter_function``: change a function of the catalog."""

from __future__ import annotations

import json
from typing import Any

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.catalog_objects.function import changed_function
from paimon_sql.format.schema.types import BooleanType, string_type
from paimon_sql.procedures.base import Argument, Context, Procedure, result
from paimon_sql.procedures.catalog_objects.create_function import FUNCTION, NOTE
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE


class AlterFunction(Procedure):
    """One change at a time: a definition for an engine, an option, or the comment."""

    name = "alter_function"
    summary = "Change a function of the catalog: its definitions, options or comment."
    arguments = (
        FUNCTION,
        Argument(
            "change",
            string_type(),
            'The change, as JSON; its "action" is addDefinition, updateDefinition, dropDefinition, setOption,'
            " removeOption or updateComment.",
            required=True,
        ),
        DRY_RUN,
    )
    results = (result("result", BooleanType(), "always true"),)
    details = (result("definitions", string_type(), "the engines that have a definition now"), NOTE)
    example = (
        'CALL sys.alter_function(`function` => \'db.twice\', `change` => \'{"action": "addDefinition", "name": "spark",'
        ' "definition": {"type": "sql", "definition": "2 * x"}}\')'
    )

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        dry_run = bool(arguments["dry_run"])
        try:
            change = json.loads(arguments["change"])
        except ValueError as error:
            raise InvalidInputError(f"change is no JSON: {error}.") from error
        catalog, identifier = context.locate_object(arguments["function"], "function")
        if dry_run:
            changed = changed_function(catalog.function(identifier), change)
        else:
            changed = catalog.alter_function(identifier, lambda function: changed_function(function, change))
        return [(True, ", ".join(sorted(changed.definitions)) or None, NOTHING_DONE if dry_run else None)]
