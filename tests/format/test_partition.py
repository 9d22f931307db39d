"""Partitions as paths and as metadata tables show them, against the golden tables."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_sql.errors import InvalidInputError, InvalidOptionError
from paimon_sql.format.layout.partitions import PartitionPaths, escape_path_name, unescape_path_name
from paimon_sql.format.rows.binary_row import RowCodec
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.statistics.column_statistics import EMPTY_ROW, stats_fields
from paimon_sql.format.text.values import java_text
from tests.format.golden_files import GoldenFile, golden_files

_FIELDS = (t.DataField(0, "dt", t.DateType()), t.DataField(1, "h", t.string_type()))
_DAY = dt.date(2024, 1, 1)


def _shown(golden: Path, case: str, table: str) -> list[dict[str, str]]:
    """What Java shows of a metadata table of a case, as records of text."""
    reads = json.loads((golden / case / "expected.json").read_text())["reads"]
    read = next(r for r in reads if r["name"] == table)
    return [dict(zip(read["columns"], row, strict=True)) for row in read["rows"]]


def test_the_golden_files_lie_below_the_path_of_their_partition(golden: Path) -> None:
    partitions = set()
    for file in golden_files(golden):
        if file.path is None:
            continue
        paths = PartitionPaths.of(file.schema)
        path = paths.path(file.partition)
        assert file.path.as_posix().endswith(f"/{path}/{file.path.parent.name}/{file.path.name}".replace("//", "/")), (
            file
        )
        values = RowCodec([f.type for f in file.schema.partition_fields]).decode(file.partition)
        assert paths.path(values) == path
        assert paths.parse(path) == values
        partitions.add((file.case, path))
    assert sum(bool(path) for _, path in partitions) > 10


@pytest.mark.parametrize("case", ["partition_date_bool_decimal", "partition_string_int"])
def test_metadata_tables_show_partitions_as_java_does(golden: Path, case: str) -> None:
    files = list(golden_files(golden, case))
    paths = PartitionPaths.of(files[0].schema)
    assert {paths.label(f.partition) for f in files} == {row["partition"] for row in _shown(golden, case, "files")}
    assert {paths.name(f.partition) for f in files} == {row["partition"] for row in _shown(golden, case, "partitions")}


def _bounds_text(file: GoldenFile) -> str:
    """The smallest values of a file as ``$files`` shows them."""
    fields = stats_fields(file.schema.fields, file.meta.get("_VALUE_STATS_COLS"))
    lows = RowCodec([f.type for f in fields]).decode(file.meta["_VALUE_STATS"]["_MIN_VALUES"])
    texts = dict.fromkeys(file.schema.names, "null")
    for field, low in zip(fields, lows, strict=True):
        if low is not None:
            texts[field.name] = java_text(low, field.type)
    return "{" + ", ".join(f"{name}={texts[name]}" for name in sorted(texts)) + "}"


def test_bounds_in_the_files_table_are_printed_as_java_prints_them(golden: Path) -> None:
    seen = 0
    for case in sorted(p.parent.name for p in golden.glob("*/expected.json")):
        files = list(golden_files(golden, case))
        reads = {r["name"]: r for r in json.loads((golden / case / "expected.json").read_text())["reads"]}
        partial = any(f.meta.get("_WRITE_COLS") for f in files)
        if partial or len({f.schema.fields for f in files}) != 1 or "files" not in reads:
            continue
        if "min_value_stats" in reads["files"]["columns"]:
            shown = {row["min_value_stats"] for row in _shown(golden, case, "files")}
            assert shown <= {_bounds_text(file) for file in files}, case
            seen += len(shown)
    assert seen > 50


@pytest.mark.parametrize(
    ("legacy", "values", "path"),
    [
        (True, (_DAY, "1"), "dt=19723/h=1"),
        (False, (_DAY, "1"), "dt=2024-01-01/h=1"),
        (True, (None, None), "dt=__DEFAULT_PARTITION__/h=__DEFAULT_PARTITION__"),
        (False, (2932897, ""), "dt=10000-01-01/h=__DEFAULT_PARTITION__"),
        (True, (dt.date(1970, 1, 1), " \t\n"), "dt=0/h=__DEFAULT_PARTITION__"),
        (True, (dt.date(1970, 1, 1), "\u00a0"), "dt=0/h=\u00a0"),
        (True, (dt.date(1970, 1, 1), "a b/c=d%e:f"), "dt=0/h=a b%2Fc%3Dd%25e%3Af"),
        (True, (dt.date(1970, 1, 1), "ü\x01\x7f\"#'*?\\{}[]^."), "dt=0/h=ü%01%7F%22%23%27%2A%3F%5C%7B%7D%5B%5D%5E."),
    ],
)
def test_a_path_is_spelled_as_java_spells_it(legacy: bool, values: tuple[Any, ...], path: str) -> None:
    assert PartitionPaths(_FIELDS, legacy_name=legacy).path(values) == path


def test_bytes_are_written_as_their_text_under_either_name() -> None:
    field = t.DataField(0, "b", t.bytes_type())
    for legacy in (True, False):
        paths = PartitionPaths([field], legacy_name=legacy)
        assert paths.path((b"x/y",)) == "b=x%2Fy"
        assert paths.parse("b=x%2Fy") == (b"x/y",)


def test_a_table_without_partitions_has_an_empty_path() -> None:
    paths = PartitionPaths([])
    assert (paths.path(EMPTY_ROW), paths.name(()), paths.label(()), paths.parse("")) == ("", "", "{}", ())


def test_options_name_the_default_and_the_form() -> None:
    schema = TableSchema(0, _FIELDS, 1, partition_keys=("dt", "h"))
    options = {"partition.default-name": "none", "partition.legacy-name": "false"}
    paths = PartitionPaths.of(replace(schema, options=options))
    assert paths.path((_DAY, None)) == "dt=2024-01-01/h=none"
    assert paths.name((_DAY, None)) == "dt=2024-01-01/h=none"
    assert paths.parse("dt=2024-01-01/h=none") == (_DAY, None)
    with pytest.raises(InvalidOptionError, match="legacy-name"):
        PartitionPaths.of(replace(schema, options={"partition.legacy-name": "no"}))


@given(st.text())
def test_an_escaped_name_is_one_directory_and_reads_back(text: str) -> None:
    assert unescape_path_name(escape_path_name(text)) == text
    assert not set(escape_path_name(text)) & set('/=\\:*?"\n')


def test_names_of_columns_are_escaped_too() -> None:
    paths = PartitionPaths([t.DataField(0, "a=b/ü", t.string_type())])
    assert paths.path(("x%",)) == "a%3Db%2Fü=x%25"
    assert paths.parse("a%3Db%2Fü=x%25") == ("x%",)


def test_a_lone_percent_sign_stays_itself() -> None:
    assert unescape_path_name("100%") == "100%"
    assert unescape_path_name("%zz%4") == "%zz%4"


def test_a_spec_takes_texts_of_either_form_in_any_order() -> None:
    paths = PartitionPaths(_FIELDS)
    assert paths.values({"h": "x", "dt": "2024-01-01"}) == (_DAY, "x")
    assert paths.values({"dt": "19723", "h": None}) == (_DAY, None)
    assert paths.spec((_DAY, None)) == {"dt": "19723", "h": "__DEFAULT_PARTITION__"}


@pytest.mark.parametrize("path", ["", "dt=19723", "dt=19723/x=1", "dt=19723/h=1/i=2", "bucket-0"])
def test_a_path_of_other_columns_is_refused(path: str) -> None:
    with pytest.raises(InvalidInputError, match=r"does not match the partition keys \(dt, h\)"):
        PartitionPaths(_FIELDS).parse(path)


def test_a_value_that_its_column_cannot_hold_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="'soon' is not a value of type DATE"):
        PartitionPaths(_FIELDS).parse("dt=soon/h=1")
    with pytest.raises(InvalidInputError, match="given 1 values"):
        PartitionPaths(_FIELDS).path((Decimal(1),))
