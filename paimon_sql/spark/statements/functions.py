"""DESCRIBE FUNCTION."""

from __future__ import annotations

from paimon_sql.errors import NotFoundError
from paimon_sql.format.types import DataField, string_type
from paimon_sql.procedures.base import Context
from paimon_sql.spark.functions import load_function
from paimon_sql.spark.statements.base import Answer, Runner, Surroundings
from paimon_sql.sql.statements import DescribeFunction


class RunDescribeFunction(Runner):
    """DESCRIBE FUNCTION, with the lines that Spark has for its own functions."""

    statement = DescribeFunction

    def run(self, statement: DescribeFunction, surroundings: Surroundings) -> Answer:
        catalog, database, name = statement.function
        found = load_function(surroundings.jvm, name, lambda: Context(surroundings.catalog))
        if found is None:
            raise NotFoundError(
                f"Catalog {catalog} has no function {database}.{name}.",
                name=name,
                remedy=f"SHOW USER FUNCTIONS IN {catalog}.{database} lists what there is.",
            )
        lines = [f"Function: {catalog}.{database.lower()}.{found.name()}", f"Usage: {found.description()}"]
        if statement.extended:
            lines.append(f"Extended Usage:\n    Examples:\n      > {found.example}\n")
        return Answer((DataField(-1, "function_desc", string_type(False)),), [(line,) for line in lines])
