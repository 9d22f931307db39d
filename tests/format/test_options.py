from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.options import (
    OPTIONS,
    PATTERNS,
    Scope,
    TableOptions,
    canonical,
    check_changes,
    find_option,
    generate_docs,
    nearest_key,
    validate,
)
from paimon_sql.format.options.operations.compaction import WRITE_ONLY
from paimon_sql.format.options.operations.snapshot import CONSUMER_EXPIRATION_TIME, SNAPSHOT_TIME_RETAINED
from paimon_sql.format.options.operations.write import WRITE_BUFFER_SIZE
from paimon_sql.format.options.table.bucket import BUCKET
from paimon_sql.format.options.table.data_file import FILE_FORMAT, FILE_FORMAT_PER_LEVEL, TARGET_FILE_SIZE
from paimon_sql.format.options.table.merge_engine import (
    FIELD_AGG_FUNCTION,
    FIELD_COUNT_LIMIT,
    FIELD_SEQUENCE_GROUP,
    MERGE_ENGINE,
)
from paimon_sql.format.options.values import comma_separated, parse_memory_size

STRICTER = {"clustering.strategy", "file.format"}
"""Texts in the reference that take only known words."""
LOOSER = {"parquet.enable.dictionary", "orc.column.encoding.direct"}
"""Numbers in the reference that are texts."""
REFERENCE = re.compile(r"^\| `([^`]+)` \| (\S+) \| (.*?) \| (.*?) \|$", re.MULTILINE)


def refusal(options: dict[str, str]) -> str | None:
    """Why the properties of a table are refused; None when they are not."""
    try:
        validate(options)
    except InvalidOptionError as error:
        return str(error)
    return None


def reference(shared: Path) -> list[tuple[str, str, str, str]]:
    return REFERENCE.findall((shared / "reference/options.md").read_text())


def test_every_option_of_the_reference_is_declared_with_its_type_default_and_values(shared: Path) -> None:
    declared = {**OPTIONS, **{option.key: option for option in PATTERNS}}
    stated = reference(shared)
    assert len(stated) > 380
    for key, kind, default, values in stated:
        option = declared[key.replace("#", "<class>")]
        if key not in STRICTER | LOOSER:
            assert option.kind == kind, key
            assert option.allowed == tuple(values.split(", ") if values else ()), key
        text = option.default_text
        if default == "infinite":
            assert text in ("2147483647", "9223372036854775807 bytes"), key
        else:
            assert (text or "") == ("" if default == "(none)" else default.strip('"')), key


def test_every_default_is_a_value_that_its_option_takes() -> None:
    for option in (*OPTIONS.values(), *PATTERNS):
        assert option.default_text is None or option.parse(option.default_text) == option.default
        assert option.meaning.endswith(".")
        assert "|" not in option.meaning


def test_no_key_is_declared_twice() -> None:
    keys = [
        key for option in OPTIONS.values() for key in option.alternatives if key not in ("lineSep", "file.compression")
    ]
    assert len(keys) == len(set(keys))
    assert not set(keys) & set(OPTIONS)


def test_a_default_is_answered_for_what_is_not_given() -> None:
    options = TableOptions({})
    assert options.get(BUCKET) == -1
    assert options.get(MERGE_ENGINE) == "deduplicate"
    assert options.get(WRITE_BUFFER_SIZE) == 256 * 1024**2
    assert options.get(SNAPSHOT_TIME_RETAINED) == timedelta(hours=1)
    assert options.get(TARGET_FILE_SIZE) is None
    assert options.get(FILE_FORMAT_PER_LEVEL) == {}
    assert not options.has(BUCKET)


def test_values_are_read_by_the_kind_of_their_option() -> None:
    options = TableOptions(
        {
            "bucket": " 4 ",
            "merge-engine": "Partial-Update",
            "write-buffer-size": "64 mb",
            "snapshot.time-retained": "PT36H",
            "write-only": "TRUE",
            "file.format.per.level": "0:avro, 5:parquet",
            "mine": "x",
        }
    )
    assert options.get(BUCKET) == 4
    assert options.get(MERGE_ENGINE) == "partial-update"
    assert options.get(WRITE_BUFFER_SIZE) == 64 * 1024**2
    assert options.get(SNAPSHOT_TIME_RETAINED) == timedelta(hours=36)
    assert options.get(WRITE_ONLY) is True
    assert options.get(FILE_FORMAT_PER_LEVEL) == {"0": "avro", "5": "parquet"}
    assert options.has(BUCKET)


def test_an_alternative_key_is_read_when_the_own_key_is_not_given() -> None:
    assert TableOptions({"write.compaction-skip": "true"}).get(WRITE_ONLY) is True
    assert TableOptions({"write.compaction-skip": "true", "write-only": "false"}).get(WRITE_ONLY) is False
    assert TableOptions({"consumer.expire-time": "7 d"}).get(CONSUMER_EXPIRATION_TIME) == timedelta(days=7)


