"""What CREATE and ALTER refuse: each thing by a name, and nothing that real tables have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from paimon_sql.errors import InvalidOptionError, InvalidSchemaError, PaimonError
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.schema import TableSchema, new_schema, parse_schema
from paimon_sql.storage.metadata.definition import Definition
from paimon_sql.storage.schema.validation import problems, validate_change, validate_schema
from paimon_sql.storage.schema.validation.reading import read_starts

STRING, INT = t.string_type(), t.IntType()
POINT = t.RowType(True, (t.DataField(0, "x", INT), t.DataField(1, "y", STRING)))
COLUMNS: dict[str, t.DataType] = {
    "id": INT,
    "p": STRING,
    "n": INT,
    "s": STRING,
    "m": t.MapType(True, t.string_type(False), INT),
    "rows": t.ArrayType(True, POINT),
    "r": POINT,
    "v": t.VariantType(),
    "at": t.TimestampType(),
    "nanos": t.TimestampType(True, 9),
}


def table(
    options: Mapping[str, str] | None = None,
    *,
    key: Sequence[str] = (),
    by: Sequence[str] = (),
    columns: Mapping[str, t.DataType] = COLUMNS,
) -> TableSchema:
    fields = [t.DataField(-1, name, data_type) for name, data_type in columns.items()]
    return new_schema(fields, primary_keys=key, partition_keys=by, options=options or {})


def refusal(schema: TableSchema) -> PaimonError:
    with pytest.raises((InvalidSchemaError, InvalidOptionError)) as refused:
        validate_schema(schema)
    return refused.value


def test_tables_that_java_wrote_are_valid(golden: Path) -> None:
    files = sorted(golden.glob("*/warehouse/*/*/schema/schema-*"))
    assert len(files) > 60
    for file in files:
        assert list(problems(parse_schema(file.read_bytes(), str(file)))) == [], file


@pytest.mark.parametrize(
    ("options", "key", "by"),
    [
        ({}, [], []),
        ({"bucket": "2", "bucket-key": "n"}, [], ["p"]),
        ({"bucket": "2"}, ["id", "p"], ["p"]),
        ({}, ["id"], ["p"]),
        ({"bucket": "-2"}, ["id"], []),
        ({"my.own": "property", "note": "text"}, [], []),
        ({"connector": "paimon"}, [], []),
        ({"merge-engine": "aggregation", "fields.n.aggregate-function": "sum"}, ["id"], []),
        ({"merge-engine": "aggregation", "fields.n.aggregate-function": "count"}, ["id"], []),
        ({"merge-engine": "partial-update", "fields.n.sequence-group": "s,m"}, ["id"], []),
        ({"merge-engine": "partial-update", "fields.n,at.sequence-group": "s", "sequence.field": "at"}, ["id"], []),
        ({"changelog-producer": "lookup", "sequence.field": "n,at"}, ["id"], []),
        ({"deletion-vectors.enabled": "true"}, ["id"], []),
        ({"row-tracking.enabled": "true", "data-evolution.enabled": "true"}, [], ["p"]),
        ({"file-index.bloom-filter.columns": "n,m[color]", "file-index.bloom-filter.n.fpp": "0.1"}, [], []),
        ({"scan.snapshot-id": "1"}, [], []),
        ({"primary-key.nullable": "true"}, ["id"], []),
    ],
)
def test_a_possible_table_is_let_through(options: dict[str, str], key: list[str], by: list[str]) -> None:
    schema = table(options, key=key, by=by)
    validate_schema(schema)
    assert list(problems(schema)) == []


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (table(key=["nosuch"]), ["primary key", "nosuch"]),
        (table(by=["nosuch"]), ["partition key", "nosuch"]),
        (table(key=["id", "id"]), ["primary key", "id", "duplicate"]),
        (table(by=["p", "p"]), ["partition key", "p", "duplicate"]),
        (table(key=["p"], by=["p"]), ["primary key", "only partition columns"]),
        (table({"bucket": "1"}, key=["m"]), ["'m'", "primary key"]),
        (table({"bucket": "1"}, key=["rows"]), ["'rows'", "primary key"]),
        (table({"bucket": "1"}, key=["r"]), ["'r'", "primary key"]),
        (table(by=["v"]), ["'v'", "partition key"]),
        (table(columns={}), ["at least one column"]),
        (table(columns={"_VALUE_KIND": INT}), ["_VALUE_KIND", "reserved"]),
        (table(columns={"a": INT, "_KEY_b": INT}), ["_KEY_b", "reserved"]),
        (new_schema([t.DataField(0, "dup", INT), t.DataField(1, "dup", STRING)]), ["dup", "twice"]),
        (
            table(columns={"r": t.RowType(True, (t.DataField(0, "x", INT), t.DataField(1, "x", INT)))}),
            ["'r'", "'x'", "twice"],
        ),
        (new_schema([t.DataField(0, "a", INT, default="text")]), ["default value", "'a'"]),
        (table({"primary-key.nullable": "true"}), ["primary-key.nullable", "primary key"]),
    ],
)
def test_impossible_columns_and_keys_are_named(schema: TableSchema, words: list[str]) -> None:
    message = str(refusal(schema))
    assert all(word in message for word in words), message


@pytest.mark.parametrize(
    ("option", "options", "key", "by"),
    [
        ("bucket", {"bucket": "none"}, [], []),
        ("bucket", {"bucket": "0"}, ["id"], []),
        ("bucket", {"bucket": "-2"}, [], []),
        ("bucket-key", {"bucket": "2"}, [], []),
        ("bucket-key", {"bucket": "2", "bucket-key": "nosuch"}, [], []),
        ("bucket-key", {"bucket": "2", "bucket-key": "n"}, ["id"], []),
        ("bucket-key", {"bucket": "2", "bucket-key": "p,id"}, ["id", "p"], ["p"]),
        ("bucket-key", {"bucket": "2", "bucket-key": "m"}, [], []),
        ("bucket-key", {"bucket-key": "n"}, [], []),
        ("bucket-function.type", {"bucket": "2", "bucket-key": "s", "bucket-function.type": "mod"}, [], []),
        ("full-compaction.delta-commits", {"full-compaction.delta-commits": "1"}, [], []),
        ("merge-engine", {"merge-engine": "nosuch"}, ["id"], []),
        ("snapshot.num-retained.min", {"snapshot.num-retained.min": "0"}, [], []),
        ("snapshot.num-retained.max", {"snapshot.num-retained.min": "9", "snapshot.num-retained.max": "3"}, [], []),
        ("snapshot.num-retained.max", {"snapshot.num-retained.max": "3"}, [], []),
        ("changelog.num-retained.max", {"changelog.num-retained.max": "3"}, ["id"], []),
        ("sequence.field", {"sequence.field": "nosuch"}, ["id"], []),
        ("sequence.field", {"sequence.field": "n,n"}, ["id"], []),
        ("sequence.field", {"sequence.field": "m"}, ["id"], []),
        ("sequence.field", {"sequence.field": "n"}, ["id"], ["p"]),
        ("sequence.field", {"sequence.field": "n", "merge-engine": "first-row"}, ["id"], []),
        (
            "fields.n.aggregate-function",
            {"merge-engine": "aggregation", "sequence.field": "n", "fields.n.aggregate-function": "sum"},
            ["id"],
            [],
        ),
        ("rowkind.field", {"rowkind.field": "nosuch"}, ["id"], []),
        ("rowkind.field", {"rowkind.field": "n"}, ["id"], []),
        ("record-level.time-field", {"record-level.time-field": "s", "record-level.expire-time": "1 d"}, ["id"], []),
        ("changelog-producer", {"changelog-producer": "input"}, [], []),
        ("changelog-producer", {"changelog-producer": "input", "merge-engine": "first-row"}, ["id"], []),
        (
            "full-compaction.delta-commits",
            {"changelog-producer": "lookup", "full-compaction.delta-commits": "1"},
            ["id"],
            [],
        ),
        ("streaming-read-overwrite", {"streaming-read-overwrite": "true"}, [], []),
        ("streaming-read-overwrite", {"streaming-read-overwrite": "true", "changelog-producer": "lookup"}, ["id"], []),
        ("deletion-vectors.enabled", {"deletion-vectors.enabled": "true", "merge-engine": "first-row"}, ["id"], []),
        (
            "deletion-vectors.enabled",
            {"deletion-vectors.enabled": "true", "changelog-producer": "full-compaction"},
            ["id"],
            [],
        ),
        ("sequence.snapshot-ordering", {"sequence.snapshot-ordering": "true"}, ["id"], []),
        ("row-tracking.enabled", {"row-tracking.enabled": "true"}, ["id"], []),
        ("row-tracking.enabled", {"row-tracking.enabled": "true", "bucket": "1", "bucket-key": "n"}, [], []),
        ("data-evolution.enabled", {"data-evolution.enabled": "true"}, [], []),
        ("file.format", {"file.format": "avro"}, [], []),
        ("file.format.per.level", {"file.format.per.level": "0:avro"}, ["id"], []),
        ("file-index.nosuch.columns", {"file-index.nosuch.columns": "n"}, [], []),
        ("file-index.bitmap.columns", {"file-index.bitmap.columns": "nosuch"}, [], []),
        ("file-index.bitmap.columns", {"file-index.bitmap.columns": "rows"}, [], []),
        ("file-index.bitmap.columns", {"file-index.bitmap.columns": "s[x]"}, [], []),
        ("file-index.bitmap.s.x", {"file-index.bitmap.columns": "n", "file-index.bitmap.s.x": "1"}, [], []),
        ("pk-btree.index.columns", {"pk-btree.index.columns": "n", "bucket": "1"}, ["id"], []),
        ("clustering.columns", {"clustering.columns": "nosuch"}, [], []),
        ("clustering.incremental", {"clustering.incremental": "true", "clustering.columns": "n"}, ["id"], []),
        ("pk-clustering-override", {"pk-clustering-override": "true"}, ["id"], []),
        ("manifest-sort.enabled", {"manifest-sort.enabled": "true"}, [], []),
        ("fields.nosuch.aggregate-function", {"fields.nosuch.aggregate-function": "sum"}, ["id"], []),
        ("fields.r.x.aggregate-function", {"fields.r.x.aggregate-function": "sum"}, ["id"], []),
        ("fields.n.map.storage-layout", {"fields.n.map.storage-layout": "shared-shredding"}, [], []),
        ("vector-field", {"vector-field": "rows"}, [], []),
        ("blob-field", {"blob-field": "s"}, [], []),
        ("auto-create", {"auto-create": "true"}, [], []),
        ("connector", {"connector": "kafka", "topic": "orders"}, [], []),
        ("connector", {"connector": "datagen"}, ["id"], []),
        ("snapshot.retain", {"snapshot.retain": "1"}, [], []),
        ("chain-table.enabled", {"chain-table.enabled": "true"}, ["id"], []),
    ],
)
def test_an_option_that_does_not_go_is_named(
    option: str, options: dict[str, str], key: list[str], by: list[str]
) -> None:
    error = refusal(table(options, key=key, by=by))
    assert isinstance(error, InvalidOptionError)
    assert error.key == option
    assert option in str(error)


@pytest.mark.parametrize(
    ("function", "column"),
    [
        ("nosuch", "n"),
        ("sum", "s"),
        ("max", "m"),
        ("listagg", "n"),
        ("bool_and", "n"),
        ("collect", "n"),
        ("merge_map", "n"),
        ("merge_map_with_keytime", "m"),
        ("nested_update", "m"),
        ("nested_partial_update", "rows"),
        ("rbm32", "n"),
        ("theta_sketch", "s"),
    ],
)
def test_an_aggregate_function_takes_its_columns_type(function: str, column: str) -> None:
    options = {"merge-engine": "aggregation", f"fields.{column}.aggregate-function": function}
    message = str(refusal(table(options, key=["id"])))
    assert function in message
    assert column in message


def test_the_default_function_must_suit_every_column_that_has_none() -> None:
    options = {"merge-engine": "aggregation", "fields.default-aggregate-function": "sum"}
    message = str(refusal(table(options, key=["id"])))
    assert "fields.default-aggregate-function" in message
    assert "'p'" in message
    validate_schema(table(options, key=["id"], columns={"id": STRING, "n": INT}))


@pytest.mark.parametrize(
    ("extra", "word"),
    [
        ({"fields.n.sequence-group": "s", "fields.at.sequence-group": "s"}, "'s'"),
        ({"fields.n.sequence-group": "id"}, "'id' of the primary key"),
        ({"fields.id.sequence-group": "s"}, "'id' of the primary key"),
        ({"fields.n.sequence-group": "nosuch"}, "nosuch"),
        ({"fields.s.aggregate-function": "listagg"}, "needs a sequence group"),
        ({"partial-update.remove-record-on-delete": "true", "ignore-delete": "true"}, "ignore-delete"),
        ({"partial-update.remove-record-on-delete": "true", "fields.n.sequence-group": "s"}, "sequence groups"),
        ({"partial-update.remove-record-on-sequence-group": "n"}, "'n'"),
    ],
)
def test_sequence_groups_that_contradict_each_other_are_refused(extra: dict[str, str], word: str) -> None:
    assert word in str(refusal(table({"merge-engine": "partial-update", **extra}, key=["id"])))


def test_members_of_nested_rows_must_exist() -> None:
    options = {
        "merge-engine": "aggregation",
        "fields.rows.aggregate-function": "nested_update",
        "fields.rows.nested-key": "x,nosuch",
    }
    assert "nosuch" in str(refusal(table(options, key=["id"])))
    options["fields.rows.nested-key"] = "x"
    validate_schema(table(options, key=["id"]))
    del options["fields.rows.nested-key"]
    options["fields.rows.nested-sequence-field"] = "y"
    assert "fields.rows.nested-key" in str(refusal(table(options, key=["id"])))


def test_a_blob_needs_rows_with_ids_and_other_columns() -> None:
    columns: dict[str, t.DataType] = {"id": INT, "data": t.BlobType()}
    tracked = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
    validate_schema(table(tracked, columns=columns))
    validate_schema(table({"bucket": "1"}, columns=columns, key=["id"]))
    assert "row-tracking.enabled" in str(refusal(table({}, columns=columns)))
    assert "alone" in str(refusal(table(tracked, columns={"data": t.BlobType()})))
    inside = t.RowType(True, (t.DataField(0, "data", t.BlobType()),))
    assert "cannot be inside" in str(refusal(table(tracked, columns={"id": INT, "r": inside})))


@pytest.mark.parametrize(
    "options",
    [
        {"scan.snapshot-id": "1", "scan.tag-name": "t"},
        {"scan.snapshot-id": "1", "scan.timestamp-millis": "5"},
        {"incremental-between": "1,2", "scan.tag-name": "t"},
        {"scan.mode": "from-timestamp"},
        {"scan.mode": "latest", "scan.snapshot-id": "1"},
        {"scan.mode": "from-snapshot-full", "scan.tag-name": "t"},
    ],
)
def test_a_read_has_one_start(options: dict[str, str]) -> None:
    assert list(read_starts(Definition(table(options))))
    refusal(table(options))


def test_a_change_is_refused_only_for_what_it_makes_wrong() -> None:
    loose = table({"bucket": "2", "bucket-key": "nosuch"}, key=["id"], by=["p"])
    refusal(loose)
    validate_change(loose, loose.with_options({"snapshot.time-retained": "2 h"}))
    with pytest.raises(InvalidOptionError, match=r"sequence\.field"):
        validate_change(loose, loose.with_options({"sequence.field": "nosuch"}))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tag.creation-delay": "1 d"}, "'tag.creation-delay' must be shorter"),
        ({"tag.creation-period": "hourly", "tag.creation-delay": "61 min"}, "'tag.creation-delay' must be shorter"),
        ({"tag.creation-period-duration": "0 ms"}, "'tag.creation-period-duration' must be positive"),
        ({"sink.process-time-zone": "Oslo"}, "'sink.process-time-zone' cannot be 'Oslo'"),
        ({"sink.watermark-time-zone": "?"}, "'sink.watermark-time-zone' cannot be '\\?'"),
        ({"partition.expiration-strategy": "luck"}, "'partition.expiration-strategy' cannot be 'luck'"),
        ({"partition.mark-done-action": "success-file,mail"}, "'partition.mark-done-action' cannot be 'mail'"),
        ({"partition.timestamp-formatter": "yyyy-bb"}, "'partition.timestamp-formatter'.*'b' is not a field"),
    ],
)
def test_what_ends_by_the_clock_must_make_sense(options: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidOptionError, match=said):
        validate_schema(table(options, by=["p"]))


def test_ordinary_clocks_pass() -> None:
    options = {
        "tag.automatic-creation": "watermark",
        "tag.creation-delay": "23 h",
        "sink.watermark-time-zone": "GMT+8",
        "partition.expiration-time": "7 d",
        "partition.timestamp-formatter": "yyyyMMdd'T'HH",
        "partition.timestamp-pattern": "$p",
        "partition.mark-done-action": "success-file, done-partition",
    }
    assert list(problems(table(options, by=["p"]))) == []
