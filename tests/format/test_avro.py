from __future__ import annotations

import io
import json
from pathlib import Path

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimon_sql.errors import CorruptFileError, UnsupportedError
from paimon_sql.format.avro.columns import IrregularError, decode_columns
from paimon_sql.format.avro.container import codec_name, open_container, write_container
from paimon_sql.format.avro.schemas import AvroField, AvroType

FIELDS: list[AvroField] = [
    {"name": "number", "type": "long"},
    {"name": "small", "type": "int"},
    {"name": "text", "type": "string"},
    {"name": "raw", "type": ["null", "bytes"], "default": None},
    {"name": "late", "type": ["long", "null"]},
    {"name": "names", "type": {"type": "array", "items": "string"}},
    {"name": "counts", "type": ["null", {"type": "array", "items": ["null", "long"]}], "default": None},
]
SCHEMA_TEXT = json.dumps({"type": "record", "name": "r", "fields": FIELDS})
ARROW = pa.schema(
    [
        ("counts", pa.list_(pa.int64())),
        ("number", pa.int64()),
        ("small", pa.int32()),
        ("absent", pa.string()),
        ("text", pa.string()),
        ("raw", pa.binary()),
        ("late", pa.int64()),
        ("names", pa.list_(pa.string())),
    ]
)
LONGS = st.integers(-(2**63), 2**63 - 1)
RECORDS = st.lists(
    st.fixed_dictionaries(
        {
            "number": LONGS,
            "small": st.integers(-(2**31), 2**31 - 1),
            "text": st.text(max_size=20),
            "raw": st.none() | st.binary(max_size=20),
            "late": st.none() | LONGS,
            "names": st.lists(st.text(max_size=3), max_size=3),
            "counts": st.none() | st.lists(st.none() | LONGS, max_size=3),
        }
    ),
    max_size=12,
)
CODECS = ["null", "deflate", "snappy", "zstd", "bzip2", "xz"]
EXAMPLE = [
    {"number": i, "small": -i, "text": "é" * i, "raw": None, "late": i, "names": ["a"], "counts": None}
    for i in range(300)
]


@pytest.mark.parametrize("codec", CODECS)
def test_what_is_written_is_read_again(codec: str) -> None:
    data = write_container(SCHEMA_TEXT, EXAMPLE, codec)
    assert open_container(data, "f").records() == EXAMPLE


@pytest.mark.parametrize("codec", ["null", "deflate", "bzip2", "xz"])
def test_other_avro_readers_read_what_is_written(codec: str) -> None:
    data = write_container(SCHEMA_TEXT, EXAMPLE, codec)
    assert list(fastavro.reader(io.BytesIO(data))) == EXAMPLE


def test_what_other_avro_writers_write_is_read() -> None:
    out = io.BytesIO()
    fastavro.writer(out, json.loads(SCHEMA_TEXT), EXAMPLE, codec="deflate")
    assert open_container(out.getvalue(), "f").records() == EXAMPLE


def test_every_metadata_file_of_the_golden_tables_is_read(golden: Path) -> None:
    files = [f for f in golden.glob("*/warehouse/*/*/manifest/*") if f.is_file()]
    assert len(files) > 500
    assert sum(len(open_container(f.read_bytes(), str(f)).records()) for f in files) > 1000


def test_a_file_without_records_is_read() -> None:
    assert open_container(write_container(SCHEMA_TEXT, [], "zstd"), "f").records() == []


def test_an_unknown_codec_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match="Unsupported Avro codec 'lzma2'"):
        codec_name("lzma2")
    data = write_container(SCHEMA_TEXT, [], "null").replace(b"\x08null", b"\x08lz99")
    with pytest.raises(UnsupportedError, match="f: unsupported Avro codec 'lz99'"):
        open_container(data, "f")


@pytest.mark.parametrize(
    ("damage", "defect"),
    [
        (lambda data: b"PAR1" + data[4:], "magic"),
        (lambda data: data[:50], "not an Avro file"),
        (lambda data: data[:-20], "ends inside a block"),
        (lambda data: data[:-1] + b"?", "sync marker"),
        (lambda data: b"", "not an Avro file"),
    ],
)
def test_a_damaged_file_is_refused_with_its_path(damage: object, defect: str) -> None:
    data = damage(write_container(SCHEMA_TEXT, EXAMPLE, "null"))  # type: ignore[operator]
    with pytest.raises(CorruptFileError, match=f"some/path.*{defect}"):
        open_container(data, "some/path").records()


def test_a_wrong_checksum_of_a_snappy_block_is_found() -> None:
    data = write_container(SCHEMA_TEXT, EXAMPLE[:5], "snappy")
    sync = data[-16:]
    with pytest.raises(CorruptFileError, match="checksum"):
        open_container(data[:-20] + b"????" + sync, "f").records()


@settings(max_examples=150)
@given(st.lists(RECORDS, max_size=4))
def test_columns_hold_what_the_records_hold(blocks: list[list[dict[str, object]]]) -> None:
    encoded = []
    for records in blocks:
        encoded += list(open_container(write_container(SCHEMA_TEXT, records, "null"), "f").blocks())
    records = [record for block in blocks for record in block]
    assert decode_columns(encoded, FIELDS, ARROW).to_pylist() == pa.Table.from_pylist(records, ARROW).to_pylist()


@settings(max_examples=100)
@given(RECORDS.filter(len), st.data())
def test_damaged_blocks_are_never_read_as_columns_unnoticed(
    records: list[dict[str, object]], data: st.DataObject
) -> None:
    ((count, block),) = open_container(write_container(SCHEMA_TEXT, records, "null"), "f").blocks()
    cut = data.draw(st.integers(0, len(block) - 1))
    with pytest.raises((IrregularError, pa.ArrowInvalid)):
        decode_columns([(count, block[:cut])], FIELDS, ARROW)


@pytest.mark.parametrize("kind", ["double", ["null", "long", "string"], {"type": "map", "values": "long"}])
def test_other_types_are_left_to_the_record_reader(kind: AvroType) -> None:
    with pytest.raises(IrregularError):
        decode_columns([], [{"name": "number", "type": kind}], ARROW)
