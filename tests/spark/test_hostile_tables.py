"""Tables of strangers through SQL: metadata that name files outside of a table have nothing read or deleted there."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from paimon_sql.format.metadata.manifest import read_manifest, write_manifest
from paimon_sql.shell.engine.errors import describe
from paimon_sql.storage.metadata import manifests
from paimon_sql.storage.metadata.manifests import ManifestCache, ManifestListCache
from tests.spark.conftest import Sql

REFUSED = (
    "SELECT * FROM t",
    "SELECT count(*), max(v) FROM t WHERE id > 0",
    "DELETE FROM t WHERE id = 1",
    "CALL sys.compact(`table` => 't')",
    "CALL sys.purge_files(`table` => 't')",
)
HARMLESS = (
    "CALL sys.remove_orphan_files(`table` => 't', dry_run => false)",
    "CALL sys.rollback(`table` => 't', version => '1')",
    "CALL sys.expire_snapshots(`table` => 't', retain_max => 1, retain_min => 1)",
)
"""They may be refused, too, where they have to look at the manifests."""


def _names(folder: Path, name: str, external: str | None) -> None:
    """Let every entry of every manifest name this file."""
    for path in (folder / "manifest").glob("manifest-*"):
        if not path.name.startswith("manifest-list-"):
            table = read_manifest(path.read_bytes(), str(path))
            for column, value in (("file_name", name), ("external_path", external)):
                at = table.schema.get_field_index(column)
                table = table.set_column(at, table.schema.field(at), pa.array([value] * len(table), pa.string()))
            path.write_bytes(write_manifest(table, "zstd"))


def _message(sql: Sql, statement: str) -> str:
    """What the shell shows of the error that a statement ends with; its rows if it has none."""
    try:
        return str(sql(statement))
    except (PySparkException, Py4JError) as error:
        return describe(error, statement).message


@pytest.mark.parametrize("external", [False, True])
def test_a_manifest_that_names_a_file_elsewhere_is_refused(
    spark: SparkSession, sql: Sql, monkeypatch: pytest.MonkeyPatch, external: bool
) -> None:
    database = str(sql("SELECT current_database()")[0][0])
    root = Path(str(spark.conf.get("spark.sql.catalog.paimon.warehouse")))
    folder = root / f"{database}.db" / "t"
    sql("CREATE TABLE t (id INT NOT NULL, v STRING) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    sql("INSERT INTO t VALUES (1, 'mine')")
    sql("INSERT INTO t VALUES (2, 'mine too')")
    secret = folder.parent / "x"
    secret.write_bytes(next((folder / "bucket-0").iterdir()).read_bytes())
    _names(folder, "x" if external else "../../x", str(secret) if external else None)
    monkeypatch.setattr(manifests, "CACHE", ManifestCache())
    monkeypatch.setattr(manifests, "LISTS", ManifestListCache())
    before = secret.read_bytes()
    outcomes = {statement: _message(sql, statement) for statement in REFUSED}
    for statement, said in outcomes.items():
        assert "it names" in said and ("no file name" in said or "in no directory" in said), (statement, said)
    for statement in HARMLESS:
        _message(sql, statement)
    assert secret.read_bytes() == before
    secret.unlink()
