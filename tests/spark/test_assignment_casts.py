"""Values written into columns of other types: ``spark.sql.storeAssignmentPolicy`` decides, everywhere alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

Sql = Callable[[str], list[tuple[Any, ...]]]
WRITES = {
    "insert": "INSERT INTO t (id, n, s, l, m) SELECT * FROM {rows}",
    "insert by name": "INSERT INTO t BY NAME SELECT * FROM {rows}",
    "update": "UPDATE t SET {sets}",
    "merge": "MERGE INTO t USING {rows} ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
}
PLACES = {
    "column": "{} AS n, named_struct('a', 1) AS s, array(1) AS l, map('k', 1) AS m",
    "struct": "1 AS n, named_struct('a', {}) AS s, array(1) AS l, map('k', 1) AS m",
    "array": "1 AS n, named_struct('a', 1) AS s, array({}) AS l, map('k', 1) AS m",
    "map": "1 AS n, named_struct('a', 1) AS s, array(1) AS l, map('k', {}) AS m",
}


@pytest.fixture
def strict(spark: SparkSession) -> Iterator[None]:
    """A session that casts only where nothing can be lost."""
    spark.conf.set("spark.sql.storeAssignmentPolicy", "STRICT")
    yield
    spark.conf.unset("spark.sql.storeAssignmentPolicy")


def written(sql: Sql, write: str, place: str, value: str) -> list[tuple[Any, ...]]:
    """What a statement that writes a value into a place leaves of a table with one row."""
    sql("CREATE TABLE IF NOT EXISTS t (id INT, n INT, s STRUCT<a: INT>, l ARRAY<INT>, m MAP<STRING, INT>)")
    sql("INSERT OVERWRITE t VALUES (1, 0, struct(0), array(0), map('k', 0))")
    values = PLACES[place].format(value)
    sets = ", ".join(f"{part.rpartition(' AS ')[2]} = {part.rpartition(' AS ')[0]}" for part in _parts(values))
    sql(WRITES[write].format(rows=f"(SELECT 1 AS id, {values}) s", sets=sets))
    return sql("SELECT DISTINCT n, s.a, l[0], m['k'] FROM t WHERE n <> 0 OR s.a <> 0")


def _parts(values: str) -> list[str]:
    """The values with their names, at the commas that stand behind names."""
    names = (" AS n, ", " AS s, ", " AS l, ")
    for name in names:
        values = values.replace(name, f"{name[:-2]}\n")
    return values.split("\n")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("write", WRITES)
def test_numbers_are_cast_if_they_fit_and_texts_are_not(sql: Sql, write: str, place: str) -> None:
    assert written(sql, write, place, "1L") == [(1, 1, 1, 1)]
    with pytest.raises(Exception, match=r"(?i)overflow|out of range"):
        written(sql, write, place, "5000000000")
    with pytest.raises(Exception, match="Cannot safely cast"):
        written(sql, write, place, "'1'")
    assert sql("SELECT n FROM t") == [(0,)]


@pytest.mark.parametrize("write", WRITES)
def test_nothing_is_cast_strictly_that_could_be_lost(sql: Sql, strict: None, write: str) -> None:
    assert written(sql, write, "struct", "CAST(1 AS SMALLINT)") == [(1, 1, 1, 1)]
    with pytest.raises(Exception, match="Cannot safely cast"):
        written(sql, write, "struct", "1L")
