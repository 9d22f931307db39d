"""Partitions of format tables that a catalog keeps a register of (``metastore.partitioned-table``), through SQL."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.spark.server_lake import Lake

MAKE = "PARTITIONED BY (dt, hour) TBLPROPERTIES ('metastore.partitioned-table' = 'true')"


def test_partitions_are_those_that_the_catalog_lists(server_lake: Lake) -> None:
    lake = server_lake
    lake(f"CREATE TABLE t (id INT, dt STRING, hour STRING) USING csv {MAKE}")
    lake("ALTER TABLE t ADD PARTITION (dt = 'a', hour = '1') PARTITION (DT = 'b/c', HOUR = 'ü=%')")
    lake("ALTER TABLE t ADD IF NOT EXISTS PARTITION (dt = 'a', hour = '1') PARTITION (dt = 'a', hour = '2')")
    with pytest.raises(Exception, match="already exist"):
        lake("ALTER TABLE t ADD PARTITION (dt = 'z', hour = '1') PARTITION (dt = 'a', hour = '2')")
    assert lake.registered("t") == ["dt=a, hour=1", "dt=a, hour=2", "dt=b/c, hour=ü=%"]
    assert lake("SELECT * FROM t") == []
    lake.put("t", "dt=x/hour=1", "other.csv", "7\n")
    lake("INSERT INTO t VALUES (1, 'a', '1'), (2, NULL, '3'), (3, '', '3')")
    assert lake("SELECT id FROM t ORDER BY id") == [(1,), (2,), (3,)]  # nobody has registered x
    assert lake("SHOW PARTITIONS t PARTITION (hour = '3')") == [("dt=null/hour=3",)]
    lake("ALTER TABLE t DROP PARTITION (dt = '__DEFAULT_PARTITION__', hour = '3')")
    lake("ALTER TABLE t DROP PARTITION (hour = '2'), PARTITION (dt = 'b/c')")
    assert lake.registered("t") == ["dt=a, hour=1"]
    assert not (lake.folder("t") / "dt=__DEFAULT_PARTITION__").exists()
    lake("ALTER TABLE t DROP IF EXISTS PARTITION (dt = 'x', hour = '1')")
    with pytest.raises(Exception, match=r"(?i)partition.*not"):
        lake("ALTER TABLE t DROP PARTITION (dt = 'x', hour = '1')")
    assert (lake.folder("t") / "dt=x" / "hour=1" / "other.csv").exists()
    with pytest.raises(Exception, match="LOCATION"):
        lake("ALTER TABLE t ADD PARTITION (dt = 'l', hour = '1') LOCATION '/tmp/elsewhere'")
    shutil.rmtree(lake.folder("t") / "dt=a")
    assert lake("SELECT * FROM t WHERE dt = 'a'") == lake("SELECT * FROM t") == []
    assert lake.registered("t") == ["dt=a, hour=1"]


def test_repair_takes_up_folders_and_leaves_out_what_has_none(server_lake: Lake) -> None:
    lake = server_lake
    lake(f"CREATE TABLE t (id INT, dt STRING, hour INT) USING csv {MAKE}")
    lake.put("t", "dt=a/hour=01", "f.csv", "1\n2\n")
    lake("CACHE TABLE t")
    assert lake("SELECT * FROM t") == []
    lake("MSCK REPAIR TABLE t")
    assert lake("SELECT * FROM t ORDER BY id") == [(1, "a", 1), (2, "a", 1)]
    lake("UNCACHE TABLE t")
    lake("ALTER TABLE t ADD PARTITION (dt = 'b', hour = 2)")
    shutil.rmtree(lake.folder("t") / "dt=b")
    lake.put("t", "dt=__DEFAULT_PARTITION__/hour=3", "f.csv", "3\n")
    lake("MSCK REPAIR TABLE t DROP PARTITIONS")
    assert lake.registered("t") == ["dt=a, hour=01"]
    lake("REPAIR TABLE t SYNC PARTITIONS")
    assert lake("SELECT id FROM t WHERE dt IS NULL") == [(3,)]
    assert set(lake.figures("t").values()) == {(-1, -1)}
    lake("SET spark.paimon.format-table.repair.collect-statistics = true")
    try:
        lake("MSCK REPAIR TABLE t")
    finally:
        lake("RESET spark.paimon.format-table.repair.collect-statistics")
    assert set(lake.figures("t").values()) == {(-1, 1)}


@pytest.mark.parametrize("kind", ["csv", "json", "orc", "parquet"])
def test_the_catalog_is_told_what_partitions_hold(server_lake: Lake, kind: str) -> None:
    lake = server_lake
    lake(f"CREATE TABLE t (id INT, v STRING, dt STRING, hour STRING) USING {kind} {MAKE}")
    lake("INSERT INTO t VALUES (1, 'x', 'a', '1'), (2, 'y', 'a', '1'), (3, 'z', 'b', '1')")
    lake("INSERT INTO t VALUES (4, 'x', 'a', '1')")
    rows = {name: figures[0] for name, figures in lake.figures("t").items()}
    assert rows == {"dt=a, hour=1": 3, "dt=b, hour=1": 1}
    lake("ANALYZE TABLE t PARTITION (dt, hour) COMPUTE STATISTICS")
    lake("ANALYZE TABLE t COMPUTE STATISTICS NOSCAN")
    assert {name: figures[0] for name, figures in lake.figures("t").items()} == rows
    lake("TRUNCATE TABLE t PARTITION (dt = 'b', hour = '1')")
    assert lake.figures("t")["dt=b, hour=1"] == (0, 0)
    lake("INSERT OVERWRITE t VALUES (5, 'n', 'c', '1')")
    assert lake.figures("t")["dt=a, hour=1"] == (0, 0) and lake.figures("t")["dt=c, hour=1"] == (1, 1)
    assert lake("SELECT id FROM t") == [(5,)]


def test_analyze_measures_the_partitions_that_it_names(server_lake: Lake) -> None:
    lake = server_lake
    lake(f"CREATE TABLE t (id INT, dt STRING, hour INT) USING csv {MAKE}")
    for place in ("dt=a/hour=1", "dt=a/hour=2", "dt=b/hour=1"):
        lake.put("t", place, "f.csv", "1\n")
    lake("MSCK REPAIR TABLE t")
    lake("ANALYZE TABLE t PARTITION (DT = 'a', hour = '01') COMPUTE STATISTICS NOSCAN")
    assert lake.figures("t") == {"dt=a, hour=1": (-1, 1), "dt=a, hour=2": (-1, -1), "dt=b, hour=1": (-1, -1)}
    lake("ANALYZE TABLE t PARTITION (dt = 'a', hour) COMPUTE STATISTICS")
    assert lake.figures("t")["dt=a, hour=2"] == (1, 1)
    refused = {
        "ANALYZE TABLE t PARTITION (dt = 'nosuch') COMPUTE STATISTICS": "nosuch",
        "ANALYZE TABLE t PARTITION (hour = 1) COMPUTE STATISTICS": r"leading partition columns in \[dt, hour\]",
        "ANALYZE TABLE t PARTITION (id = 1) COMPUTE STATISTICS": "id is not a partition column",
        "ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS id": "FOR COLUMNS",
    }
    for text, why in refused.items():
        with pytest.raises(Exception, match=why):
            lake(text)
    lake("CREATE TABLE plain (id INT, dt STRING) USING csv PARTITIONED BY (dt)")
    with pytest.raises(Exception, match=r"ANALYZE TABLE is not supported for .*, a format table whose partitions"):
        lake("ANALYZE TABLE plain COMPUTE STATISTICS")


def test_such_tables_stand_in_their_own_folder(server_lake: Lake, tmp_path: Path) -> None:
    lake = server_lake
    with pytest.raises(Exception, match="only of tables in its warehouse"):
        lake(f"CREATE TABLE t (id INT, dt STRING, hour STRING) USING csv {MAKE} LOCATION '{tmp_path}'")
    lake(f"CREATE TABLE t (id INT, dt STRING, hour STRING) USING csv {MAKE}")
    lake("ALTER TABLE t SET TBLPROPERTIES ('comment' = 'x')")
    lake("INSERT INTO t /*+ OPTIONS('metastore.partitioned-table' = 'false') */ VALUES (1, 'a', 'b')")
    assert lake.registered("t") == ["dt=a, hour=b"]
