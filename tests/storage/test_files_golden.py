"""Data files that Java wrote: read as the golden tables say, and written again with the same physical schema."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from paimon_sql.format.avro.container import open_container
from paimon_sql.format.schema.arrow_types import arrow_schema
from paimon_sql.storage.file_formats.orc.tail import read_tail
from paimon_sql.storage.file_formats.registry import file_format
from paimon_sql.storage.file_io import LocalFileIO
from tests.storage.file_reads import read_rows
from tests.storage.live_files import LiveFile, expected_rows, live_files, rendered

IO = LocalFileIO()
TYPES = [
    "types_primitive_parquet",
    "types_primitive_orc",
    "types_primitive_avro",
    "types_nested_parquet",
    "types_nested_orc",
    "types_decimal_parquet",
    "types_decimal_orc",
    "types_timestamp_precisions_parquet",
    "types_timestamp_precisions_orc",
    "compression_parquet",
    "compression_avro",
]
KEYED = ["pk_parquet_levels", "pk_orc_levels", "pk_avro_levels", "thin_mode_parquet"]


def read(file: LiveFile) -> pa.Table:
    names = [f.name for f in file.fields]
    size = file.path.stat().st_size
    batches = read_rows(file_format(file.format), IO, str(file.path), size, file.fields, names)
    return pa.Table.from_batches(batches, arrow_schema(file.fields))


@pytest.mark.parametrize("case", TYPES)
def test_java_files_hold_the_rows_that_they_should(golden: Path, case: str) -> None:
    table = pa.concat_tables(read(file) for file in live_files(golden, case))
    assert rendered(table) == expected_rows(golden, case)


@pytest.mark.parametrize("case", KEYED)
def test_java_key_value_files_are_read_whole(golden: Path, case: str) -> None:
    for file in live_files(golden, case):
        table = read(file)
        assert table.num_rows == file.rows
        for key in (f.name for f in file.fields if f.name.startswith("_KEY_")):
            assert table[key].equals(table[key.removeprefix("_KEY_")])
        assert set(table["_VALUE_KIND"].to_pylist()) <= {0, 1, 2, 3}


@pytest.mark.parametrize("case", [*TYPES, *KEYED, "types_variant", "schema_evolution_nested"])
def test_files_are_written_with_the_physical_schema_of_java(golden: Path, case: str, tmp_path: Path) -> None:
    for number, file in enumerate(live_files(golden, case)):
        path = tmp_path / f"{number}.{file.format}"
        writer = file_format(file.format).open_writer(IO, str(path), file.fields, dict(file.written.options))
        for batch in read(file).to_batches():
            writer.write(batch)
        writer.close()
        assert _physical(path) == _physical(file.path)


def _physical(path: Path) -> object:
    if path.suffix == ".parquet":
        text = str(pq.ParquetFile(path).schema).split("\n", 1)[1]
        # Arrow cannot name the root, nor mark a map's entries with the obsolete MAP_KEY_VALUE.
        return re.sub(r"group (field_id=-1) \w+ {", r"group \1 root {", text, count=1).replace(
            " key_value (Map)", " key_value"
        )
    if path.suffix == ".orc":
        return read_tail(pa.OSFile(str(path))).types
    return json.loads(open_container(path.read_bytes(), str(path)).schema_text)


def test_a_variant_is_its_two_parts(golden: Path) -> None:
    table = pa.concat_tables(read(file) for file in live_files(golden, "types_variant"))
    known = [row["v"] for row in table.to_pylist() if row["v"] is not None]
    assert known
    # The metadata of every variant starts with version 1 (spec: Parquet, "Variant Binary Encoding").
    assert all(v["metadata"][0] & 0x0F == 1 and v["value"] for v in known)
