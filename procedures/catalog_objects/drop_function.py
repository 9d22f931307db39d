"""``CALL sys.drop_function``: remove a function of the catalog."""

from __future__ import annotations

from typing import Any

from paimon_sql.format.schema.types import BooleanType
from paimon_sql.procedures.base import Context, Procedure, result
from paimon_sql.procedures.catalog_objects.create_function import FUNCTION, NOTE
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE


class DropFunction(Procedure):
    """The function with all its definitions; what calls it fails from then on."""

    name = "drop_function"
    summary = "Remove a function of the catalog."
    arguments = (FUNCTION, DRY_RUN)
    results = (result("result", BooleanType(), "always true"),)
    details = (NOTE,)
    example = "CALL sys.drop_function(`function` => 'db.twice')"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        catalog, identifier = context.locate_object(arguments["function"], "function")
        if arguments["dry_run"]:
            catalog.function(identifier)
        else:
            catalog.drop_function(identifier)
        return [(True, NOTHING_DONE if arguments["dry_run"] else None)]
