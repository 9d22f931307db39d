"""Changes of a schema: columns added, renamed, dropped, moved and retyped; keys and options that follow or forbid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.errors import InvalidOptionError, InvalidSchemaError
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.schema import TableSchema, new_schema, parse_schema
from paimon_sql.format.schema.types import field_ids
from paimon_sql.storage.schema.changes.alter_columns import (
    FIRST,
    LAST,
    AddColumn,
    DropColumn,
    ModifyColumn,
    Position,
    RenameColumn,
    UpdateColumnComment,
    UpdateColumnDefaultValue,
    UpdateColumnPosition,
)
from paimon_sql.storage.schema.changes.base import SchemaChange, apply_changes
from paimon_sql.storage.schema.changes.column_types import UpdateColumnNullability, UpdateColumnType
from paimon_sql.storage.schema.changes.options import RemoveOption, SetOption, UpdateComment

STRING, INT, BIGINT = t.string_type(), t.IntType(), t.BigIntType()
PLACES = ("FIRST", "LAST", "AFTER", "BEFORE")
POINT = t.RowType(True, (t.DataField(0, "x", INT), t.DataField(1, "y", STRING)))


def table(
    columns: Mapping[str, t.DataType],
    *,
    key: Sequence[str] = (),
    by: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
) -> TableSchema:
    fields = [t.DataField(-1, name, data_type) for name, data_type in columns.items()]
    return new_schema(fields, primary_keys=key, partition_keys=by, options=options or {}, now=lambda: 1.0)


def changed(schema: TableSchema, *changes: SchemaChange, has_data: bool = True, exact: bool = False) -> TableSchema:
    return apply_changes(schema, changes, has_data=has_data, case_sensitive=exact, now=lambda: 2.5)


ORDERS = table(
    {"id": INT, "price": t.DecimalType(True, 6, 2), "spot": POINT, "tags": t.ArrayType(True, POINT)},
    key=["id"],
    options={"bucket": "1"},
)


def test_one_statement_makes_one_version() -> None:
    made = changed(ORDERS, AddColumn(("a",), INT), AddColumn(("b",), STRING), UpdateComment("orders"))
    assert made.id == 1
    assert made.names == ("id", "price", "spot", "tags", "a", "b")
    assert (made.comment, made.time_millis) == ("orders", 2500)


def test_no_change_gives_the_same_version_back() -> None:
    for change in (
        SetOption("bucket", "1"),
        SetOption("primary-key", "id"),
        RemoveOption("sink.parallelism"),
        UpdateComment(None),
        UpdateColumnType(("id",), INT),
        UpdateColumnNullability(("price",), True),
        UpdateColumnPosition(("id",), FIRST),
        RenameColumn(("price",), "price"),
        DropColumn(("nosuch",), if_exists=True),
    ):
        assert changed(ORDERS, change) is ORDERS


# -- adding ----------------------------------------------------------------------------------------------------


def test_a_new_column_takes_the_next_id_and_those_inside_it_the_ids_behind() -> None:
    made = changed(ORDERS, AddColumn(("more",), t.ArrayType(True, POINT)))
    old_ids = set(field_ids(ORDERS.row_type))
    new_ids = set(field_ids(made.row_type)) - old_ids
    assert made.fields[-1].id == ORDERS.highest_field_id + 1
    assert new_ids == {ORDERS.highest_field_id + n for n in (1, 2, 3)}
    assert made.highest_field_id == ORDERS.highest_field_id + 3


def test_an_id_is_never_given_twice() -> None:
    dropped = changed(ORDERS, AddColumn(("a",), INT), DropColumn(("a",)))
    assert dropped.names == ORDERS.names
    again = changed(dropped, AddColumn(("a",), INT))
    assert again.fields[-1].id == ORDERS.highest_field_id + 2


@pytest.mark.parametrize(
    ("position", "names"),
    [
        (FIRST, "n a b c"),
        (LAST, "a b c n"),
        (None, "a b c n"),
        (Position("AFTER", "a"), "a n b c"),
        (Position("BEFORE", "A"), "n a b c"),
        (Position("AFTER", "c"), "a b c n"),
    ],
)
def test_a_column_is_added_at_its_place(position: Position | None, names: str) -> None:
    made = changed(table({"a": INT, "b": INT, "c": INT}), AddColumn(("n",), INT, position=position))
    assert made.names == tuple(names.split())


def test_a_column_goes_before_the_partition_columns_where_the_option_says_so() -> None:
    schema = table({"a": INT, "p": INT, "b": INT}, by=["p"], options={"add-column-before-partition": "true"})
    assert changed(schema, AddColumn(("n",), INT)).names == ("a", "n", "p", "b")
    assert changed(schema, AddColumn(("n",), INT, position=LAST)).names == ("a", "p", "b", "n")


def test_fields_are_added_inside_rows_arrays_and_maps() -> None:
    schema = table({"r": POINT, "a": t.ArrayType(True, POINT), "m": t.MapType(True, STRING, POINT)})
    made = changed(
        schema,
        AddColumn(("r", "z"), INT, position=Position("AFTER", "x")),
        AddColumn(("a", "element", "z"), INT),
        AddColumn(("m", "value", "z"), t.BooleanType()),
    )
    assert [f.type.sql() for f in made.fields] == [
        "ROW<`x` INT, `z` INT, `y` STRING>",
        "ARRAY<ROW<`x` INT, `y` STRING, `z` INT>>",
        "MAP<STRING, ROW<`x` INT, `y` STRING, `z` BOOLEAN>>",
    ]
    assert len(set(field_ids(made.row_type))) == len(list(field_ids(made.row_type)))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (AddColumn(("PRICE",), INT), "'price' exists already"),
        (AddColumn(("spot", "X"), INT), "'spot.x' exists already"),
        (AddColumn(("n",), t.IntType(False)), "NOT NULL"),
        (AddColumn(("n",), INT, default="1"), "default value"),
        (AddColumn(("n",), INT, position=Position("AFTER", "nosuch")), "'nosuch' does not exist"),
        (AddColumn(("nosuch", "n"), INT), "'nosuch' does not exist"),
        (AddColumn(("price", "n"), INT), "'price' is DECIMAL"),
        (AddColumn(("tags", "n"), INT), r"'tags' is ARRAY.*tags\.element"),
        (AddColumn(("tags", "element", "x"), INT), "exists already"),
        (AddColumn(("_KEY_id",), INT), "_KEY_id"),
    ],
)
def test_a_column_that_cannot_be_added_is_refused(change: SchemaChange, reason: str) -> None:
    with pytest.raises(InvalidSchemaError, match=reason):
        changed(ORDERS, change)


def test_letter_case_counts_only_where_the_session_says_so() -> None:
    schema = table({"Price": INT})
    assert changed(schema, AddColumn(("price",), INT), exact=True).names == ("Price", "price")
    assert changed(schema, UpdateColumnComment(("PRICE",), "x")).fields[0].description == "x"
    with pytest.raises(InvalidSchemaError, match="PRICE"):
        changed(schema, UpdateColumnComment(("PRICE",), "x"), exact=True)


# -- renaming and dropping -----------------------------------------------------------------------------------------


def test_a_renamed_column_keeps_its_id_and_its_key() -> None:
    made = changed(ORDERS, RenameColumn(("id",), "number"))
    assert made.fields[0].id == ORDERS.fields[0].id
    assert made.primary_keys == ("number",)
    assert changed(made, RenameColumn(("number",), "Number")).primary_keys == ("Number",)


def test_options_follow_a_renamed_column() -> None:
    schema = table(
        {"k": INT, "a": INT, "b": INT, "c": STRING, "m": t.MapType(True, STRING, STRING)},
        key=["k"],
        options={
            "bucket": "2",
            "bucket-key": "k",
            "merge-engine": "partial-update",
            "fields.a,b.sequence-group": "c, m",
            "fields.c.aggregate-function": "listagg",
            "fields.c.list-agg-delimiter": ";",
            "file-index.bloom-filter.columns": "c,m[c]",
            "file-index.bloom-filter.c.fpp": "0.1",
        },
    )
    made = changed(schema, RenameColumn(("a",), "x"), RenameColumn(("c",), "y"), RenameColumn(("k",), "key"))
    assert made.options == {
        "bucket": "2",
        "bucket-key": "key",
        "merge-engine": "partial-update",
        "fields.x,b.sequence-group": "y,m",
        "fields.y.aggregate-function": "listagg",
        "fields.y.list-agg-delimiter": ";",
        "file-index.bloom-filter.columns": "y,m[c]",
        "file-index.bloom-filter.y.fpp": "0.1",
    }


def test_options_follow_a_renamed_member() -> None:
    schema = table(
        {"k": INT, "rows": t.ArrayType(True, POINT), "other": t.ArrayType(True, POINT)},
        key=["k"],
        options={
            "bucket": "1",
            "merge-engine": "aggregation",
            "fields.rows.aggregate-function": "nested_update",
            "fields.rows.nested-key": "x",
            "fields.other.aggregate-function": "nested_update",
            "fields.other.nested-key": "x",
        },
    )
    made = changed(schema, RenameColumn(("rows", "element", "x"), "id"))
    assert made.options["fields.rows.nested-key"] == "id"
    assert made.options["fields.other.nested-key"] == "x"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (RenameColumn(("p",), "q"), "partition"),
        (RenameColumn(("a",), "b"), "'b' exists already"),
        (RenameColumn(("nosuch",), "q"), "nosuch"),
        (DropColumn(("p",)), "partition"),
        (DropColumn(("k",)), "primary key"),
        (DropColumn(("nosuch",)), "nosuch"),
        (DropColumn(("s",)), r"'sequence\.field' needs it"),
        (DropColumn(("c",)), r"'fields\.c\.aggregate-function' needs it"),
        (UpdateColumnType(("k",), BIGINT), "primary key"),
        (UpdateColumnType(("p",), BIGINT), "partition"),
        (UpdateColumnNullability(("k",), True), "primary key"),
    ],
)
def test_keys_and_columns_that_options_need_stay(change: SchemaChange, reason: str) -> None:
    schema = table(
        {"k": INT, "p": INT, "a": INT, "b": INT, "c": INT, "s": INT},
        key=["k", "p"],
        by=["p"],
        options={
            "bucket": "1",
            "merge-engine": "aggregation",
            "fields.c.aggregate-function": "sum",
            "sequence.field": "s",
        },
    )
    with pytest.raises(InvalidSchemaError, match=reason):
        changed(schema, change)


def test_the_last_column_or_field_cannot_be_dropped() -> None:
    with pytest.raises(InvalidSchemaError, match="the last one"):
        changed(table({"a": INT}), DropColumn(("a",)))
    with pytest.raises(InvalidSchemaError, match=r"'r\.x'.*the last one"):
        changed(table({"r": POINT}), DropColumn(("r", "y")), DropColumn(("r", "x")))


# -- moving, comments, defaults ------------------------------------------------------------------------------------


@given(
    st.permutations("abcd"), st.sampled_from("abcd"), st.sampled_from(["FIRST", "LAST", "AFTER", "BEFORE"]), st.data()
)
@settings(max_examples=60)
def test_a_moved_column_stands_where_it_was_sent(order: list[str], name: str, kind: Any, data: st.DataObject) -> None:
    reference = data.draw(st.sampled_from([c for c in "abcd" if c != name]))
    position = Position(kind, reference if kind in ("AFTER", "BEFORE") else None)
    schema = table(dict.fromkeys(order, INT))
    made = changed(schema, UpdateColumnPosition((name,), position)).names
    rest = [c for c in order if c != name]
    at = {"FIRST": 0, "LAST": 3, "AFTER": rest.index(reference) + 1, "BEFORE": rest.index(reference)}[kind]
    assert list(made) == [*rest[:at], name, *rest[at:]]


def test_fields_inside_a_row_are_moved_too() -> None:
    made = changed(table({"r": POINT}), UpdateColumnPosition(("r", "y"), FIRST))
    assert made.fields[0].type.sql() == "ROW<`y` STRING, `x` INT>"


def test_a_column_cannot_be_moved_beside_itself() -> None:
    with pytest.raises(InvalidSchemaError, match="beside itself"):
        changed(ORDERS, UpdateColumnPosition(("price",), Position("AFTER", "PRICE")))


def test_comments_and_defaults_are_those_of_columns_and_fields() -> None:
    made = changed(
        ORDERS,
        UpdateColumnComment(("spot", "x"), "across"),
        UpdateColumnDefaultValue(("price",), "9.99"),
        UpdateColumnDefaultValue(("tags",), "array(struct(1, 'a'))", is_sql=True),
    )
    row = made.field("spot").type
    assert isinstance(row, t.RowType)
    assert row.fields[0].description == "across"
    assert made.field("price").default == "9.99"
    assert made.field("tags").default == "array(struct(1, a))"
    assert changed(made, UpdateColumnDefaultValue(("price",), None)).field("price").default is None
    with pytest.raises(InvalidSchemaError, match="price"):
        changed(made, UpdateColumnDefaultValue(("price",), "cheap"))
    with pytest.raises(InvalidSchemaError, match="part of a column"):
        changed(made, UpdateColumnComment(("tags", "element"), "x"))


def test_a_default_must_stay_one_of_its_column() -> None:
    schema = changed(table({"a": STRING}), UpdateColumnDefaultValue(("a",), "ten"))
    with pytest.raises(InvalidSchemaError, match="default value ten"):
        changed(schema, UpdateColumnType(("a",), INT))


# -- options ----------------------------------------------------------------------------------------------------


def test_an_immutable_option_changes_only_before_the_first_row() -> None:
    change = SetOption("merge-engine", "first-row")
    assert changed(ORDERS, change, has_data=False).options["merge-engine"] == "first-row"
    with pytest.raises(InvalidOptionError, match="merge-engine"):
        changed(ORDERS, change)


@pytest.mark.parametrize(
    "change",
    [
        SetOption("primary-key", "price"),
        SetOption("partition", "price"),
        SetOption("path", "/elsewhere"),
        SetOption("bucket", "-1"),
        RemoveOption("bucket"),
        RemoveOption("primary-key"),
        SetOption("bucket-key", "id,price"),
        SetOption("snapshot.num-retained.max", "many"),
        SetOption("snapshot.num-retained.maxx", "5"),
        SetOption("changelog-producer", "nosuch"),
    ],
)
def test_an_option_that_must_not_change_so_is_refused_by_name(change: SetOption | RemoveOption) -> None:
    with pytest.raises((InvalidOptionError, InvalidSchemaError)) as refused:
        changed(ORDERS, change)
    assert change.key in str(refused.value)


def test_an_option_is_stored_under_its_own_key() -> None:
    made = changed(ORDERS, SetOption("consumer.expire-time", "1 d"))
    assert made.options["consumer.expiration-time"] == "1 d"
    assert changed(made, RemoveOption("consumer.expire-time")).options == ORDERS.options


def test_what_was_wrong_before_does_not_forbid_another_change() -> None:
    loose = table({"k": INT, "p": INT}, key=["k"], by=["p"], options={"bucket": "2", "snapshot.retainn": "1"})
    assert changed(loose, UpdateComment("kept")).comment == "kept"
    with pytest.raises(InvalidOptionError, match="full-compaction"):
        changed(loose, SetOption("changelog-producer", "lookup"), SetOption("full-compaction.delta-commits", "1"))


# -- modifying ----------------------------------------------------------------------------------------------------


def test_modify_gives_a_column_what_the_statement_writes() -> None:
    schema = changed(table({"a": INT, "b": INT}), UpdateColumnComment(("a",), "old"))
    made = changed(schema, ModifyColumn("b", t.BigIntType(), "now", FIRST), ModifyColumn("a", INT))
    assert [(f.name, f.type.sql(), f.description) for f in made.fields] == [("b", "BIGINT", "now"), ("a", "INT", None)]


def test_modify_leaves_a_key_column_not_null() -> None:
    made = changed(ORDERS, ModifyColumn("id", INT, "the key"))
    assert made.fields[0].type.sql() == "INT NOT NULL"
    with pytest.raises(InvalidSchemaError, match="NOT NULL"):
        changed(ORDERS, ModifyColumn("price", t.DecimalType(False, 6, 2)))


def test_modify_changes_a_row_field_by_field() -> None:
    wanted = t.RowType(True, (t.DataField(0, "x", BIGINT), t.DataField(1, "z", POINT), t.DataField(2, "y", STRING)))
    made = changed(ORDERS, ModifyColumn("tags", t.ArrayType(True, wanted)))
    before, after = ORDERS.field("tags").type.children()[0], made.field("tags").type.children()[0]
    assert isinstance(before, t.RowType)
    assert isinstance(after, t.RowType)
    assert after.field("x") == t.DataField(before.field("x").id, "x", BIGINT)
    assert after.field("y").id == before.field("y").id
    new = set(field_ids(made.row_type)) - set(field_ids(ORDERS.row_type))
    assert new == {ORDERS.highest_field_id + n for n in (1, 2, 3)}
    assert made.highest_field_id == max(new)


def test_every_version_survives_its_file() -> None:
    made = changed(ORDERS, AddColumn(("n",), POINT, "new"), UpdateColumnDefaultValue(("price",), "1"))
    assert parse_schema(made.to_json(), "schema-1") == made
