"""Tables with merge engines: written, compacted and read, whichever columns are asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_sql.errors import ConstraintViolationError, InvalidOptionError
from paimon_sql.format.schema.system_fields import RowKind
from paimon_sql.format.schema.types import BigIntType, DataField, DataType, IntType, string_type
from paimon_sql.storage.table.table import Table
from tests.storage import commits
from tests.storage.core_tables import Row, again, compact, insert, make_table, rows, triggered, written

INSERT, BEFORE, AFTER, DELETE = RowKind
PARTIAL = {"merge-engine": "partial-update"}
SUM = {"merge-engine": "aggregation", "fields.a.aggregate-function": "sum"}
OP = {"rowkind.field": "op"}


def table_of(tmp_path: Path, options: dict[str, str], *names: str, **kinds: DataType) -> Table:
    fields = [DataField(i, name, kinds.get(name, IntType())) for i, name in enumerate(names)]
    return make_table(tmp_path / "t", options, columns=fields, keys=["k"])


def write(table: Table, *given: Row, kinds: list[int] | None = None) -> None:
    commits.append(again(table), written(again(table), *given, kinds=kinds))


def columns(table: Table, *names: str) -> list[Row]:
    return sorted(rows(table, columns=names))


def seen(table: Table) -> list[Row]:
    return sorted(rows(table))


def test_columns_of_a_sequence_group_are_right_without_its_sequence(tmp_path: Path) -> None:
    table = table_of(tmp_path, {**PARTIAL, "fields.g.sequence-group": "a"}, "k", "a", "g")
    write(table, (1, 10, 5))
    write(table, (1, 20, 4))
    assert columns(table, "a") == [(10,)]
    assert columns(table, "k") == [(1,)]


def test_a_removing_group_is_read_even_if_none_of_its_columns_is_wanted(tmp_path: Path) -> None:
    options = {**PARTIAL, "fields.g.sequence-group": "a", "partial-update.remove-record-on-sequence-group": "g"}
    table = table_of(tmp_path, options, "k", "a", "g", "free")
    write(table, (1, 10, 5, 7), (2, 10, 5, 7))
    write(table, (1, None, 6, None), (2, None, 4, None), kinds=[DELETE, DELETE])
    assert columns(table, "k", "free") == [(2, 7)]
    write(table, (1, None, None, 8))
    assert columns(table, "k", "a", "free") == [(1, None, 8), (2, 10, 7)]


@pytest.mark.parametrize("full", [True, False])
def test_what_is_removed_in_one_statement_stays_removed(tmp_path: Path, full: bool) -> None:
    options = {**SUM, "aggregation.remove-record-on-delete": "true", "num-sorted-run.compaction-trigger": "3"}
    table = table_of(tmp_path, options, "k", "a")
    write(table, (1, 10), (2, 20))
    write(table, (1, 0), (1, 5), (2, 1), kinds=[DELETE, INSERT, INSERT])
    assert seen(table) == [(1, 5), (2, 21)]
    if full:
        compact(table)
    else:
        messages = written(again(table), (1, 1))
        commits.append(again(table), [*messages, *triggered(table, messages)])
    assert seen(table) == ([(1, 5), (2, 21)] if full else [(1, 6), (2, 21)])


def test_counts_add_up_over_files_and_compactions(tmp_path: Path) -> None:
    table = table_of(tmp_path, {**SUM, "fields.a.aggregate-function": "count"}, "k", "a", a=BigIntType())
    write(table, (1, 70), (1, None), (2, None))
    write(table, (1, 80), (1, 90))
    assert seen(table) == [(1, 3), (2, 0)]
    compact(table)
    write(table, (1, -1))
    assert seen(table) == [(1, 4), (2, 0)]


def test_first_row_shows_compacted_rows_only(tmp_path: Path) -> None:
    table = table_of(tmp_path, {"merge-engine": "first-row"}, "k", "a")
    insert(table, (1, 1))
    assert seen(table) == []
    messages = written(again(table), (1, 2), (2, 2))
    commits.append(again(table), [*messages, *triggered(table, messages)])
    assert seen(table) == [(1, 1), (2, 2)]


def test_a_column_says_the_kind_of_a_row(tmp_path: Path) -> None:
    table = table_of(tmp_path, OP, "k", "a", "op", op=string_type())
    write(table, (1, 1, "+I"), (2, 2, "+U"), (3, 3, "+I"))
    write(table, (1, 1, "-D"), (2, 2, "-U"))
    assert seen(table) == [(3, 3, "+I")]


def test_a_kind_that_is_given_counts_more_than_the_column(tmp_path: Path) -> None:
    table = table_of(tmp_path, OP, "k", "a", "op", op=string_type())
    write(table, (1, 1, "+I"))
    write(table, (1, 1, "+I"), kinds=[DELETE])
    assert seen(table) == []


@pytest.mark.parametrize(("said", "shown"), [("oops", "'oops'"), (None, "null")])
def test_a_column_that_says_no_kind_is_refused(tmp_path: Path, said: str | None, shown: str) -> None:
    table = table_of(tmp_path, OP, "k", "a", "op", op=string_type())
    with pytest.raises(ConstraintViolationError, match=rf"column op, .*'rowkind.field' names, is {shown} in"):
        write(table, (1, 1, "+I"), (1, 1, said))


@pytest.mark.parametrize(
    ("option", "left"), [("ignore-delete", [(1, 1), (2, 2)]), ("ignore-update-before", [(2, 2)]), ("bucket", [])]
)
def test_kinds_can_be_passed_over(tmp_path: Path, option: str, left: list[Row]) -> None:
    table = table_of(tmp_path, {option: "1" if option == "bucket" else "true"}, "k", "a")
    write(table, (1, 1), (2, 2))
    write(table, (1, 1), (2, 2), kinds=[DELETE, BEFORE])
    assert seen(table) == left


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (PARTIAL, "Partial update can not accept delete records.*ignore-delete.*remove-record-on-delete.*sequence-gr"),
        ({"merge-engine": "first-row"}, "'first-row' cannot accept DELETE/UPDATE_BEFORE records.*ignore-delete"),
        ({**SUM, "fields.a.aggregate-function": "max"}, "'max' of column 'a' does not support retraction"),
        (
            {**PARTIAL, "fields.g.sequence-group": "a", "fields.a.aggregate-function": "min"},
            "'min' of column 'a' does not support retraction",
        ),
    ],
)
def test_a_delete_that_the_engine_cannot_answer_is_refused_as_it_is_written(
    tmp_path: Path, options: dict[str, str], message: str
) -> None:
    table = table_of(tmp_path, options, "k", "a", "g")
    insert(table, (1, 1, 1))
    with pytest.raises(ConstraintViolationError, match=f"(?s){message}"):
        write(table, (1, 1, 1), kinds=[DELETE])


def test_deletes_in_older_files_are_told_when_they_are_read(tmp_path: Path) -> None:
    table = table_of(tmp_path, {}, "k", "a")
    write(table, (1, 1))
    write(table, (1, 1), kinds=[DELETE])
    with pytest.raises(ConstraintViolationError, match="can not accept delete records"):
        rows(again(table, PARTIAL))
    assert seen(again(table, {**PARTIAL, "ignore-delete": "true"})) == [(1, 1)]


def test_sums_are_the_same_however_small_the_buffer_is(tmp_path: Path) -> None:
    table = table_of(tmp_path, {**SUM, "write-buffer-size": "1 kb"}, "k", "a")
    for i in range(4):
        write(table, *[(k % 50, i) for k in range(100)])
    assert seen(table) == [(k, 12) for k in range(50)]


@pytest.mark.parametrize(
    ("function", "option"), [("collect", "distinct"), ("listagg", "distinct"), ("nested_update", "count-limit")]
)
def test_rows_that_could_not_be_merged_are_not_written(tmp_path: Path, function: str, option: str) -> None:
    chosen = {"merge-engine": "aggregation", "fields.a.aggregate-function": function, f"fields.a.{option}": "?"}
    with pytest.raises(InvalidOptionError, match=option):
        write(table_of(tmp_path, chosen, "k", "a", a=string_type()), (1, "x"))


def test_changes_are_read_with_the_bucket_of_their_rows(tmp_path: Path) -> None:
    table = make_table(tmp_path, keys=["id"])
    insert(table, (1, "a", "p"), (2, "b", "p"))
    insert(table, (2, "c", "p"), (3, "d", "p"))
    changes = again(table, {"incremental-between": "1,2"})
    assert sorted(rows(changes, columns=["id", "__paimon_bucket"])) == [(2, 0), (3, 0)]
