"""Output formats: what stands in them for nulls, empty texts, wide characters and dangerous ones."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from paimon_sql.shell.engine.rows import Column, Row, visible
from paimon_sql.shell.formats import formats

COLUMNS = (Column("k", "int"), Column("名前", "string"), Column("note", "string"))
ROWS: list[Row] = [("1", "日本語", None), ("-22", 'a "b", c\nd\\e\t', "")]


def written(
    name: str,
    columns: Sequence[Column] = COLUMNS,
    batches: Sequence[Sequence[Row]] = (ROWS,),
    *,
    width: int = 10_000,
    terminal: bool = False,
    header: bool = True,
) -> str:
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=terminal, color_system=None, highlight=False, markup=False)
    form = formats()[name](console, header=header)
    form.begin(columns)
    for batch in batches:
        form.write(batch)
    form.end()
    return file.getvalue()


def test_all_formats_are_found_by_themselves() -> None:
    assert list(formats()) == ["csv", "html", "json", "markdown", "table", "tsv", "vertical"]
    assert [name for name, form in formats().items() if not form.limited] == ["csv", "json", "tsv"]


def test_csv_tells_null_from_empty() -> None:
    assert written("csv") == 'k,名前,note\n1,日本語,\n-22,"a ""b"", c\nd\\e\t",""\n'


@given(st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cs"])), st.text('a,"\n\r ')), max_size=5))
def test_csv_is_what_a_csv_reader_reads(rows: list[tuple[str, str]]) -> None:
    columns = (Column("a", "string"), Column("b", "string"))
    text = written("csv", columns, [rows] if rows else [])
    assert [tuple(row) for row in csv.reader(io.StringIO(text, newline=""))][1:] == rows


@given(st.lists(st.tuples(st.text("a\\\tN\n\r"), st.none() | st.text("N\\\t\n")), min_size=1, max_size=5))
def test_tsv_can_be_read_back(rows: list[tuple[str, str | None]]) -> None:
    escapes = {"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}

    def value(field: str) -> str | None:
        if field == "\\N":
            return None
        parts = iter(field)
        return "".join(escapes[next(parts)] if char == "\\" else char for char in parts)

    lines = written("tsv", (Column("a", "string"), Column("b", "string")), [rows], header=False).split("\n")
    assert [tuple(map(value, line.split("\t"))) for line in lines[:-1]] == rows


def test_json_puts_out_the_objects_that_spark_made() -> None:
    assert written("json", batches=[[('{"k":1}',)], [('{"k":null}',)]]) == '{"k":1}\n{"k":null}\n'


def test_the_lines_of_a_table_are_equally_wide_for_eyes() -> None:
    lines = written("table").splitlines()
    assert len({cell_len(line) for line in lines}) == 1
    assert lines[3].startswith("│   1 │ 日本語")
    assert "NULL" in lines[3]
    assert r"c\nd\e\t" in lines[4]


def test_a_table_folds_long_values_on_a_terminal_and_not_in_a_file() -> None:
    rows: list[Row] = [("x" * 100,)]
    columns = (Column("c", "string"),)
    assert max(map(len, written("table", columns, [rows], width=40, terminal=True).splitlines())) == 40
    assert "x" * 100 in written("table", columns, [rows])


def test_a_table_cuts_what_nobody_reads() -> None:
    text = written("table", (Column("c", "string"),), [[("y" * 10_000_000,)]])
    assert "…" in text
    assert len(text) < 100_000


def test_rows_of_too_many_columns_for_the_terminal_stand_one_column_a_line() -> None:
    columns = [Column(f"c{i}", "int") for i in range(30)]
    text = written("table", columns, [[("7",) * 30]], width=80, terminal=True)
    assert text.startswith("-- row 1 --\nc0  | 7\n")
    assert written("table", columns, [[("7",) * 30]]).startswith("╭")


def test_a_text_of_several_lines_is_shown_as_it_is() -> None:
    assert written("table", (Column("plan", "string"),), [[("== Plan ==\n  Scan \x1b[31m\n\n",)]]) == (
        "== Plan ==\n  Scan \\x1b[31m\n"
    )


def test_an_empty_table_shows_its_columns() -> None:
    assert "名前" in written("table", batches=[])
    assert written("csv", batches=[]) == "k,名前,note\n"


def test_a_table_of_several_batches_shows_all_rows() -> None:
    text = written("table", batches=[ROWS, ROWS, ROWS])
    assert text.count("日本語") == 3


def test_vertical_shows_whole_values() -> None:
    assert written("vertical", batches=[[("1", "z" * 5000, None)]]) == (
        f"-- row 1 --\nk    | 1\n名前 | {'z' * 5000}\nnote | NULL\n"
    )


def test_html_takes_nothing_in_a_value_for_markup() -> None:
    assert written("html", batches=[[("-1", "<b>&\n", None)]]) == (
        '<table>\n<thead>\n<tr><th style="text-align: right">k</th><th style="text-align: left">名前</th>'
        '<th style="text-align: left">note</th></tr>\n</thead>\n<tbody>\n'
        '<tr><td style="text-align: right">-1</td><td style="text-align: left">&lt;b&gt;&amp;\\n</td>'
        '<td style="text-align: left"><span style="opacity: 0.5">NULL</span></td></tr>\n</tbody>\n</table>\n'
    )
    assert written("html", batches=[], header=False) == "<table>\n<tbody>\n</tbody>\n</table>\n"


def test_markdown_keeps_its_cells_apart() -> None:
    assert written("markdown", COLUMNS[:2], [[("1", "a|b\n")]]).splitlines() == [
        "| k | 名前 |",
        "| ---: | --- |",
        r"| 1 | a\|b\n |",
    ]


@pytest.mark.parametrize(
    ("text", "shown"), [("a\x1b[2Jb", r"a\x1b[2Jb"), ("a\u202eb", r"a\u202eb"), ("é\x00", r"é\x00")]
)
def test_a_value_cannot_command_the_terminal(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_column_names_can_be_left_out() -> None:
    assert written("csv", header=False).startswith("1,")
    assert "名前" not in written("table", header=False)
