"""The command with a real Spark: one run that answers in all formats, fails in many ways, and is interrupted."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading

import pytest

from tests.command import COMMAND

SCRIPT = """\
CREATE TABLE t (k INT NOT NULL, v STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1');
INSERT INTO t VALUES (1, 'a;b'), (2, NULL), (3, '');
.format csv
SELECT * FROM t WHERE k < ${most} ORDER BY k;
.format json
SELECT CAST(1.10 AS DECIMAL(38, 2)) d, X'CAFE' b, array(1, NULL) a, named_struct('x', NULL) s, map(1, 'y') m,
    TIMESTAMP'2020-01-01 00:00:00.000001Z' t, TIMESTAMP_NTZ'2020-01-01 00:00:00' n, DATE'-0044-03-15' old,
    9223372036854775807 l, true y, CAST('NaN' AS DOUBLE) f, INTERVAL '1' MONTH i, 'q"' `a b`, 1 d;
.format tsv
SELECT X'CAFE' b, array('x') a, TIMESTAMP'2020-01-01 00:00:00.5Z' t, named_struct('x', 1.50) s, NULL n, 1 b;
SELECT id, id * id FROM range(0, 300000, 1, 3) ORDER BY -id;
.limit 2
.format table
SELECT id FROM range(10);
EXPLAIN SELECT 1;
SHOW TABLES;
.limit 0
SELECT k,
  nosuch
FROM t;
SELEC 1;
SELECT * FROM no.such;
SELECT 1 / (id - 3) FROM range(10);
SELECT 'open;
/* now it is */ ';
SELECT assert_true(id < 0, 'it is not so') FROM range(2);
CALL sys.nope();
DROP TABLE nope;
BEGIN
  SELECT 1;
  SELECT 42 AS script_result;
END;
SELECT * FROM tt;
SELECT * FROM defaul.t;
USE defaults;
VACUUM t;
EXPLAIN SELECT nosuch FROM t;
EXECUTE STATEMENT SET BEGIN
  INSERT INTO t VALUES (4, 'x;');
  INSERT INTO t SELECT k + 1, v FROM t WHERE k = 4;
END;
.format csv
SELECT max(k) AS newest FROM t;
!echo interrupt me
SELECT count(*) FROM range(1000000000000) WHERE sqrt(id) < 0;
SELECT 'never reached';
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, str, str]:
    """Status, output and errors of the run; Ctrl-C is pressed once the last statement runs."""
    folder = tmp_path_factory.mktemp("shell")
    (folder / "script.sql").write_text(SCRIPT)
    process = subprocess.Popen(
        [
            *COMMAND,
            *("-w", str(folder / "warehouse"), "--master", "local[2]", "-c", "spark.ui.enabled=false"),
            *("-c", "spark.sql.session.timeZone=Asia/Tokyo", "-d", "most=9"),
            *("--continue-on-error", "-f", "script.sql"),
        ],
        cwd=folder,
        env={**os.environ, "COLUMNS": "200"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stderr is not None
    try:
        errors: list[str] = []
        reader = threading.Thread(target=errors.extend, args=[process.stderr], daemon=True)
        reader.start()
        output: list[str] = []
        for line in process.stdout:
            output.append(line)
            if line == "interrupt me\n":
                threading.Timer(1.0, process.send_signal, [signal.SIGINT]).start()
        status = process.wait(60)
        reader.join(10)
        return status, "".join(output), "".join(errors)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def test_ctrl_c_stops_the_query_and_the_run(ran: tuple[int, str, str]) -> None:
    status, output, _ = ran
    assert status == 130
    assert "never reached" not in output


def test_csv_holds_the_rows_and_tells_null_from_empty(ran: tuple[int, str, str]) -> None:
    assert ran[1].startswith('k,v\n1,a;b\n2,\n3,""\n')


def test_json_holds_every_type_as_json_has_it(ran: tuple[int, str, str]) -> None:
    line = next(line for line in ran[1].splitlines() if line.startswith("{"))
    assert line.startswith('{"d":1.10,')
    assert line.endswith(',"d":1}')
    assert json.loads(line) == {
        "d": 1,
        "b": "yv4=",
        "a": [1, None],
        "s": {"x": None},
        "m": {"1": "y"},
        "t": "2020-01-01T09:00:00.000001+09:00",
        "n": "2020-01-01T00:00:00.000000",
        "old": "-0044-03-15",
        "l": 9223372036854775807,
        "y": True,
        "f": "NaN",
        "i": "INTERVAL '1' MONTH",
        "a b": 'q"',
    }


def test_text_is_as_spark_writes_it_in_the_time_zone_of_the_session(ran: tuple[int, str, str]) -> None:
    assert 'b\ta\tt\ts\tn\tb\nCAFE\t["x"]\t2020-01-01 09:00:00.5\t{"x":1.50}\t\\N\t1\n' in ran[1]


def test_a_large_answer_streams_in_its_order(ran: tuple[int, str, str]) -> None:
    lines = ran[1].splitlines()
    start = lines.index("id\t(id * id)") + 1
    assert lines[start : start + 300_000] == [f"{i}\t{i * i}" for i in range(299_999, -1, -1)]


def test_a_table_stops_at_its_limit_and_says_so(ran: tuple[int, str, str]) -> None:
    assert "│  0 │\n│  1 │\n╰" in ran[1]
    assert "There are more rows" in ran[2]


def test_a_plan_and_the_answers_of_commands_are_shown(ran: tuple[int, str, str]) -> None:
    assert "\n== Physical Plan ==\n" in ran[1]
    assert "│ default   │ t         │ false       │" in ran[1]


def test_a_script_is_one_statement(ran: tuple[int, str, str]) -> None:
    assert "script_result" in ran[1]


def test_a_statement_set_of_flink_is_one_statement(ran: tuple[int, str, str]) -> None:
    assert "\nnewest\n5\n" in ran[1]


ERRORS = """\
Error: A column, variable, or function parameter with name `nosuch` cannot be resolved.*
  at script.sql:19
    nosuch
    ^^^^^^
  UNRESOLVED_COLUMN.WITH_SUGGESTION, SQLSTATE 42703
Error: Syntax error at or near 'SELEC'.
  at script.sql:21
  SELEC 1
  ^^^^^
  PARSE_SYNTAX_ERROR, SQLSTATE 42601
Error: The table or view `no`.`such` cannot be found.*
  at script.sql:22
  SELECT * FROM no.such
                ^^^^^^^
  TABLE_OR_VIEW_NOT_FOUND, SQLSTATE 42P01
Error: Division by zero.*
  at script.sql:23
  SELECT 1 / (id - 3) FROM range(10)
         ^^^^^^^^^^^^
  DIVIDE_BY_ZERO, SQLSTATE 22012
"""


def test_an_error_is_one_message_with_its_place(ran: tuple[int, str, str]) -> None:
    told = ran[2].splitlines()
    start = next(i for i, line in enumerate(told) if line.startswith("Error:"))
    for line, wanted in zip(told[start:], ERRORS.splitlines(), strict=False):
        assert line == wanted or (wanted.endswith("*") and line.startswith(wanted[:-1]))


@pytest.mark.parametrize(
    "said",
    [
        "Error: it is not so\n  at script.sql:26\n  USER_RAISED_EXCEPTION",
        "Error: Catalog paimon has no procedure sys.nope.",
        "Error: The table or view `paimon`.`default`.`nope` cannot be found.",
        "Error: The table or view `tt` cannot be found.*  Did you mean t?\n",
        "Error: The table or view `defaul`.`t` cannot be found.*  Did you mean default?\n",
        "*  Did you mean default?\n  at script.sql:35\n  USE defaults\n",
        "Error: Paimon has no VACUUM. Write CALL sys.expire_snapshots(table => 't')*  VACUUM t\n  ^^^^^^\n",
        "Error: A column, variable, or function parameter with name `nosuch`*  EXPLAIN SELECT nosuch FROM t\n",
    ],
)
def test_an_error_says_what_happened(ran: tuple[int, str, str], said: str) -> None:
    assert re.search(re.escape(said).replace(r"\*", ".*"), ran[2], re.DOTALL)


def test_nobody_sees_java_or_python_behind_it(ran: tuple[int, str, str]) -> None:
    for noise in ("\tat ", "Traceback", "WARN", "log level", "py4j", "SparkException", "'Project", "== SQL"):
        assert noise not in ran[2]
