"""A session with Paimon's parser makes of plain Spark SQL the very plans, and the very errors, of Spark's parser."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import ParseException
from pyspark.sql import SparkSession

from tests.sql.sql_cases import plain

_IDS = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|@[0-9a-f]+|#\d+")


def outcome(parser: Any, text: str) -> str:
    """The plan that a parser makes of a text, without ids that differ from run to run, or what it says against it."""
    try:
        return _IDS.sub("", str(parser.parsePlan(text).toString()))
    except Py4JJavaError as error:
        return f"refused: {error.java_exception.getCondition()}"
    except ParseException as error:
        is_script = "exception handler" in str(error)
        return f"refused: {error.getCondition() if is_script else error}"


@pytest.fixture(scope="module")
def parsers(spark: SparkSession) -> tuple[Any, Any]:
    """The parser of a session that has called no function of ours (SHOW FUNCTIONS hides those), and Spark's own."""
    return (
        spark.newSession()._jsparkSession.sessionState().sqlParser(),
        spark._jvm.org.apache.spark.sql.execution.SparkSqlParser(),
    )


def test_plans_and_errors_of_plain_spark_sql_are_sparks_own(parsers: tuple[Any, Any]) -> None:
    ours, sparks = parsers
    different = {t: (outcome(ours, t), outcome(sparks, t)) for t in plain() if outcome(ours, t) != outcome(sparks, t)}
    assert different == {}


def test_most_of_the_statements_are_ones_that_spark_takes(parsers: tuple[Any, Any]) -> None:
    refused = [text for text in plain() if outcome(parsers[1], text).startswith("refused")]
    assert len(refused) < len(plain()) // 10


def test_errors_in_scripts_reach_the_user(spark: SparkSession) -> None:
    with pytest.raises(ParseException, match="CONTINUE exception handler is not supported"):
        spark.sql("BEGIN DECLARE CONTINUE HANDLER FOR SQLSTATE '22012' BEGIN SELECT 1; END; SELECT 1 / 0; END")


def test_values_of_variables_may_hold_what_is_ours(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE paimon.default.held (a INT)")
    spark.sql("SET my.what = held$options")
    spark.sql("SET my.hint = /*+ OPTIONS('scan.mode' = 'latest') */")
    assert spark.sql("SELECT * FROM paimon.default.${my.what} WHERE key = 'bucket'").collect() == []
    assert spark.sql("SELECT * FROM paimon.default.held ${my.hint}").collect() == []
    spark.sql("DROP TABLE paimon.default.held")


def test_parameters_are_bound_in_statements_that_python_executes(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE paimon.default.bound (a INT, b STRING)")
    spark.sql("INSERT INTO paimon.default.bound VALUES (1, 'x'), (2, '2024-01-02')")

    def explained(text: str, args: Any) -> str:
        return str(spark.sql(f"EXPLAIN {text}", args=args).collect()[0][0])

    assert "b = it's" in explained("DELETE FROM paimon.default.bound WHERE b = :b", {"b": "it's"})
    assert "25" in explained("UPDATE paimon.default.bound SET a = ? WHERE a = ?", [25, 1])
    assert "2024-01-02" in explained("DELETE FROM paimon.default.bound WHERE b = ?", [date(2024, 1, 2)])
    with pytest.raises(Exception, match="UNBOUND_SQL_PARAMETER"):
        explained("DELETE FROM paimon.default.bound WHERE b = :c", {"b": 1})
    spark.sql("DROP TABLE paimon.default.bound")


@pytest.mark.parametrize(
    "text", ["a > 1", "transform(x, v -> v + 1)", "`a$b` LIKE '$x' ESCAPE '!'", "bucket(8, k)", ")"]
)
def test_expressions_are_parsed_as_by_spark(text: str, parsers: tuple[Any, Any]) -> None:
    def parsed(parser: Any) -> str:
        try:
            return str(parser.parseExpression(text).toString())
        except Exception as error:
            return f"refused: {error}"

    assert parsed(parsers[0]) == parsed(parsers[1])


@pytest.mark.parametrize(
    "name", ["t", "a.b.c", "`a.b`.c", "`t$files`", "1a", "a..b", "`日本`", "IDENTIFIER('x')", "", "t-1", "a b"]
)
def test_names_are_parsed_as_by_spark(name: str, parsers: tuple[Any, Any]) -> None:
    def parsed(parser: Any) -> str:
        try:
            return str(parser.parseMultipartIdentifier(name).toString())
        except Exception as error:
            return f"refused: {error}"

    assert parsed(parsers[0]) == parsed(parsers[1])
