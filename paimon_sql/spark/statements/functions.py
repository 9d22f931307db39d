"""CREATE FUNCTION, DROP FUNCTION and DESCRIBE FUNCTION."""

from __future__ import annotations

from paimon_sql.catalog.identifier import SYSTEM_DATABASE, Identifier
from paimon_sql.errors import (
    FunctionExistsError,
    InvalidInputError,
    NoSuchFunctionError,
    NotFoundError,
    UnsupportedError,
)
from paimon_sql.format.schema.catalog_objects import SQL, FunctionSchema
from paimon_sql.format.schema.types import DataField
from paimon_sql.procedures.base import Context
from paimon_sql.spark.catalog_objects.functions import load_function
from paimon_sql.spark.catalog_objects.sql_functions import CONTAINS_SQL, FunctionMaker
from paimon_sql.spark.catalog_objects.stored_sql import DIALECT, shown_options
from paimon_sql.spark.execution.carried_statement import Answer, Runner, StatementContext
from paimon_sql.sql.context import TableName
from paimon_sql.sql.statements.functions import CreateFunction, DescribeFunction, DropFunction
from paimon_sql.sql.types import spark_type


class RunCreateFunction(Runner[CreateFunction]):
    """CREATE FUNCTION."""

    def run(self, statement: CreateFunction, context: StatementContext) -> None:
        identifier = _identifier(statement.function)
        catalog = context.catalog
        if statement.replace and statement.if_not_exists:
            raise InvalidInputError(
                "CREATE FUNCTION takes either OR REPLACE or IF NOT EXISTS.", remedy="Leave one of them out."
            )
        if catalog.function_name(identifier) is not None and not statement.replace:
            if statement.if_not_exists:
                return
            raise FunctionExistsError(f"Function {catalog.name}.{identifier} already exists.", name=str(identifier))
        schema = FunctionMaker(context.session, catalog).schema_of(identifier, statement.definition)
        catalog.create_function(identifier, schema, replace=statement.replace)


class RunDropFunction(Runner[DropFunction]):
    """DROP FUNCTION."""

    def run(self, statement: DropFunction, context: StatementContext) -> None:
        try:
            context.catalog.drop_function(_identifier(statement.function))
        except NoSuchFunctionError:
            if not statement.if_exists:
                raise


class RunDescribeFunction(Runner[DescribeFunction]):
    """DESCRIBE FUNCTION, in Spark's format."""

    def run(self, statement: DescribeFunction, context: StatementContext) -> Answer:
        catalog, database, name = statement.function
        if database.lower() != SYSTEM_DATABASE:
            identifier = Identifier(database, name)
            lines = _described(context.catalog.function(identifier), statement.extended)
            stored = context.catalog.function_name(identifier) or name
            return Answer.of_names("function_desc", [f"Function:      {catalog}.{database}.{stored}", *lines])
        found = load_function(context.session.jvm, name, lambda: Context(context.catalog))
        if found is None:
            raise NotFoundError(
                f"Catalog {catalog} has no function {database}.{name}.",
                name=name,
                remedy=f"SHOW USER FUNCTIONS IN {catalog}.{database} lists the existing ones.",
            )
        lines = [f"Function: {catalog}.{database.lower()}.{found.name()}", f"Usage: {found.description()}"]
        if statement.extended:
            lines.append(f"Extended Usage:\n    Examples:\n      > {found.example}\n")
        return Answer.of_names("function_desc", lines)


def _identifier(function: TableName) -> Identifier:
    if len(function) != 3:
        raise InvalidInputError(f"{'.'.join(function)} is not a function name: expected catalog.database.function.")
    if function[1].lower() == SYSTEM_DATABASE:
        raise UnsupportedError(f"The functions of {SYSTEM_DATABASE} are built in and cannot be changed.")
    return Identifier(function[1], function[2])


def _described(function: FunctionSchema, extended: bool) -> list[str]:
    """The lines that describe a function, each with a label."""
    lines = [("Type", "SCALAR")]
    lines += _several("Input", [_parameter(f) for f in function.parameters] or ["()"])
    lines += _several("Returns", [spark_type(f.type) for f in function.returns] or ["(determined by its class)"])
    if extended:
        if function.comment is not None:
            lines.append(("Comment", function.comment))
        lines.append(("Deterministic", str(function.deterministic).lower()))
        if CONTAINS_SQL in function.options:
            reads = function.options[CONTAINS_SQL] == "false"
            lines.append(("Data Access", "READS SQL DATA" if reads else "CONTAINS SQL"))
        options = {k: v for k, v in shown_options(function.options).items() if not k.startswith("spark.sql-function.")}
        lines += _several("Options", [f"{k}={v}" for k, v in sorted(options.items())])
        for engine, definition in sorted(function.definitions.items()):
            label = "Body" if engine == DIALECT and definition["type"] == SQL else f"Body ({engine})"
            lines.append((label, str(definition.get("definition") or definition.get("className"))))
    return [f"{label + ':':<15}{text}" if label else f"{'':15}{text}" for label, text in lines]


def _several(label: str, lines: list[str]) -> list[tuple[str, str]]:
    return [(label if i == 0 else "", line) for i, line in enumerate(lines)]


def _parameter(field: DataField) -> str:
    text = f"{field.name} {spark_type(field.type)}"
    if field.default is not None:
        text += f" DEFAULT {field.default}"
    return text if field.description is None else f"{text} '{field.description}'"
