"""Spark hides secrets by our pattern: in linear time, and without a frame of the stack for each character."""

from __future__ import annotations

import time

import pytest
from pyspark.sql import SparkSession

from paimon_sql.spark.session.bridge import Bridge
from paimon_sql.sql.text.secrets import SECRETS_IN_JAVA, without_secrets

SIZE = 1_000_000


@pytest.mark.parametrize(
    "text",
    [
        "SELECT '" + "token" * (SIZE // 5) + "'",
        "SET secret = '" + "hunter''" * (SIZE // 8) + "', a = 'b'",
        "SET secret = '" + r"h\'" * (SIZE // 3),
        "SET secret" + " " * SIZE + "'hunter'",
        "secret = '" * (SIZE // 10),
        "CREATE CATALOG c WITH ('s3.secret-key' = 'hunter', 's3.region' = \"eu\")",
    ],
    ids=lambda text: text[:24],
)
def test_the_jvm_hides_what_python_hides(spark: SparkSession, text: str) -> None:
    pattern = Bridge.of(spark.sparkContext).jvm.static("java.util.regex.Pattern", "compile")(SECRETS_IN_JAVA)
    started = time.monotonic()
    shown = pattern.matcher(text).replaceAll("*********(redacted)")
    assert time.monotonic() - started < 20
    assert shown == without_secrets(text)
