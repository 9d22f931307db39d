"""Object tables in SQL: made without columns, refreshed by a call, read as of their refreshes, never written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.spark.conftest import Sql


@pytest.mark.smoke
def test_an_object_table_is_made_refreshed_and_read(sql: Sql, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").write_text("one")
    sql(f"CREATE TABLE o WITH ('type' = 'object-table', 'object-location' = '{tmp_path}')")
    assert [row[:2] for row in sql("DESCRIBE o")] == [
        *(("path", "string"), ("name", "string"), ("length", "bigint")),
        *(("mtime", "bigint"), ("atime", "bigint"), ("owner", "string")),
    ]
    assert sql("SELECT * FROM o") == []
    assert sql("CALL sys.refresh_object_table('o')")[0][0] == 1
    (tmp_path / "sub" / "b.png").write_text("four")
    assert sql("CALL sys.refresh_object_table(table => 'o')")[0][:4] == (2, 1, 0, 0)
    assert sql("SELECT path, name, length FROM o WHERE length > 3") == [("sub/b.png", "b.png", 4)]
    assert sql("SELECT path FROM o /*+ OPTIONS('scan.snapshot-id' = '1') */") == [("a.txt",)]
    assert sql("SELECT path FROM o VERSION AS OF 1") == [("a.txt",)]
    for statement in (
        "INSERT INTO o VALUES ('a', 'b', 1, 1, 1, 'x')",
        "INSERT OVERWRITE o SELECT * FROM o",
        "UPDATE o SET name = 'x'",
        "DELETE FROM o WHERE name = 'x'",
        "TRUNCATE TABLE o",
    ):
        with pytest.raises(Exception, match="is an object table: its rows are the files of"):
            sql(statement)
    assert sql("SELECT table_type FROM sys.tables WHERE table_name = 'o'") == [("object-table",)]


def test_without_a_folder_a_table_lists_its_own(sql: Sql) -> None:
    sql("CREATE TABLE o WITH ('type' = 'object-table')")
    ((location,),) = [row[1:2] for row in sql("DESCRIBE EXTENDED o") if row[0] == "Location"]
    folder = Path(str(location).removeprefix("file:"))
    (folder / "sub" / "snapshot").mkdir(parents=True)
    (folder / "a.txt").write_text("one")
    (folder / "sub" / "snapshot" / "ü.txt").write_text("two")
    for added in (2, 0):
        assert sql("CALL sys.refresh_object_table('o')")[0][:2] == (2, added)
    assert sql("SELECT path FROM o ORDER BY path") == [("a.txt",), ("sub/snapshot/ü.txt",)]
    sql("ALTER TABLE o CREATE BRANCH b")
    sql("ALTER TABLE o CREATE TAG t")
    (folder / "a.txt").unlink()
    assert sql("CALL sys.refresh_object_table('o')")[0][:4] == (1, 0, 1, 0)
    for file in (folder / "sub" / "snapshot" / "ü.txt", *folder.glob("bucket-0/*"), *folder.glob("manifest/*")):
        os.utime(file, (0, 0))
    sql("CALL sys.remove_orphan_files(table => 'o')")
    assert (folder / "sub" / "snapshot" / "ü.txt").exists()
    assert sql("SELECT path FROM o") == [("sub/snapshot/ü.txt",)]
