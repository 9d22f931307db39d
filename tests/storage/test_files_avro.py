"""What is particular to Avro: codecs, unions, maps with keys that are no text, schemas of other writers."""

from __future__ import annotations

import datetime as dt
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from paimon_sql.errors import ConstraintViolationError, CorruptFileError, InvalidOptionError, UnsupportedError
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.storage.file_formats.avro.schema import avro_schema
from paimon_sql.storage.file_formats.registry import file_format
from paimon_sql.storage.file_io import LocalFileIO
from tests.storage.file_reads import read_rows

IO = LocalFileIO()
AVRO = file_format("avro")
FIELDS = [t.DataField(0, "k", t.IntType(False)), t.DataField(1, "m", t.MapType(True, t.IntType(), t.string_type()))]


def write(path: Path, options: dict[str, str]) -> pa.RecordBatch:
    schema = arrow_schema(FIELDS)
    maps = pa.array([[(1, "a"), (2, None)], None, []] * 2000, schema.field(1).type)
    batch = pa.RecordBatch.from_arrays([pa.array(range(6000), pa.int32()), maps], schema=schema)
    writer = AVRO.open_writer(IO, str(path), FIELDS, options)
    writer.write(batch)
    assert writer.bytes_written > 0
    assert writer.close() == path.stat().st_size
    return batch


@pytest.mark.parametrize("codec", ["zstd", "snappy", "deflate", "none", "bzip2", "xz"])
def test_every_codec_reads_back(tmp_path: Path, codec: str) -> None:
    batch = write(tmp_path / "f.avro", {"file.compression": codec})
    (read,) = read_rows(AVRO, IO, str(tmp_path / "f.avro"), None, FIELDS, ["k", "m"])
    assert read.equals(batch)


def test_other_readers_read_it(tmp_path: Path) -> None:
    write(tmp_path / "f.avro", {})
    with (tmp_path / "f.avro").open("rb") as stream:
        first = next(iter(fastavro.reader(stream)))
    assert first == {"k": 0, "m": [{"key": 1, "value": "a"}, {"key": 2, "value": None}]}


def test_an_unknown_codec_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidOptionError, match="Unsupported compression 'lz4' of Avro files"):
        write(tmp_path / "f.avro", {"file.compression": "lz4"})
    assert not (tmp_path / "f.avro").exists()


def test_nested_records_have_names_of_their_own() -> None:
    inner = t.RowType(True, (t.DataField(2, "x", t.IntType(False)),))
    fields = [t.DataField(0, "a", inner), t.DataField(1, "b", t.MapType(True, t.IntType(False), inner))]
    schema = json.loads(avro_schema(fields))
    assert (schema["namespace"], schema["name"]) == ("org.apache.paimon.avro.generated", "record")
    a, b = schema["fields"]
    assert (a["type"][0], a["type"][1]["name"], a["default"]) == ("null", "record_a", None)
    assert (b["type"][1]["logicalType"], b["type"][1]["items"]["name"]) == ("map", "record_b")
    assert b["type"][1]["items"]["fields"][1]["type"][1]["name"] == "record_b_value"
    fastavro.parse_schema(schema)


def test_what_avro_cannot_hold_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"TIMESTAMP\(9\)"):
        AVRO.check_fields([t.DataField(0, "c", t.TimestampType(True, 9))])
    with pytest.raises(UnsupportedError, match="VARIANT"):
        AVRO.check_fields([t.DataField(0, "c", t.VariantType())])


def test_a_null_in_a_column_that_takes_none_is_refused(tmp_path: Path) -> None:
    writer = AVRO.open_writer(IO, str(tmp_path / "f.avro"), FIELDS, {})
    with pytest.raises(ConstraintViolationError, match="'k' is NOT NULL"):
        writer.write(pa.record_batch({"k": pa.array([None], pa.int32()), "m": pa.nulls(1)}))


def foreign(path: Path, schema: dict[str, Any], records: list[dict[str, Any]]) -> str:
    stream = io.BytesIO()
    fastavro.writer(stream, schema, records, codec="deflate")
    path.write_bytes(stream.getvalue())
    return str(path)


def test_schemas_of_other_writers_are_read(tmp_path: Path) -> None:
    schema = {
        "type": "record",
        "name": "r",
        "fields": [
            {"name": "t", "type": [{"type": "long", "logicalType": "timestamp-millis"}, "null"]},
            {"name": "d", "type": {"type": "fixed", "name": "f", "size": 3, "logicalType": "decimal", "precision": 5}},
            {"name": "i", "type": "int"},
        ],
    }
    at = dt.datetime(1960, 1, 1, tzinfo=dt.timezone.utc)
    path = foreign(
        tmp_path / "f.avro", schema, [{"t": at, "d": Decimal(-7), "i": 1}, {"t": None, "d": Decimal(5), "i": 2}]
    )
    fields = [
        t.DataField(0, "t", t.LocalZonedTimestampType()),
        t.DataField(1, "d", t.DecimalType(True, 5, 0)),
        t.DataField(2, "i", t.BigIntType()),
    ]
    (read,) = read_rows(AVRO, IO, path, None, fields, ["t", "d", "i"])
    assert [column.to_pylist() for column in read.columns] == [[at, None], [Decimal(-7), Decimal(5)], [1, 2]]


def test_a_union_of_more_than_one_type_is_refused(tmp_path: Path) -> None:
    schema = {"type": "record", "name": "r", "fields": [{"name": "u", "type": ["null", "int", "string"]}]}
    path = foreign(tmp_path / "f.avro", schema, [{"u": 1}])
    with pytest.raises(UnsupportedError, match="union of 2 types"):
        list(read_rows(AVRO, IO, path, None, [t.DataField(0, "u", t.IntType())], ["u"]))


def test_a_value_that_does_not_fit_names_its_column(tmp_path: Path) -> None:
    schema = {"type": "record", "name": "r", "fields": [{"name": "i", "type": "long"}]}
    path = foreign(tmp_path / "f.avro", schema, [{"i": 2**40}])
    with pytest.raises(CorruptFileError, match=r"f\.avro: column 'i' cannot be read as INT"):
        list(read_rows(AVRO, IO, path, None, [t.DataField(0, "i", t.IntType())], ["i"]))


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    write(tmp_path / "f.avro", {"file.compression": "none"})
    data = bytearray((tmp_path / "f.avro").read_bytes())
    for damage in (b"", b"Obj\x01", bytes(data[:-200])):
        (tmp_path / "f.avro").write_bytes(damage)
        with pytest.raises(CorruptFileError, match=r"f\.avro"):
            list(read_rows(AVRO, IO, str(tmp_path / "f.avro"), None, FIELDS, ["k"]))
