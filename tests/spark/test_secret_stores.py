"""Secrets stay as long as they are needed, and not for the life of the process."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_sql.errors import InvalidInputError
from paimon_sql.spark.catalog import path_catalog
from paimon_sql.spark.catalog.path_catalog import PathNames
from paimon_sql.sql.text import secrets
from tests.spark.conftest import Sql


def test_options_of_a_catalog_leave_the_store_when_it_is_made(sql: Sql, tmp_path: Path) -> None:
    before = len(secrets._STORE)
    made = f"CREATE CATALOG held WITH ('type' = 'paimon', 'warehouse' = '{tmp_path}', 's3.secret-key' = 'hunter')"
    sql(made)
    assert len(secrets._STORE) == before
    with pytest.raises(Exception, match="already exists"):
        sql(made)
    assert len(secrets._STORE) == before
    sql("DROP CATALOG held")


def test_options_of_file_systems_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(path_catalog, "_MOST_FILE_SYSTEMS", 3)
    names = PathNames()

    def named(token: str) -> list[str]:
        return names.named({"path": str(tmp_path), "s3.session-token": token})[0]

    first, second = named("a"), named("b")
    for token in "cd":
        names.identifier(first, str(tmp_path))  # one that is used stays
        named(token)
    assert len(names._file_systems) == 3
    assert names.identifier(first, str(tmp_path))
    with pytest.raises(InvalidInputError, match="not known any more"):
        names.identifier(second, str(tmp_path))


def test_two_processes_name_the_same_options_differently(tmp_path: Path) -> None:
    options = {"path": str(tmp_path), "s3.secret-key": "hunter"}
    assert PathNames().named(options)[0] != PathNames().named(options)[0]
