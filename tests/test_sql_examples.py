"""Every file of sql_examples/ runs from its first statement to its last."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_sql.shell.pieces import split
from paimon_sql.spark.jvm.compat import HAS_CHANGE_QUERIES, HAS_VIEWS
from tests.conformance.session import make

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "sql_examples").glob("*.sql"))


@pytest.mark.parametrize(
    "example", [pytest.param(p, id=p.stem, marks=[pytest.mark.smoke] * (i % 3 == 0)) for i, p in enumerate(EXAMPLES)]
)
def test_an_example_runs(example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if example.stem == "views_and_functions" and not HAS_VIEWS:
        pytest.skip("Spark asks catalogs for views since 4.2")
    if example.stem == "change_queries" and not HAS_CHANGE_QUERIES:
        pytest.skip("Spark asks catalogs for changes since 4.2")
    monkeypatch.chdir(ROOT)
    session = make(str(tmp_path / "warehouse"))
    statements = [piece.text for piece in split(example.read_text()) if piece.kind == "statement"]
    assert statements
    for statement in statements:
        session.sql(statement).collect()
