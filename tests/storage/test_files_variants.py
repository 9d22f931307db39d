"""Parquet files whose variants are taken apart: what lies in them, and what is read of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.variant_utils import VariantUtils

from paimon_sql.errors import CorruptFileError, InvalidInputError, InvalidOptionError
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_schema, arrow_type
from paimon_sql.format.variant.paths import parse_path
from paimon_sql.storage.file_formats.parquet.format import ParquetFormat
from paimon_sql.storage.file_formats.parquet.reader import leaves_of
from paimon_sql.storage.file_formats.parquet.variants import shape_history
from paimon_sql.storage.file_io.local import LocalFileIO
from tests.storage.file_reads import read_rows

IO = LocalFileIO()
PARQUET = ParquetFormat()
VARIANT = t.VariantType()
FIELDS = [t.DataField(0, "k", t.IntType()), t.DataField(1, "v", VARIANT)]
INFER = {"variant.inferShreddingSchema": "true"}
GROUP = pa.struct([("value", pa.binary()), ("typed_value", pa.int64())])
DOCUMENTS = ['{"a": 1, "b": {"c": "x", "d": [1, 2]}}', '{"a": "one", "e": 1}', None, "5", '{"b": {"c": null}}']


def variant(document: str | None) -> dict[str, bytes] | None:
    """A variant out of JSON."""
    if document is None:
        return None
    value, metadata = VariantUtils.parse_json(document)
    return {"value": value, "metadata": metadata}


def rows(documents: Sequence[str | None]) -> pa.RecordBatch:
    """Numbered variants."""
    columns = [
        pa.array(range(len(documents)), pa.int32()),
        pa.array([variant(d) for d in documents], arrow_type(VARIANT)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(FIELDS))


def written(
    path: Path, options: Mapping[str, str], *batches: pa.RecordBatch, fields: Sequence[t.DataField] = FIELDS
) -> pq.ParquetFile:
    """A file of these rows."""
    writer = PARQUET.open_writer(IO, str(path), fields, options)
    for batch in batches:
        writer.write(batch)
    assert writer.close() == path.stat().st_size
    return pq.ParquetFile(path)


def read(path: Path, kind: t.DataType = VARIANT) -> list[Any]:
    """The variants of a file as Python has them."""
    fields = [FIELDS[0], t.DataField(1, "v", kind)]
    batches = list(read_rows(PARQUET, IO, str(path), None, fields, ["v"]))
    found = [v for batch in batches for v in batch.column(0).to_pylist()]
    return [v and VariantUtils.to_python(v["value"], v["metadata"]) for v in found]


def expected(documents: Sequence[str | None]) -> list[Any]:
    """What comes back."""
    return [d and json.loads(d) for d in documents]


def given(**columns: Any) -> dict[str, str]:
    """The option that says how variants are taken apart."""
    fields = [{"name": name, "type": kind} for name, kind in columns.items()]
    return {"variant.shreddingSchema": json.dumps({"type": "ROW", "fields": fields})}


def row(**fields: Any) -> dict[str, Any]:
    """The JSON of a row type."""
    return {"type": "ROW", "fields": [{"name": name, "type": kind} for name, kind in fields.items()]}


def leaves(file: pq.ParquetFile) -> list[str]:
    """The columns of a file."""
    return [file.schema.column(i).path for i in range(len(file.schema))]


def test_a_shape_that_is_given_makes_columns(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    file = written(path, given(v=row(a="BIGINT", b=row(c="STRING"))), rows(DOCUMENTS))
    assert leaves(file) == [
        *("k", "v.metadata", "v.value", "v.typed_value.a.value", "v.typed_value.a.typed_value"),
        *("v.typed_value.b.value", "v.typed_value.b.typed_value.c.value", "v.typed_value.b.typed_value.c.typed_value"),
    ]
    assert "required group field_id=0 a {" in str(file.schema)
    assert "optional int64" in str(file.schema)
    assert read(path) == expected(DOCUMENTS)


def test_the_older_name_of_the_option_is_heeded(tmp_path: Path) -> None:
    options = {"parquet.variant.shreddingSchema": given(v="BIGINT")["variant.shreddingSchema"]}
    assert leaves(written(tmp_path / "f.parquet", options, rows(["1"])))[-1] == "v.typed_value"


@pytest.mark.parametrize(
    "options", [{}, given(v="VARIANT"), given(other="INT"), given(k="INT"), {**given(other="INT"), **INFER}]
)
def test_variants_of_which_nothing_is_taken_out_lie_as_ever(options: dict[str, str], tmp_path: Path) -> None:
    file = written(tmp_path / "f.parquet", options, rows(DOCUMENTS))
    assert leaves(file) == ["k", "v.value", "v.metadata"]
    assert read(tmp_path / "f.parquet") == expected(DOCUMENTS)


def test_a_shape_is_found_in_the_first_rows(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    options = {**INFER, "variant.shredding.maxInferBufferRow": "4"}
    first, rest = ['{"a": 1}', None, '{"a": 2}'], ['{"a": 3}', '{"z": 4}', "[]"]
    file = written(path, options, rows(first), rows(rest))
    assert leaves(file) == ["k", "v.metadata", "v.value", "v.typed_value.a.value", "v.typed_value.a.typed_value"]
    assert read(path) == expected([*first, *rest])


def test_few_rows_and_none_make_a_file(tmp_path: Path) -> None:
    file = written(tmp_path / "few.parquet", INFER, rows(['{"a": 1}']))
    assert leaves(file)[-1] == "v.typed_value.a.typed_value"
    assert leaves(written(tmp_path / "none.parquet", INFER)) == ["k", "v.value", "v.metadata"]
    assert leaves(written(tmp_path / "null.parquet", INFER, rows([None]))) == ["k", "v.value", "v.metadata"]
    assert read(tmp_path / "null.parquet") == [None]
    assert leaves(written(tmp_path / "given.parquet", given(v="INT")))[-1] == "v.typed_value"


def test_a_file_that_is_given_up_leaves_nothing(tmp_path: Path) -> None:
    for name, options in (("held", INFER), ("begun", given(v="INT"))):
        writer = PARQUET.open_writer(IO, str(tmp_path / name), FIELDS, options)
        writer.write(rows(DOCUMENTS))
        assert writer.bytes_written > 0
        writer.abort()
    assert not list(tmp_path.iterdir())


def test_variants_inside_rows_are_taken_apart_and_those_inside_arrays_and_maps_are_not(tmp_path: Path) -> None:
    inner = t.RowType(True, (t.DataField(2, "x", VARIANT), t.DataField(3, "n", t.IntType())))
    fields = [
        t.DataField(0, "s", inner),
        t.DataField(4, "l", t.ArrayType(True, VARIANT)),
        t.DataField(5, "m", t.MapType(True, t.string_type(False), VARIANT)),
    ]
    v = variant('{"a": 1}')
    values = [
        {"s": {"x": v, "n": 1}, "l": [v, None], "m": [("k", v)]},
        {"s": None, "l": None, "m": None},
        {"s": {"x": None, "n": 2}, "l": [], "m": []},
    ]
    batch = pa.RecordBatch.from_pylist(values, schema=arrow_schema(fields))
    path = tmp_path / "f.parquet"
    file = written(path, INFER, batch, fields=fields)
    assert [leaf for leaf in leaves(file) if "typed_value" in leaf] == [
        "s.x.typed_value.a.value",
        "s.x.typed_value.a.typed_value",
    ]
    (found,) = read_rows(PARQUET, IO, str(path), None, fields, ["s", "l", "m"])
    assert found.to_pylist() == batch.to_pylist()


def test_variants_of_other_writers_are_put_together_wherever_they_are(tmp_path: Path) -> None:
    group = pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", pa.int64())])
    one = {"metadata": bytes([1, 0, 0]), "value": None, "typed_value": 5}
    table = pa.table(
        {
            "l": pa.array([[one, None]], pa.list_(group)),
            "m": pa.array([[("k", one)]], pa.map_(pa.string(), group)),
            "s": pa.array([{"v": one}], pa.struct([("v", group)])),
        }
    )
    pq.write_table(table, tmp_path / "f.parquet")
    fields = [
        t.DataField(0, "l", t.ArrayType(True, VARIANT)),
        t.DataField(1, "m", t.MapType(True, t.string_type(False), VARIANT)),
        t.DataField(2, "s", t.RowType(True, (t.DataField(3, "v", VARIANT),))),
    ]
    (found,) = read_rows(PARQUET, IO, str(tmp_path / "f.parquet"), None, fields, ["l", "m", "s"])
    five = {"value": bytes([12, 5]), "metadata": bytes([1, 0, 0])}
    assert found.to_pylist() == [{"l": [five, None], "m": [("k", five)], "s": {"v": five}}]


def paths(*texts: str) -> t.VariantType:
    """A variant of which some paths are wanted."""
    found = [parse_path(text) for text in texts]
    assert None not in found
    return t.VariantType(True, tuple(p for p in found if p is not None))


@pytest.mark.parametrize(
    ("wanted", "columns"),
    [
        (["$.a"], {"a.value", "a.typed_value"}),
        (["$.b.c"], {"b.typed_value.c.value", "b.typed_value.c.typed_value"}),
        (["$.b.z"], {"b.value"}),
        (["$.z"], {"value"}),
        (["$[0]"], {"value"}),
        (
            ["$.b.d[1]"],
            {"b.typed_value.d.typed_value.list.element.value", "b.typed_value.d.typed_value.list.element.typed_value"},
        ),
        (["$.b.d.x"], {"b.typed_value.d.value"}),
        (["$.a", "$.z"], {"a.value", "a.typed_value", "value"}),
        (["$.a.x"], {"a.value"}),
    ],
)
def test_only_the_columns_of_wanted_paths_are_read(wanted: list[str], columns: set[str], tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    options = given(v=row(a="BIGINT", b=row(c="STRING", d={"type": "ARRAY", "element": "INT"})))
    documents = [*DOCUMENTS, '{"z": 1, "b": {"z": 2, "d": 3}, "a": {"x": 1}}', "[7, 8]"]
    file = written(path, options, rows(documents))
    kind = paths(*wanted)
    chosen = leaves_of(file.schema_arrow, [t.DataField(1, "v", kind)])
    names = {leaves(file)[i].removeprefix("v.").removeprefix("typed_value.") for i in chosen}
    assert names == {"metadata", *columns}
    assert kind.paths is not None
    whole, parts = expected(documents), read(path, kind)
    for one in kind.paths:
        assert [at(v, one) for v in parts] == [at(v, one) for v in whole]
    assert [v is None for v in parts[2:3]] == [True]


def at(value: Any, path: Sequence[str | int]) -> Any:
    """What is at a path; None if nothing is."""
    for step in path:
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def test_whole_variants_are_read_where_files_hold_them_whole(tmp_path: Path) -> None:
    written(tmp_path / "f.parquet", {}, rows(DOCUMENTS))
    assert read(tmp_path / "f.parquet", paths("$.a")) == expected(DOCUMENTS)


@pytest.mark.parametrize(
    "text",
    [
        "no json",
        "3",
        '"INT"',
        '{"type": "ROW"}',
        '{"type": "ROW", "fields": [{"name": "v"}]}',
        '{"type": "ROW", "fields": 3}',
    ],
)
def test_a_shape_that_is_none_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidOptionError, match="of option 'variant"):
        written(tmp_path / "f.parquet", {"variant.shreddingSchema": text}, rows(DOCUMENTS))


@pytest.mark.parametrize("kind", ["TIME(3)", {"type": "MAP", "key": "STRING", "value": "INT"}, row()])
def test_a_shape_of_types_that_variants_have_not_is_refused(kind: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidOptionError, match="cannot be shredded as"):
        written(tmp_path / "f.parquet", given(v=row(a=kind)), rows(DOCUMENTS))


def test_a_malformed_variant_is_refused_when_it_is_taken_apart(tmp_path: Path) -> None:
    broken = pa.array([{"value": bytes([2, 9]), "metadata": bytes([1, 0, 0])}], arrow_type(VARIANT))
    batch = pa.RecordBatch.from_arrays([pa.array([1], pa.int32()), broken], schema=arrow_schema(FIELDS))
    for options in (INFER, given(v=row(a="INT"))):
        with pytest.raises(InvalidInputError, match="a variant is malformed"):
            written(tmp_path / "f.parquet", options, batch)


@pytest.mark.parametrize(
    ("metadata", "value"),
    [
        (b"\1", b""),
        (bytes([1, 0, 0]), bytes([2, 9])),
        (bytes([0xC1, 255, 255, 255, 255]), b"\0"),
        (bytes([1, 0, 0]), bytes([0x42, 255, 255, 255, 255])),
        (bytes([1, 1, 0, 9]), b"\0"),
    ],
)
def test_a_file_of_malformed_variants_is_told_as_corrupt(metadata: bytes, value: bytes, tmp_path: Path) -> None:
    kind = pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", pa.struct([("a", GROUP)]))])
    one = {"metadata": metadata, "value": value, "typed_value": {"a": {"typed_value": 1}}}
    pq.write_table(pa.table({"v": pa.array([one], kind)}), tmp_path / "f.parquet")
    with pytest.raises(CorruptFileError, match=r"f\.parquet"):
        read(tmp_path / "f.parquet")


@pytest.mark.parametrize("retained", [True, False])
def test_later_files_of_a_writer_start_from_what_earlier_ones_had(retained: bool, tmp_path: Path) -> None:
    assert shape_history(INFER) is None
    assert shape_history({**INFER, "variant.shredding.inferenceMode": "adaptive", **given(v="INT")}) is None
    strict = {
        "variant.shredding.adaptive.retentionRatio": "0.9",
        "variant.shredding.adaptive.maxInferBufferRow": "1",
    }
    options = {**INFER, "variant.shredding.inferenceMode": "adaptive", **({} if retained else strict)}
    history = shape_history(options)
    for i, documents in enumerate((['{"a": 1}', '{"b": 1}'], ['{"b": 1}'])):
        writer = PARQUET.open_writer(IO, str(tmp_path / f"{i}"), FIELDS, options, history=history)
        writer.write(rows(documents))
        writer.close()
        assert ("v.typed_value.a.typed_value" in leaves(pq.ParquetFile(tmp_path / f"{i}"))) is (retained or i == 0)
