"""``t$files``: one row per data file of the snapshot."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.arrow import arrow_schema
from paimon_sql.format.data_file import FileSource
from paimon_sql.format.options.bucket import BUCKET
from paimon_sql.format.paths import POSTPONE_BUCKET, format_of
from paimon_sql.format.row_decode import decode_columns
from paimon_sql.format.schema import TableSchema
from paimon_sql.format.special_fields import ROW_ID, SEQUENCE_NUMBER
from paimon_sql.format.types import ArrayType, BigIntType, DataField, IntType, TimestampType, string_type
from paimon_sql.storage.file_paths import data_file_paths
from paimon_sql.storage.predicates import Predicate
from paimon_sql.storage.scan.live_files import live_files
from paimon_sql.storage.table import Table
from paimon_sql.storage.travel import version_to_read
from paimon_sql.system_tables.base import SystemTable, column
from paimon_sql.system_tables.clock import wall_clocks
from paimon_sql.system_tables.texts import evolved, key_texts, one_chunk, pair_texts, partition_labels, printed

_SEPARATOR = "\x00"
Rows = npt.NDArray[np.int64]


class Files(SystemTable):
    """The live data files of the snapshot that the read sees; statistics are shown under its schema."""

    name = "files"
    summary = "One row per data file of the snapshot."
    columns = (
        column("partition", string_type(), "partition values, {} without partitions"),
        column("bucket", IntType(False), "bucket number"),
        column("file_path", string_type(False), "full path"),
        column("file_format", string_type(False), "parquet, orc, avro, ..."),
        column("schema_id", BigIntType(False), "schema the file was written with"),
        column("level", IntType(False), "LSM level; 0 for fresh and for append files"),
        column("record_count", BigIntType(False), "records in the file, deletes included"),
        column("file_size_in_bytes", BigIntType(False), "size"),
        column("min_key", string_type(), "smallest key; null for append tables"),
        column("max_key", string_type(), "largest key; null for append tables"),
        column("null_value_counts", string_type(False), "nulls per column"),
        column("min_value_stats", string_type(False), "smallest value per column"),
        column("max_value_stats", string_type(False), "largest value per column"),
        column("min_sequence_number", BigIntType(), "smallest sequence number in the file"),
        column("max_sequence_number", BigIntType(), "largest sequence number in the file"),
        column("creation_time", TimestampType(True, 3), "when the file was made"),
        column("deleteRowCount", BigIntType(), "delete records in the file"),
        column("file_source", string_type(), "APPEND or COMPACT"),
        column("first_row_id", BigIntType(), "row id of the first row, with row tracking"),
        column("write_cols", ArrayType(True, string_type()), "columns written, when not all of them"),
    )

    def rows(self, table: Table, predicate: Predicate | None = None) -> pa.Table:
        seen, entries = files_seen(table)
        low, high, nulls = statistics_texts(seen, entries)
        columns = {
            "partition": partition_labels(seen.schema, entries["partition"]),
            "bucket": entries["bucket"],
            "file_path": data_file_paths(seen, entries),
            "file_format": formats(entries["file_name"]),
            "schema_id": entries["schema_id"],
            "level": entries["level"],
            "record_count": entries["row_count"],
            "file_size_in_bytes": entries["file_size"],
            "min_key": keys(seen, entries, "min_key"),
            "max_key": keys(seen, entries, "max_key"),
            "null_value_counts": nulls,
            "min_value_stats": low,
            "max_value_stats": high,
            "min_sequence_number": entries["min_sequence_number"],
            "max_sequence_number": entries["max_sequence_number"],
            "creation_time": wall_clocks(entries["creation_time_millis"]),
            "deleteRowCount": entries["delete_row_count"],
            "file_source": _sources(entries["file_source"]),
            "first_row_id": entries["first_row_id"],
            "write_cols": entries["write_cols"],
        }
        schema = arrow_schema(self.columns)
        return pa.Table.from_arrays([one_chunk(columns[f.name]).cast(f.type) for f in schema], schema=schema)


def files_seen(table: Table) -> tuple[Table, pa.Table]:
    """The table as the read sees it, and the entries of its data files."""
    version = version_to_read(table)
    seen = version.of(table)
    return seen, in_real_buckets(seen, live_files(seen, version.snapshot).entries).combine_chunks()


def in_real_buckets(table: Table, entries: pa.Table) -> pa.Table:
    """The files that reads see: those of a table with postponed buckets only once compaction gave them buckets."""
    if not table.schema.primary_keys or table.options.get(BUCKET) != POSTPONE_BUCKET:
        return entries
    return entries.filter(pc.greater_equal(entries["bucket"], 0))


def formats(names: pa.ChunkedArray) -> pa.Array:
    """The file formats that names of data files tell, worked out once for each ending."""
    endings = pc.extract_regex(one_chunk(names), r"(?P<ending>\.[^./]+(?:\.[^./]+)?)$")
    encoded = pc.struct_field(endings, "ending").dictionary_encode()
    return pa.array([format_of(f"x{e}") for e in encoded.dictionary.to_pylist()], pa.string()).take(encoded.indices)


def keys(table: Table, entries: pa.Table, name: str) -> pa.Array:
    """The texts of the smallest or largest keys; null where a file has none.

    Args:
        table: the table.
        entries: the files.
        name: ``min_key`` or ``max_key``.
    """

    def texts(schema: TableSchema, group: pa.Table) -> pa.Array:
        if not schema.primary_keys:
            return pa.nulls(len(group), pa.string())
        return key_texts(schema.key_fields, group[name])

    made = [(rows, texts(table.schemas.get(i), group)) for i, _, rows, group in _groups(entries, by_columns=False)]
    return _put_together(made, len(entries))


def statistics_texts(table: Table, entries: pa.Table) -> tuple[pa.Array, pa.Array, pa.Array]:
    """The texts of smallest values, of largest values and of counts of nulls.

    Columns go by their names of today: renamed ones keep their statistics, retyped ones have them cast, and in a file
    that was written without a column all its values are null.
    """
    low: list[tuple[Rows, pa.Array]] = []
    high: list[tuple[Rows, pa.Array]] = []
    nulls: list[tuple[Rows, pa.Array]] = []
    for schema_id, stored, rows, group in _groups(entries, by_columns=True):
        texts = _group_texts(table, table.schemas.get(schema_id), stored, group)
        for made, text in zip((low, high, nulls), texts, strict=True):
            made.append((rows, text))
    size = len(entries)
    return _put_together(low, size), _put_together(high, size), _put_together(nulls, size)


def _group_texts(
    table: Table, written: TableSchema, stored: tuple[Sequence[str] | None, Sequence[str] | None], group: pa.Table
) -> tuple[pa.Array, pa.Array, pa.Array]:
    with_stats, written_columns = stored
    by_name = {f.name: f for f in (*written.fields, ROW_ID, SEQUENCE_NUMBER)}
    held = written.names if written_columns is None else written_columns
    counted = held if with_stats is None else with_stats
    fields = [by_name[name] for name in counted if name in by_name]
    found = {}
    if fields and len(fields) == len(counted):
        types = [f.type for f in fields]
        bounds = [decode_columns(types, group[f"value_stats_{end}"], overflow_to_null=True) for end in ("min", "max")]
        counts = one_chunk(group["value_stats_null_counts"])
        for i, (f, least, greatest) in enumerate(zip(fields, *bounds, strict=True)):
            found[f.id] = (f, least, greatest, _element(counts, i))
    ids = {by_name[name].id for name in held if name in by_name}
    names = table.schema.names
    low, high, nulls = [], [], []
    unknown = pa.nulls(len(group), pa.string())
    for column_ in table.schema.fields:
        low.append(unknown)
        high.append(unknown)
        if column_.id not in ids:
            nulls.append(one_chunk(group["row_count"]).cast(pa.string()))
        elif column_.id in found:
            old, least, greatest, count = found[column_.id]
            low[-1], high[-1] = (_bound_texts(b, old, column_) for b in (least, greatest))
            nulls.append(count.cast(pa.string()))
        else:
            nulls.append(unknown)
    made = [pair_texts(names, columns, len(group)) for columns in (low, high, nulls)]
    return made[0], made[1], made[2]


def _bound_texts(bounds: pa.Array, written: DataField, shown: DataField) -> pa.Array:
    if bounds.null_count == len(bounds):
        return pa.nulls(len(bounds), pa.string())
    return printed(evolved(bounds, written.type, shown.type), shown.type)


def _element(lists: pa.Array, index: int) -> pa.Array:
    """One element of each list; null where the list is null or too short."""
    there = pc.fill_null(pc.greater(pc.list_value_length(lists), index), False).to_numpy(zero_copy_only=False)
    places = np.where(there, lists.offsets.to_numpy()[:-1] + index, 0)
    return lists.values.take(pa.array(places, mask=~there))


Group = tuple[int, tuple[tuple[str, ...] | None, tuple[str, ...] | None], Rows, pa.Table]


def _groups(entries: pa.Table, *, by_columns: bool) -> list[Group]:
    """The files by schema and, if wished, by the columns of their statistics and their own: the rows of each group."""
    names = ["value_stats_cols", "write_cols"] if by_columns else []
    keys_ = {"schema": one_chunk(entries["schema_id"])}
    keys_ |= {name: _joined(one_chunk(entries[name])) for name in names}
    numbered = pa.table({**keys_, "row": pa.array(np.arange(len(entries)))})
    grouped = numbered.group_by(list(keys_)).aggregate([("row", "list")])
    found: list[Group] = []
    for row in grouped.to_pylist():
        rows = np.asarray(row["row_list"], dtype=np.int64)
        stored = (_split(row.get("value_stats_cols")), _split(row.get("write_cols")))
        found.append((row["schema"], stored, rows, entries.take(pa.array(rows))))
    return found


def _joined(lists: pa.Array) -> pa.Array:
    # An end after each name tells a list of no names from a list of one empty name.
    ended = pc.binary_join(lists, _SEPARATOR)
    filled = pc.greater(pc.list_value_length(lists), 0)
    return pc.if_else(filled, pc.binary_join_element_wise(ended, "", _SEPARATOR), ended)


def _split(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(text.split(_SEPARATOR)[:-1])


def _put_together(parts: Sequence[tuple[Rows, pa.Array]], size: int) -> pa.Array:
    if not parts:
        return pa.nulls(size, pa.string())
    order = np.argsort(np.concatenate([rows for rows, _ in parts]), kind="stable")
    return pa.concat_arrays([one_chunk(texts) for _, texts in parts]).take(pa.array(order))


def _sources(codes: pa.ChunkedArray) -> pa.Array:
    choose: Callable[..., pa.Array] = pc.if_else
    compact = pc.equal(one_chunk(codes), int(FileSource.COMPACT))
    return choose(compact, FileSource.COMPACT.name, FileSource.APPEND.name)