def test_patterns_are_read_by_name() -> None:
    options = TableOptions(
        {
            "fields.price.aggregate-function": "max",
            "fields.a.b.aggregate-function": "sum",
            "fields.g_1,g_2.sequence-group": "c,d",
            "fields.default-aggregate-function": "last_value",
        }
    )
    assert options.get(FIELD_AGG_FUNCTION, "price") == "max"
    assert options.get(FIELD_AGG_FUNCTION, "other") is None
    assert options.get(FIELD_COUNT_LIMIT, "price") == 2**31 - 1
    assert options.has(FIELD_AGG_FUNCTION, "price")
    assert dict(options.matching(FIELD_AGG_FUNCTION)) == {("price",): "max", ("a.b",): "sum"}
    assert dict(options.matching(FIELD_SEQUENCE_GROUP)) == {("g_1,g_2",): "c,d"}
    with pytest.raises(ValueError, match="bucket is no pattern"):
        list(options.matching(BUCKET))


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("100", 100),
        ("1 b", 1),
        ("500 bytes", 500),
        ("64kb", 64 * 1024),
        ("1 K", 1024),
        ("2 mebibytes", 2 * 1024**2),
        ("1g", 1024**3),
        ("3 TB", 3 * 1024**4),
        ("9223372036854775807", 2**63 - 1),
    ],
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert parse_memory_size(text) == size


@pytest.mark.parametrize("text", ["", "mb", "-1 mb", "1.5 gb", "1 pb", "9223372036854775808", "8388608 tb"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="it takes"):
        parse_memory_size(text)


@pytest.mark.parametrize(
    ("key", "text", "wanted"),
    [
        ("bucket", "0", "-1 (dynamic), -2 (postponed) or a number above 0"),
        ("bucket", "4.0", "whole number"),
        ("bucket", "2147483648", "32 bits"),
        ("merge-engine", "dedup", "deduplicate, partial-update, aggregation, first-row"),
        ("write-buffer-size", "12 xb", "'64 mb'"),
        ("snapshot.time-retained", "soon", "'1 h'"),
        ("write-only", "yes", "true or false"),
        ("metadata.stats-mode", "truncate(0)", "truncate(<number of characters>)"),
        ("fields.a.stats-mode", "some", "none, counts, full"),
        ("fields.a.count-limit", "many", "whole number"),
        ("file.format.per.level", "0-avro", "pairs such as"),
        ("file.format", "paruqet", "parquet, orc, avro"),
        ("compaction.small-file-ratio", "half", "a number"),
        ("consumer.expire-time", "soon", "length of time"),
    ],
)
def test_a_bad_value_is_refused_naming_key_value_and_what_is_allowed(key: str, text: str, wanted: str) -> None:
    with pytest.raises(InvalidOptionError, match=re.escape(f"The option '{key}' cannot be '{text}': ")) as caught:
        validate({key: text})
    assert wanted in str(caught.value)
    assert caught.value.key == key


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("buckets", "bucket"),
        ("bukcet", "bucket"),
        ("Bucket", "bucket"),
        ("merge_engine", "merge-engine"),
        ("primarykey", "primary-key"),
        ("snapshot.num-retained-max", "snapshot.num-retained.max"),
        ("fields.price.agregate-function", "fields.price.aggregate-function"),
        ("source.split.targetsize", "source.split.target-size"),
        ("file.formats", "file.format"),
    ],
)
def test_a_mistyped_key_is_refused_with_the_key_that_was_meant(key: str, meant: str) -> None:
    with pytest.raises(InvalidOptionError, match=re.escape(f"no option '{key}'. Did you mean '{meant}'?")):
        validate({key: "1"})


@pytest.mark.parametrize(
    "key",
    [
        *("owner", "comment", "my.prop", "delta.x", "note", "a", "model", "headers", "header", "mode", "source.system"),
        *(
            "table.owner",
            "transient_lastDdlTime",
            "spark.sql.create.version",
            "uri",
            "warehouse",
            "created_by",
            "version",
        ),
    ],
)
def test_a_users_own_property_is_accepted(key: str) -> None:
    assert refusal({key: "anything"}) is None


@pytest.mark.parametrize(
    "key",
    [
        *("sink.parallelism", "parquet.bloom.filter.enabled", "orc.bloom.filter.columns", "file-index.bitmap.columns"),
        *(
            "file-index.bloom-filter.a.fpp",
            "commit.callback.com.a.B.param",
            "metadata.iceberg.table-properties.owner",
            "read.changelog",
        ),
    ],
)
def test_options_of_formats_indexes_and_other_engines_are_accepted(key: str) -> None:
    assert refusal({key: "true"}) is None


def test_properties_in_the_conformance_files_are_accepted(shared: Path) -> None:
    given = re.compile(r"'([\w.,-]+)' *= *'([^']*)'")
    clause = re.compile(r"CREATE TABLE[^\n]*TBLPROPERTIES *\(([^\n]*)\)")
    refused = {}
    seen = 0
    for file in sorted((shared / "conformance").rglob("*.slt")):
        for block in file.read_text().split("\n\n"):
            if "statement ok" in block and (match := clause.search(block)):
                for key, text in given.findall(match[1]):
                    seen += 1
                    if reason := refusal({key: text}):
                        refused[f"{file.name}: {key}={text}"] = reason
    assert seen > 300
    assert refused == {}


