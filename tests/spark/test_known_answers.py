"""What the JVM knows of tables and catalogs, it does not ask Python again; literal rows are not optimized twice."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from paimon_sql.spark.catalog.catalog_proxy import CatalogProxy
from paimon_sql.spark.jvm.proxy import Proxy, knowing, python_object
from paimon_sql.spark.session.bridge import Bridge
from paimon_sql.spark.tables.data_table import TableProxy


class Counting(Proxy):
    """Counts its calls."""

    implements = ["java.util.concurrent.Callable"]
    asked = 0

    def call(self) -> int:
        self.asked += 1
        return self.asked

    def toString(self) -> str:  # noqa: N802 - a method of Java's
        return "asked"


def test_a_proxy_in_the_jvm_answers_what_it_knows_and_asks_for_the_rest(spark: SparkSession) -> None:
    jvm = Bridge.of(spark.sparkContext).jvm
    word = Counting(jvm)
    known: Any = knowing(word, jvm.java_map({"toString": "known"}))
    jvm.cls("java.lang.System").gc()
    gc.collect()
    assert (known.toString(), known.call(), known.call(), word.asked) == ("known", 1, 2, 2)
    assert known.equals(known)
    assert known.equals(word)
    assert python_object(jvm, known) is word


def _counted(asked: Counter[str], method: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: object, *arguments: object) -> Any:
        asked[method.__name__] += 1
        return method(self, *arguments)

    return call


def test_a_statement_asks_python_nothing_that_is_the_same_for_each_statement(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark.sql("CREATE TABLE asked_once (id INT, name STRING) TBLPROPERTIES ('primary-key' = 'id')")
    spark.sql("INSERT INTO asked_once VALUES (1, 'a')")
    asked: Counter[str] = Counter()
    for name in ("capabilities", "columns", "constraints", "partitioning"):
        monkeypatch.setattr(TableProxy, name, _counted(asked, getattr(TableProxy, name)))
    for name in ("name", "defaultNamespace"):
        monkeypatch.setattr(CatalogProxy, name, _counted(asked, getattr(CatalogProxy, name)))
    spark.sql("INSERT INTO asked_once VALUES (2, 'b')")
    assert spark.sql("SELECT * FROM asked_once ORDER BY id").collect() == [(1, "a"), (2, "b")]
    assert not asked


def test_a_table_of_other_columns_has_other_answers(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE altered_known (id INT)")
    spark.sql("INSERT INTO altered_known VALUES (1)")
    spark.sql("ALTER TABLE altered_known ADD COLUMN name STRING")
    spark.sql("INSERT INTO altered_known VALUES (2, 'b')")
    assert spark.sql("SELECT * FROM altered_known ORDER BY id").collect() == [(1, None), (2, "b")]
    spark.sql("DROP TABLE altered_known")
    spark.sql("CREATE TABLE altered_known (p STRING, id BIGINT) PARTITIONED BY (p)")
    spark.sql("INSERT INTO altered_known PARTITION (p = 'x') VALUES (3)")
    assert spark.sql("SELECT id, p FROM altered_known").collect() == [(3, "x")]


def test_random_numbers_of_a_cached_frame_are_written_as_they_were_shown(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE drawn (id BIGINT, number DOUBLE)")
    frame = (
        spark.sql("SELECT id, rand() number FROM VALUES (1), (2), (3) v(id)")
        .selectExpr("CAST(id AS BIGINT) id", "number")
        .cache()
    )
    shown = sorted(frame.collect())
    frame.writeTo("drawn").append()
    frame.unpersist()
    assert sorted(spark.table("drawn").collect()) == shown


def test_expressions_in_values_are_computed(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE computed (id BIGINT, code CHAR(3), amount DECIMAL(9, 2), day DATE, at TIMESTAMP)")
    spark.sql(
        "INSERT INTO computed VALUES (1 + 1, 'a', 1.005BD, DATE '2026-03-01' + INTERVAL 1 DAY, current_timestamp()),"
        " (NULL, upper('xyz'), CAST(7 AS DOUBLE), DATE '2026-03-04', NULL)"
    )
    rows = spark.sql("SELECT id, code, CAST(amount AS STRING), CAST(day AS STRING), at IS NULL FROM computed").collect()
    assert sorted(rows, key=str) == [(2, "a  ", "1.01", "2026-03-02", False), (None, "XYZ", "7.00", "2026-03-04", True)]
    with pytest.raises(Exception, match="Exceeds char/varchar type length limitation: 3"):
        spark.sql("INSERT INTO computed VALUES (1, 'long', 1, NULL, NULL)")
