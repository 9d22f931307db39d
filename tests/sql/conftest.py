"""What the tests of the dialect share: a session's context, the conformance statements, and one Spark."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from paimon_sql.sql.carried_statements import Statement
from paimon_sql.sql.rewrite import RewriteContext, rewrite

CONTEXT = RewriteContext("paimon", "db", frozenset({"paimon", "dialect_cat"}))


@pytest.fixture
def context() -> RewriteContext:
    """A session in database ``db`` of catalog ``paimon``; ``dialect_cat`` is a Paimon catalog too."""
    return CONTEXT


@pytest.fixture
def sql() -> Callable[[str], str]:
    """The text that a statement becomes in that session."""
    return lambda text: rewrite(text, CONTEXT).sql


@pytest.fixture
def carried() -> Callable[[str], Statement]:
    """The statement of ours that a text becomes in that session."""

    def read(text: str) -> Statement:
        (statement,) = rewrite(text, CONTEXT).statements
        return statement

    return read


@pytest.fixture(scope="session")
def conformance(shared: Path) -> Callable[[str], Iterator[tuple[str, str]]]:
    """The statements of a conformance folder, each with the place where it stands; ``.`` is all folders."""

    def statements(folder: str) -> Iterator[tuple[str, str]]:
        for path in sorted((shared / "conformance" / folder).rglob("*.slt")):
            for block in re.split(r"\n[ \t]*\n", path.read_text()):
                lines = block.strip("\n").split("\n")
                while lines and lines[0].startswith("#"):
                    lines.pop(0)
                if not lines or not re.match(r"statement|query", lines[0]):
                    continue
                body = lines[1 : lines.index("----")] if "----" in lines else lines[1:]
                text = "\n".join(line for line in body if not line.startswith("#"))
                yield f"{path.name}: {text}", text.replace("$DB", "db").replace("$WAREHOUSE", "/warehouse")

    return statements


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A Spark session, on as many cores as others ask for; one that other tests have started is taken as it is."""
    is_started = SparkContext._active_spark_context is not None
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.log.level", "OFF").getOrCreate()
    yield session
    if not is_started:
        session.stop()


@pytest.fixture(scope="session")
def plan_of(spark: SparkSession) -> Callable[[str], str]:
    """The plan that Spark's own parser makes of a text, without the ids that differ from run to run."""
    parser = spark._jvm.org.apache.spark.sql.execution.SparkSqlParser()

    def parse(text: str) -> str:
        plan = str(parser.parsePlan(text).toString())
        plan = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|@[0-9a-f]+", "", plan)
        return re.sub(r"#\d+", "", plan)

    return parse
