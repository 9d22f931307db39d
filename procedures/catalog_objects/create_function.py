"""``CALL sys.create_function``: make a function in the catalog, whose definitions ``alter_function`` adds."""

from __future__ import annotations

import json
from typing import Any

from paimon_sql.errors import FunctionExistsError, InvalidInputError, PaimonError
from paimon_sql.format.catalog_objects.function import FunctionSchema
from paimon_sql.format.options.values import comma_separated
from paimon_sql.format.schema.types import BooleanType, DataField, parse_field, string_type
from paimon_sql.procedures.base import Argument, Context, Procedure, result
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE

FUNCTION = Argument("function", string_type(), "The function: f, db.f or catalog.db.f.", required=True)
NOTE = result("note", string_type(), "whether this was a dry run")
_FIELDS = '[{"id": 0, "name": "x", "type": "INT"}]'


class CreateFunction(Procedure):
    """The function has no definition yet, so that no engine can call it before one is added."""

    name = "create_function"
    summary = "Make a function in the catalog, without a definition."
    arguments = (
        FUNCTION,
        Argument("inputParams", string_type(), f"Its parameters, as JSON: {_FIELDS}.", required=True),
        Argument("returnParams", string_type(), "What it gives back, as JSON like the parameters.", required=True),
        Argument("deterministic", BooleanType(), "Whether equal arguments give equal results; true by default."),
        Argument("comment", string_type(), "What is said about it."),
        Argument("options", string_type(), "Its options, as 'k=v,k=v'."),
        DRY_RUN,
    )
    results = (result("result", BooleanType(), "always true"),)
    details = (NOTE,)
    example = (
        "CALL sys.create_function(`function` => 'db.twice',"
        ' inputParams => \'[{"id": 0, "name": "x", "type": "INT"}]\','
        ' returnParams => \'[{"id": 0, "name": "y", "type": "INT"}]\')'
    )

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        dry_run, deterministic = bool(arguments["dry_run"]), arguments["deterministic"]
        schema = FunctionSchema(
            parameters=_fields(arguments["inputParams"], "inputParams"),
            returns=_fields(arguments["returnParams"], "returnParams"),
            deterministic=deterministic is None or bool(deterministic),
            comment=arguments["comment"],
            options=_options(arguments["options"] or ""),
        )
        catalog, identifier = context.locate_object(arguments["function"], "function")
        if dry_run and catalog.function_name(identifier) is not None:
            raise FunctionExistsError(f"Function {catalog.name}.{identifier} already exists.", name=str(identifier))
        if not dry_run:
            catalog.create_function(identifier, schema)
        return [(True, NOTHING_DONE if dry_run else None)]


def _fields(text: str, argument: str) -> tuple[DataField, ...]:
    remedy = f"Write {_FIELDS}."
    try:
        body = json.loads(text)
        if not isinstance(body, list):
            raise InvalidInputError(f"{argument} is no list of fields.", remedy=remedy)
        found = tuple(parse_field(f) for f in body)
    except PaimonError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        detail = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise InvalidInputError(f"{argument} is no JSON of fields: {detail}.", remedy=remedy) from error
    names = [f.name for f in found]
    for name in names:
        if names.count(name) > 1:
            raise InvalidInputError(f"{argument} holds {name} more than once.")
    return found


def _options(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in comma_separated(text):
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not key:
            raise InvalidInputError(f"'{pair}' is no option.", remedy="Write k=v,k=v.")
        found[key] = value
    return found