def test_a_statement_takes_options_only() -> None:
    validate({"scan.snapshot-id": "3", "write.merge-schema": "true"}, Scope.SPARK)
    with pytest.raises(InvalidOptionError, match=r"no option 'my\.prop'"):
        validate({"my.prop": "1"}, Scope.SPARK)
    with pytest.raises(InvalidOptionError, match=r"belongs to a catalog\. Set spark\.sql\.catalog"):
        validate({"warehouse": "w"}, Scope.SPARK)


def test_a_catalog_checks_its_own_options_and_takes_settings_of_file_systems() -> None:
    validate(
        {"warehouse": "w", "s3.access-key": "k", "fs.s3a.endpoint": "e", "table-default.bucket": "2"}, Scope.CATALOG
    )
    with pytest.raises(InvalidOptionError, match="'cache-enabled' cannot be 'on'"):
        validate({"cache-enabled": "on"}, Scope.CATALOG)


def test_what_is_stored_is_what_every_implementation_reads() -> None:
    assert canonical(
        {"consumer.expire-time": "P7D", "note": "P7D", "bucket": "2", "snapshot.time-retained": "36 h"}
    ) == {
        "consumer.expiration-time": "7 d",
        "note": "P7D",
        "bucket": "2",
        "snapshot.time-retained": "36 h",
    }
    assert canonical({"consumer.expire-time": "1 d", "consumer.expiration-time": "2 d"}) == {
        "consumer.expiration-time": "2 d"
    }
    assert canonical({"write.compaction-skip": "true"}) == {"write.compaction-skip": "true"}


CURRENT = {"primary-key": "id,pt", "bucket": "2", "merge-engine": "deduplicate", "ignore-delete": "true"}


@pytest.mark.parametrize(
    "changes",
    [
        {"bucket": "8"},
        {"bucket": "-2"},
        {"snapshot.num-retained.max": "12"},
        {"primary-key": "id, pt"},
        {"merge-engine": "deduplicate"},
        {"write-buffer-size": None},
        {"note": "x"},
        {"deletion-vectors.enabled": "false"},
        {"ignore-delete": None},
    ],
)
def test_harmless_changes_of_a_table_with_data_are_accepted(changes: dict[str, str | None]) -> None:
    check_changes(CURRENT, changes, has_snapshots=True)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"merge-engine": "first-row"}, "merge engine of a table \\('merge-engine'\\) is fixed"),
        ({"bucket-key": "id"}, "'bucket-key'"),
        ({"bucket": None}, "'bucket'"),
        ({"bucket": "-1"}, "cannot change from 2 to -1"),
        ({"deletion-vectors.enabled": "true"}, "deletion-vectors.modifiable"),
        ({"ignore-delete": "false"}, "from true to false"),
        ({"type": "format-table"}, "'type'"),
        ({"row-tracking.enabled": "true"}, "'row-tracking.enabled'"),
    ],
)
def test_changes_that_break_a_table_with_data_are_refused(changes: dict[str, str | None], reason: str) -> None:
    with pytest.raises(InvalidOptionError, match=reason):
        check_changes(CURRENT, changes, has_snapshots=True)


def test_a_table_without_data_may_still_change_but_its_keys_may_not() -> None:
    check_changes(CURRENT, {"merge-engine": "first-row", "bucket": "-1", "bucket-key": "id"}, has_snapshots=False)
    for key in ("primary-key", "partition", "type", "path"):
        with pytest.raises(InvalidOptionError, match=f"'{key}'"):
            check_changes(CURRENT, {key: "x"}, has_snapshots=False)


def test_deletion_vectors_may_change_once_that_is_allowed() -> None:
    current = {**CURRENT, "deletion-vectors.modifiable": "true"}
    check_changes(current, {"deletion-vectors.enabled": "true"}, has_snapshots=True)


def test_clustering_columns_are_fixed_where_they_order_the_files() -> None:
    current = {"clustering.columns": "a", "pk-clustering-override": "true"}
    for text in ("b", None):
        with pytest.raises(InvalidOptionError, match="fixed for a table with 'pk-clustering-override'"):
            check_changes(current, {"clustering.columns": text}, has_snapshots=True)


def test_keys_are_found_and_nothing_is_like_nonsense() -> None:
    assert find_option("bucket") is BUCKET
    assert find_option("fields.a.aggregate-function") is FIELD_AGG_FUNCTION
    assert find_option("nonsense") is None
    assert nearest_key("zzzzzz") is None
    assert find_option("file.format") is FILE_FORMAT


def test_the_reference_page_lists_every_option() -> None:
    page = generate_docs()
    for option in (*OPTIONS.values(), *PATTERNS):
        assert f"| `{option.key}` |" in page
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 5 for row in rows)


def test_names_with_commas_between_are_split() -> None:
    assert comma_separated(" a, b ,,c") == ("a", "b", "c")
    assert comma_separated(None) == ()
