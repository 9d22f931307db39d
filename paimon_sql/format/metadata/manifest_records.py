"""Record files under ``manifest/`` as flat Arrow tables: one row per record, one column per leaf of the record.

Newer versions write only Avro; a table with the option ``manifest.format`` may have ORC or Parquet files of older ones.
Fields that an older file lacks are null; fields of newer versions are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CorruptFileError
from paimon_sql.format.avro import container as avro
from paimon_sql.format.avro.columns import MIN_BLOCKS, IrregularError, decode_columns
from paimon_sql.format.avro.schemas import AvroField, AvroMembers, AvroType, without_logical_types
from paimon_sql.format.bytes.bounded import MAX_BLOCK_BYTES, check_count, decoding, expansion_limit, load_json
from paimon_sql.format.layout.paths import check_file_names, check_straight_paths

_GROUP_BYTES = 64 << 20
"""Bytes of blocks that are decoded at a time; decoding needs several times as much memory."""
_MAX_FIELDS = 10_000
"""Max fields of a record, including those of nested records."""
_RECORDS_PER_BYTE = 8
"""Max records per byte of an ORC or Parquet file: each record holds a different name, so more are not plausible."""
_VERSION = "_VERSION"
_NAMESPACE = "org.apache.paimon.avro.generated"


def required(name: str, kind: AvroType) -> AvroField:
    """A non-null field of an Avro record."""
    return {"name": name, "type": kind}


def optional(name: str, kind: AvroType) -> AvroField:
    """A nullable field of an Avro record."""
    return {"name": name, "type": ["null", kind], "default": None}


def required_fields(prefix: str = "", /, **kinds: AvroType) -> dict[str, AvroField]:
    """Non-null fields by column, each named like its column, below the path ``prefix``."""
    return {column: required(f"{prefix}_{column.upper()}", kind) for column, kind in kinds.items()}


def optional_fields(prefix: str = "", /, **kinds: AvroType) -> dict[str, AvroField]:
    """Nullable fields by column, as in `required_fields`."""
    return {column: optional(f"{prefix}_{column.upper()}", kind) for column, kind in kinds.items()}


def stats_fields(column: str, path: str) -> dict[str, AvroField]:
    """The fields of a `SimpleStats`, whose columns begin with ``column``, in the record at a path."""
    return {
        f"{column}_min": required(f"{path}._MIN_VALUES", "bytes"),
        f"{column}_max": required(f"{path}._MAX_VALUES", "bytes"),
        f"{column}_null_counts": optional(f"{path}._NULL_COUNTS", array_of(["null", "long"])),
    }


def array_of(items: AvroType) -> AvroMembers:
    """An Avro array type."""
    return {"type": "array", "items": items}


def nested_record(path: str, *fields: AvroField) -> AvroMembers:
    """An Avro record inside of a record, named by the path of its field."""
    return {"type": "record", "name": f"record_{path}", "fields": list(fields)}


@dataclass(frozen=True, eq=False)
class RecordLayout:
    """Layout of one kind of record file.

    Args:
        what: the kind of file, with its article, for error messages.
        version: the format identifier of every record.
        fields: for each column its field in the record; a dotted name is the path of a field of nested records.
        file_names: the columns with names of files in the table's directories, and what each names. A column is a
            string, a list of strings, or a list of records, whose string field follows a dot.
        external_paths: the columns with paths of files elsewhere, and what each names.
        counts: the columns whose numbers are not negative.
        tinyints: the columns whose numbers take one byte in memory.
    """

    what: str
    version: int
    fields: Mapping[str, AvroField]
    file_names: Mapping[str, str]
    external_paths: Mapping[str, str] = field(default_factory=dict)
    counts: tuple[str, ...] = ()
    tinyints: tuple[str, ...] = ()

    @cached_property
    def schema(self) -> pa.Schema:
        """The flat columns; those that are not nullable are required."""
        kinds = {
            name: pa.int8() if name in self.tinyints else _arrow_type(f["type"]) for name, f in self.fields.items()
        }
        return pa.schema([pa.field(name, kind, "default" in self.fields[name]) for name, kind in kinds.items()])

    @cached_property
    def paths(self) -> dict[str, str]:
        """For each column the dotted path of its field in the record."""
        return {column: f["name"] for column, f in self.fields.items()}

    @cached_property
    def avro_schema(self) -> str:
        """The Avro schema of written files, as JSON: a format identifier, then the fields."""
        members = _members([required(_VERSION, "int"), *self.fields.values()], "")
        body = {"type": "record", "name": "record", "namespace": _NAMESPACE, "fields": members}
        return json.dumps(body, separators=(",", ":"))

    def read(self, data: bytes, path: str) -> pa.Table:
        """Decode the records of a file in Avro, ORC or Parquet.

        Raises:
            CorruptFileError: the bytes are none of these formats, are damaged, lack a field of every version, or
                expand to more than a limit allows.
            UnsafePathError: a record names a file outside of its directory.
        """
        if data.startswith(avro.MAGIC):
            table = self._from_avro(data, path)
        else:
            table = self._from_columns(data, path)
        self._check(table, path)
        self.check_names(table, path)
        return table.drop_columns([_VERSION])

    def check_names(self, table: pa.Table, path: str) -> None:
        """Check that all records name files inside of their directories.

        Args:
            table: records of this layout.
            path: their file, for error messages.

        Raises:
            UnsafePathError: a record names a file outside of its directory.
        """
        for column, what in self.file_names.items():
            check_file_names(_strings(table, column), what, path)
        for column, what in self.external_paths.items():
            check_straight_paths(table[column], what, path)

    def write(self, rows: Iterable[Mapping[str, object]], compression: str) -> bytes:
        """Encode records, mappings from column to value, as an Avro file."""
        versioned = ({_VERSION: self.version, **row} for row in rows)
        return avro.write_container(
            self.avro_schema, versioned, compression, coded_by=_flattened(self, self.avro_schema)
        )

    def _with_version(self) -> pa.Schema:
        return self.schema.insert(0, pa.field(_VERSION, pa.int32(), False))

    def _from_avro(self, data: bytes, path: str) -> pa.Table:
        container = avro.open_container(data, path)
        schema = self._with_version()
        with decoding(self.what, path):
            coded_by = _flattened(self, container.schema_text)
            blocks = container.blocks(MAX_BLOCK_BYTES, expansion_limit(len(data)))
            tables = [_decode(container, group, coded_by, schema) for group in _groups(blocks)]
        return pa.concat_tables(tables) if tables else schema.empty_table()

    def _from_columns(self, data: bytes, path: str) -> pa.Table:
        try:
            with decoding(self.what, path):
                nested = _read_columns(data)
                schema = self._with_version()
                columns = [_leaf(nested, self.paths.get(f.name, f.name), f.type) for f in schema]
                return pa.Table.from_arrays(columns, schema=schema)
        except OSError as error:  # of Arrow's decoders; the bytes are all here
            raise CorruptFileError(f"not {self.what}: {error}", path=path) from error

    def _check(self, table: pa.Table, path: str) -> None:
        for f in table.schema:
            if not f.nullable and table[f.name].null_count:
                raise CorruptFileError(f"a record lacks {self.paths.get(f.name, f.name)}", path=path)
        for column in self.counts:
            if len(table) and pc.min(table[column]).as_py() < 0:
                raise CorruptFileError(f"a record has a negative {self.paths.get(column, column)}", path=path)
        versions = pc.unique(table[_VERSION]).to_pylist()
        if any(v != self.version for v in versions):
            raise CorruptFileError(
                f"is {self.what} of format {versions}, but only {self.version} can be read", path=path
            )


_ARROW_TYPES = {"int": pa.int32(), "long": pa.int64(), "string": pa.string(), "bytes": pa.binary()}


def _arrow_type(kind: AvroType) -> pa.DataType:
    if isinstance(kind, str):
        return _ARROW_TYPES[kind]
    if isinstance(kind, list):
        return _arrow_type(kind[1])  # after null
    if kind["type"] == "array":
        return pa.list_(_arrow_type(kind["items"]))
    if kind["type"] == "record":
        return pa.struct([(f["name"], _arrow_type(f["type"])) for f in kind["fields"]])
    return _arrow_type(kind["type"])


def _members(fields: Iterable[AvroField], prefix: str) -> list[AvroField]:
    """The fields of a record; dotted names of one beginning are those of a nested record."""
    members: list[AvroField] = []
    for head, group in groupby(fields, lambda f: f["name"].partition(".")[0]):
        found = list(group)
        if found[0]["name"] == head:
            members += found
        else:
            below: list[AvroField] = [{**f, "name": f["name"].partition(".")[2]} for f in found]
            members.append(required(head, nested_record(prefix + head, *_members(below, f"{prefix}{head}_"))))
    return members


def _groups(blocks: Iterator[tuple[int, bytes]]) -> Iterator[list[tuple[int, bytes]]]:
    group: list[tuple[int, bytes]] = []
    size = 0
    for count, block in blocks:
        group.append((count, block))
        size += len(block)
        if size >= _GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _decode(
    container: avro.AvroContainer, blocks: list[tuple[int, bytes]], coded_by: str, schema: pa.Schema
) -> pa.Table:
    """Decode the records of blocks: by columns if that is faster, else by rows."""
    if len(blocks) >= MIN_BLOCKS:
        with suppress(IrregularError):
            return decode_columns(blocks, load_json(coded_by)["fields"], schema)
    kind = pa.struct([f.with_nullable(True) for f in schema])
    parts = [pa.array(records, kind) for records in container.batches(blocks, coded_by)]
    rows = pa.concat_arrays(parts) if parts else pa.array([], kind)
    return pa.Table.from_arrays(rows.flatten(), schema=schema)


def _strings(table: pa.Table, column: str) -> pa.ChunkedArray:
    """The strings of a column of `RecordLayout.file_names`."""
    name, _, member = column.partition(".")
    values = table[name]
    if pa.types.is_list(values.type):
        values = pc.list_flatten(values)
    return pc.struct_field(values, member) if member else values


def _read_columns(data: bytes) -> pa.Table:
    source = pa.BufferReader(data)
    max_records = len(data) * _RECORDS_PER_BYTE
    # Few tables have such files; their readers bring the file systems of object stores, and TLS.
    if data.startswith(b"ORC"):
        from pyarrow import orc

        records = orc.ORCFile(source)
        check_count(records.nrows, max_records, "records")
        return records.read()
    if data.startswith(b"PAR1"):
        from pyarrow import parquet

        records = parquet.ParquetFile(source)
        check_count(records.metadata.num_rows, max_records, "records")
        return records.read()
    raise ValueError("it is neither Avro, ORC nor Parquet")


def _leaf(table: pa.Table, path: str, kind: pa.DataType) -> pa.Array:
    """The field at a dotted path, cast to ``kind``; all null if the table has no such field."""
    head, *rest = path.split(".")
    if head not in table.column_names:
        return pa.nulls(len(table), kind)
    found = table[head].combine_chunks()
    for name in rest:
        if found.type.get_field_index(name) < 0:
            return pa.nulls(len(table), kind)
        found = pc.struct_field(found, name)
    if pa.types.is_timestamp(found.type):
        found = found.cast(pa.timestamp("ms"), safe=False)
    return found.cast(kind)


@lru_cache(maxsize=64)
def _flattened(layout: RecordLayout, schema_text: str) -> str:
    """Flatten a schema: an equivalent one of the same encoding, with fields named as columns instead of nested records.

    Logical types are dropped, so that timestamps decode to numbers.
    """
    names = {path: column for column, path in layout.paths.items()}
    known: dict[str, AvroType] = {}
    fields: list[AvroField] = []

    def flatten(record: AvroMembers, prefix: str) -> None:
        known[record["name"]] = record
        for f in record["fields"]:
            path, kind = prefix + f["name"], f["type"]
            kind = known.get(kind, kind) if isinstance(kind, str) else kind
            if isinstance(kind, dict) and kind.get("type") == "record":
                flatten(kind, path + ".")
            else:
                check_count(len(fields), _MAX_FIELDS, "fields of a record")
                fields.append({"name": names.get(path, path.replace(".", "__")), "type": without_logical_types(kind)})

    flatten(load_json(schema_text), "")
    return json.dumps({"type": "record", "name": "flat", "fields": fields})
