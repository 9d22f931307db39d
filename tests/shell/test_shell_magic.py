"""``%%sql`` in the cells of a real IPython."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import paimon_sql
from paimon_sql.spark.session import connect as sessions
from tests.conformance.session import make

Cell = Callable[[str], tuple[list[str], str, Any]]


@pytest.fixture
def cell(tmp_path: Path) -> Iterator[Cell]:
    """Runs a cell: the HTML that it shows, what it prints, and its error."""
    shell: Any = InteractiveShell.instance()
    shell.user_ns["spark"] = make(str(tmp_path / "warehouse"))
    assert shell.run_cell("%load_ext paimon_sql").success

    def run(text: str) -> tuple[list[str], str, Any]:
        with capture_output() as captured:
            result = shell.run_cell(text)
        return [shown.data["text/html"] for shown in captured.outputs], captured.stdout, result.error_in_exec

    yield run
    InteractiveShell.clear_instance()


def test_the_statements_of_a_cell_show_their_answers(cell: Cell) -> None:
    shown, _, error = cell(
        "%%sql\nCREATE TABLE t (k INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) WITH ('bucket' = '1');\n"
        "INSERT INTO t VALUES (1, 'a;b'), (2, NULL);\n\nSELECT * FROM t ORDER BY k -- the last needs no end"
    )
    assert error is None
    assert [s.partition(" (")[0] for s in shown[:2]] == ['<p style="opacity: 0.6">OK'] * 2
    assert '<td style="text-align: left">a;b</td>' in shown[2]
    assert "2 rows (" in shown[2]
    (one,), _, error = cell("%sql SELECT count(*) AS n FROM t$snapshots")
    assert error is None
    assert "1 row (" in one


def test_a_cell_shows_as_many_rows_as_it_is_told(cell: Cell) -> None:
    (shown,), _, _ = cell("%%sql -n 3\nSELECT id FROM range(10) ORDER BY id")
    assert shown.count("<td") == 3
    assert "the first 3 rows (" in shown
    (shown,), _, _ = cell("%%sql -n 2500\nSELECT id FROM range(2500) ORDER BY id")
    assert shown.count("<td") == 2500
    assert "2,500 rows (" in shown


def test_a_statement_that_fails_is_the_last_and_shows_no_traceback(cell: Cell) -> None:
    shown, printed, error = cell("%%sql\nSELECT 1;\nSELECT nowhere FROM range(3);\nSELECT 2")
    assert len(shown) == 1
    assert "A column, variable, or function parameter with name `nowhere` cannot be resolved" in str(error)
    assert "^^^^^^^" in printed
    assert "Traceback" not in printed
    _, printed, _ = cell("%%sql\nCALL sys.compact(table => 'absent')")
    assert "absent does not exist" in printed


def test_what_is_no_sql_is_told_apart(cell: Cell) -> None:
    assert "'-x' is nothing that %%sql knows" in cell("%%sql -x\nSELECT 1")[1]
    assert ".format is a command of the shell" in cell("%%sql\n.format csv")[1]
    assert cell("%%sql\n-- nothing")[0] == []


def test_without_the_variable_spark_the_active_session_is_asked(cell: Cell) -> None:
    assert "1 row (" in cell("del spark\n%sql SELECT current_catalog()")[0][0]


def test_dataframes_are_shown_as_tables_in_notebooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "in_notebook", lambda: True)
    session = paimon_sql.connect(tmp_path / "warehouse", **{"spark.master": "local[2]", "spark.ui.enabled": "false"})
    assert "<td>&lt;b&gt;</td>" in session.sql("SELECT '<b>' AS a")._repr_html_()
