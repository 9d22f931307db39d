"""``CALL sys.create_function``: create a function in the catalog; ``alter_function`` adds its definitions."""

from __future__ import annotations

import json

from paimon_sql.errors import FunctionExistsError, InvalidInputError, PaimonError
from paimon_sql.format.schema.catalog_objects import FunctionSchema
from paimon_sql.format.schema.types import DataField, parse_field
from paimon_sql.procedures.base import Context, Done, DryRun, DryRunNoted, Procedure, optional, required
from paimon_sql.procedures.values import pairs_of

THE_FUNCTION = "The function: f, db.f or catalog.db.f."
_FIELDS = '[{"id": 0, "name": "x", "type": "INT"}]'


class CreateFunction(Procedure):
    """No engine can call the function before a definition is added."""

    summary = "Create a function in the catalog, without a definition."
    example = (
        "CALL sys.create_function(`function` => 'db.twice',"
        ' inputParams => \'[{"id": 0, "name": "x", "type": "INT"}]\','
        ' returnParams => \'[{"id": 0, "name": "y", "type": "INT"}]\')'
    )

    class Arguments(DryRun, kw_only=True):
        function: str = required(THE_FUNCTION)
        inputParams: str = required(f"Its parameters, as JSON: {_FIELDS}.")  # noqa: N815
        returnParams: str = required("Its return values, as JSON like the parameters.")  # noqa: N815
        deterministic: bool | None = optional("Whether equal arguments give equal results; true by default.")
        comment: str | None = optional("Its comment.")
        options: str | None = optional("Its options, as 'k=v,k=v'.")

    class Result(Done, DryRunNoted, kw_only=True):
        """Only whether it was a dry run."""

    def call(self, context: Context, arguments: Arguments) -> Result:
        schema = FunctionSchema(
            parameters=_fields(arguments.inputParams, "inputParams"),
            returns=_fields(arguments.returnParams, "returnParams"),
            deterministic=arguments.deterministic is not False,
            comment=arguments.comment,
            options=pairs_of(arguments.options),
        )
        catalog, identifier = context.locate_object(arguments.function, "function")
        if arguments.dry_run and catalog.function_name(identifier) is not None:
            raise FunctionExistsError(f"Function {catalog.name}.{identifier} already exists.", name=str(identifier))
        if not arguments.dry_run:
            catalog.create_function(identifier, schema)
        return self.Result()


def _fields(text: str, argument: str) -> tuple[DataField, ...]:
    remedy = f"Write {_FIELDS}."
    try:
        body = json.loads(text)
        if not isinstance(body, list):
            raise InvalidInputError(f"{argument} is not a list of fields.", remedy=remedy)
        found = tuple(parse_field(f) for f in body)
    except PaimonError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise InvalidInputError(f"{argument} is not valid JSON of fields: {reason}.", remedy=remedy) from error
    names = [f.name for f in found]
    for name in names:
        if names.count(name) > 1:
            raise InvalidInputError(f"{argument} contains {name} more than once.")
    return found
