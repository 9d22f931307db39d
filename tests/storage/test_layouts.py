"""Table layouts: each table has one, and a new one is one new file."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.metadata.snapshot import Operation
from paimon_sql.storage import layouts
from paimon_sql.storage.row_level.strategy import RowLevelLayout
from paimon_sql.storage.table import layout
from paimon_sql.storage.table.table import Table
from tests.storage.small_tables import fresh, insert, make_table, rows_at

KEY = {"primary_keys": ["id"]}
TRACKED = {"row-tracking.enabled": "true"}
TOY = '''
"""Toy: reads see the rows of the newest file of a bucket only, which statements cannot change."""

from __future__ import annotations

from paimon_sql.errors import UnsupportedError
from paimon_sql.storage.layouts.append import AppendLayout


class NewestFileLayout(AppendLayout):
    has_final_rows = False

    @classmethod
    def applies_to(cls, schema):
        return super().applies_to(schema) and schema.options.get("toy") == "true"

    def splits(self, scan, bucket, files):
        return super().splits(scan, bucket, files[-1:])

    def row_level_strategy(self, table, operation, deletes):
        raise UnsupportedError("A toy does not change.")
'''


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The file of a toy layout, in the package of layouts."""
    directory = tmp_path / "layouts"
    directory.mkdir()
    (directory / "newest_file.py").write_text(TOY)
    monkeypatch.setattr(layouts, "__path__", [*layouts.__path__, str(directory)])
    layout.layouts.cache_clear()
    yield
    layout.layouts.cache_clear()
    sys.modules.pop(f"{layouts.__name__}.newest_file", None)


@pytest.mark.parametrize(
    ("keys", "options", "expected"),
    [
        ({}, {}, "AppendLayout"),
        ({}, TRACKED, "AppendLayout"),
        ({}, {**TRACKED, "data-evolution.enabled": "true"}, "DataEvolutionLayout"),
        (KEY, {}, "PrimaryKeyLayout"),
        (KEY, {"bucket": "-2"}, "PrimaryKeyLayout"),
        (KEY, {"chain-table.enabled": "true"}, "ChainLayout"),
    ],
)
def test_the_schema_chooses_the_layout(
    tmp_path: Path, keys: dict[str, Any], options: dict[str, str], expected: str
) -> None:
    table = make_table(tmp_path / "t", options, **keys)
    assert type(table.layout).__name__ == expected
    assert table.layout is table.layout
    assert pickle.loads(pickle.dumps(table)).layout is table.layout


def test_options_of_a_statement_choose_anew(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", TRACKED)
    assert not table.layout.groups_files
    assert table.with_options({"data-evolution.enabled": "true"}).layout.groups_files


def test_a_new_layout_is_one_new_file(tmp_path: Path, toy: None) -> None:
    table, other = make_table(tmp_path / "t", {"toy": "true"}), make_table(tmp_path / "other")
    for each in (table, other):
        insert(each, (1, "a", "p"), (2, "b", "p"))
        insert(fresh(each), (3, "c", "p"))
    assert type(table.layout).__name__ == "NewestFileLayout"
    assert type(other.layout).__name__ == "AppendLayout"
    assert ids_of(table) == [3]
    assert ids_of(other) == [1, 2, 3]
    with pytest.raises(UnsupportedError, match="does not change"):
        RowLevelLayout.of(table).row_level_strategy(table, Operation.DELETE, True)


def ids_of(table: Table) -> list[int]:
    opened = fresh(table)
    latest = opened.snapshots.latest()
    assert latest is not None
    return [row[0] for row in rows_at(opened, latest)]
