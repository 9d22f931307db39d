"""Iceberg's readers see the rows of a table behind each change of it, whoever made it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from .iceberg_side import JavaIceberg, PyIceberg, in_order
from .test_java import rows_of

ON = "'metadata.iceberg.storage' = 'table-location'"


class Seen:
    """A table as the readers see it, which must be as the connector does."""

    def __init__(self, spark: SparkSession, warehouse: Path, readers: tuple[PyIceberg, JavaIceberg], name: str) -> None:
        self.spark, self.name = spark, name
        self.folder = warehouse / "default.db" / name
        self.pyiceberg, self.iceberg = readers

    def run(self, *statements: str, of: str = "") -> None:
        """Run statements on the table ``{t}``, behind each of which the readers must see its rows.

        Args:
            statements: the statements.
            of: the view of the table that they must see, such as ``$ro``.
        """
        for statement in statements:
            self.spark.sql(statement.format(t=f"default.{self.name}"))
            self.check(of)

    def check(self, of: str = "") -> None:
        expected = in_order(rows_of(self.spark, f"default.`{self.name}{of}`"))
        assert self.iceberg.read(self.folder) == expected
        if not self.has_vectors:  # pyiceberg wants whole Puffin files
            assert self.pyiceberg.read(self.folder / "metadata") == expected

    @property
    def metadata(self) -> dict[str, object]:
        folder = self.folder / "metadata"
        version = (folder / "version-hint.text").read_text()
        found: dict[str, object] = json.loads((folder / f"v{version}.metadata.json").read_text())
        return found

    @property
    def has_vectors(self) -> bool:
        snapshots = self.metadata["snapshots"]
        assert isinstance(snapshots, list)
        return bool(int(snapshots[-1]["summary"]["total-delete-files"]))


@pytest.fixture
def seen(spark: SparkSession, warehouse: Path, pyiceberg: PyIceberg, iceberg: JavaIceberg) -> type[Seen]:
    """What makes a `Seen` of a table's name."""

    class Here(Seen):
        def __init__(self, name: str) -> None:
            super().__init__(spark, warehouse, (pyiceberg, iceberg), name)

    return Here


def test_an_append_table_is_seen_behind_each_statement(seen: type[Seen], spark: SparkSession) -> None:
    table = seen("ice_append")
    spark.sql(
        f"CREATE TABLE default.ice_append (id INT NOT NULL, v STRING, n BIGINT, p STRING) PARTITIONED BY (p)"
        f" TBLPROPERTIES ({ON})"
    )
    table.run(
        "INSERT INTO {t} VALUES (1, 'a', 1, 'x'), (2, NULL, NULL, NULL), (3, '', 0, '')",
        "INSERT INTO {t} SELECT id, 'ä😀', id * 10, 'y' FROM range(10, 14)",
        "DELETE FROM {t} WHERE id = 1",
        "UPDATE {t} SET v = 'changed' WHERE id = 11",
        "INSERT OVERWRITE {t} PARTITION (p = 'y') VALUES (50, 'over', 1)",
        "ALTER TABLE {t} DROP PARTITION (p = 'y')",
        "ALTER TABLE {t} ADD COLUMN z DOUBLE",
        "INSERT INTO {t} VALUES (4, 'd', 4, 'x', 1.5)",
        "ALTER TABLE {t} RENAME COLUMN v TO w",
        "ALTER TABLE {t} DROP COLUMN n",
        "INSERT INTO {t} VALUES (5, 'e', 'x', 2.5)",
        "CALL sys.compact(table => '{t}')",
        "TRUNCATE TABLE {t}",
        "INSERT INTO {t} VALUES (6, 'f', 'x', 3.5)",
    )
