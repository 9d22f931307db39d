"""Rules about data files: their types, shredding, names and paths, and their Iceberg readers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from paimon_sql.errors import PaimonError
from paimon_sql.format.iceberg.manifests import ROW_LINEAGE
from paimon_sql.format.iceberg.schemas import iceberg_field
from paimon_sql.format.options import Option
from paimon_sql.format.options.operations.changelog import (
    CHANGELOG_FILE_COMPRESSION,
    CHANGELOG_FILE_FORMAT,
    CHANGELOG_FILE_PREFIX,
)
from paimon_sql.format.options.table.data_file import (
    DATA_FILE_PATH_DIRECTORY,
    DATA_FILE_PREFIX,
    FILE_COMPRESSION,
    FILE_COMPRESSION_PER_LEVEL,
    FILE_FORMAT,
    FILE_FORMAT_PER_LEVEL,
    VARIANT_SHREDDING_ADAPTIVE_RETENTION_RATIO,
    VARIANT_SHREDDING_INFERENCE_MODE,
    VARIANT_SHREDDING_MIN_FIELD_CARDINALITY_RATIO,
)
from paimon_sql.format.options.table.iceberg import DISABLED, METADATA_ICEBERG_FORMAT_VERSION, METADATA_ICEBERG_STORAGE
from paimon_sql.format.options.table.index import (
    DELETION_VECTORS_BITMAP64,
    DELETION_VECTORS_ENABLED,
    VECTOR_FILE_FORMAT,
)
from paimon_sql.format.options.table.merge_engine import FIELD_MAP_STORAGE_LAYOUT
from paimon_sql.format.options.table.row_tracking import BLOB_DESCRIPTOR_FIELD, BLOB_VIEW_FIELD, DATA_EVOLUTION_ENABLED
from paimon_sql.format.schema import types as t
from paimon_sql.storage.file_formats.parquet.variants import given_shapes
from paimon_sql.storage.file_formats.registry import file_format, formats
from paimon_sql.storage.metadata.definition import Definition, conflict, holds, invalid
from paimon_sql.storage.schema.validation.all_tables import errors_of
from paimon_sql.storage.table.data_file_paths import external_placement

_SHREDDED_COMPRESSIONS = ("none", "uncompressed", "lz4", "zstd")


def file_formats(table: Definition) -> Iterator[PaimonError]:
    """All file formats that the table writes exist and support its columns."""
    for option, name in _formats(table):
        try:
            file_format(name).check_fields(columns_in_data_files(table))
        except PaimonError as error:
            yield conflict(option, f"cannot be '{name}': {error.message}", error.remedy)


def columns_in_data_files(table: Definition) -> list[t.DataField]:
    """The columns in ordinary data files; blobs and vectors may be in dedicated files."""
    inline = {*table.names_of(BLOB_DESCRIPTOR_FIELD), *table.names_of(BLOB_VIEW_FIELD)}
    has_vector_files = table.options.get(VECTOR_FILE_FORMAT) is not None
    return [
        field
        for field in table.schema.fields
        if not (holds(field.type, t.BlobType) and field.name not in inline)
        and not (has_vector_files and isinstance(field.type, t.VectorType))
    ]


def shared_shredding(table: Definition) -> Iterator[PaimonError]:
    """Maps with shared shredding have string keys, and supported values, formats and compressions."""
    shredded: list[t.DataField] = []
    for names, layout in table.options.matching(FIELD_MAP_STORAGE_LAYOUT):
        field = table.columns.get(names[0])
        key = FIELD_MAP_STORAGE_LAYOUT.for_name(*names)
        if field is None:
            continue
        if not isinstance(field.type, t.MapType):
            yield conflict(key, f"is for maps, and column '{field.name}' is {field.type.sql()}.")
        elif layout == "shared-shredding":
            shredded.append(field)
            if not isinstance(field.type.key, t.CharType | t.VarCharType) or field.type.key.nullable:
                yield conflict(
                    key, f"needs a map with keys STRING NOT NULL, and column '{field.name}' is {field.type.sql()}."
                )
            if holds(field.type.value, (t.BlobType, t.VectorType)):
                yield conflict(key, f"is not for the blobs or vectors of column '{field.name}'.")
    if not shredded:
        return
    layout_key = FIELD_MAP_STORAGE_LAYOUT.for_name(shredded[0].name)
    if any(holds(f.type, (t.VariantType, t.MultisetType)) for f in table.schema.fields):
        yield conflict(layout_key, "cannot be combined with columns of type VARIANT or MULTISET.")
    if table.bucket == -2:
        yield conflict(layout_key, "cannot be combined with postponed buckets ('bucket' = -2).")
    for option, name in _formats(table):
        known = formats().get(name.lower())
        if known is None or not known.shreds_maps:
            yield conflict(
                option, f"cannot be '{name}' where '{layout_key}' is 'shared-shredding'.", "Use parquet or orc."
            )
    compressions: list[tuple[Option[object], str | None]] = [
        (FILE_COMPRESSION, table.options.get(FILE_COMPRESSION)),
        (CHANGELOG_FILE_COMPRESSION, table.options.get(CHANGELOG_FILE_COMPRESSION)),
        *((FILE_COMPRESSION_PER_LEVEL, c) for c in table.options.get(FILE_COMPRESSION_PER_LEVEL).values()),
    ]
    for compression_option, compression in compressions:
        if compression and compression.lower() not in _SHREDDED_COMPRESSIONS:
            yield conflict(
                compression_option,
                f"cannot be '{compression}' where '{layout_key}' is 'shared-shredding'.",
                "Use none, lz4 or zstd.",
            )


def variant_shredding(table: Definition) -> Iterator[PaimonError]:
    """The shredding schema of variants is unambiguous, and ratios are between 0 and 1."""
    yield from errors_of(lambda: given_shapes(table.options))
    min_ratio = table.options.get(VARIANT_SHREDDING_MIN_FIELD_CARDINALITY_RATIO)
    retained_ratio = table.options.get(VARIANT_SHREDDING_ADAPTIVE_RETENTION_RATIO)
    if not 0 <= min_ratio <= 1:
        yield conflict(VARIANT_SHREDDING_MIN_FIELD_CARDINALITY_RATIO, "must be between 0 and 1.")
    elif table.options.get(VARIANT_SHREDDING_INFERENCE_MODE) == "adaptive" and not 0 <= retained_ratio <= min_ratio:
        yield conflict(
            VARIANT_SHREDDING_ADAPTIVE_RETENTION_RATIO,
            f"must be between 0 and '{VARIANT_SHREDDING_MIN_FIELD_CARDINALITY_RATIO.key}', which is {min_ratio}.",
        )


def _formats(table: Definition) -> Iterator[tuple[Option[object], str]]:
    yield FILE_FORMAT, table.options.get(FILE_FORMAT)
    for name in table.options.get(FILE_FORMAT_PER_LEVEL).values():
        yield FILE_FORMAT_PER_LEVEL, name
    if changelog := table.options.get(CHANGELOG_FILE_FORMAT):
        yield CHANGELOG_FILE_FORMAT, changelog


_NOT_IN_NAMES = re.compile(r"[/\\\x00-\x1f]")


def file_prefixes(table: Definition) -> Iterator[PaimonError]:
    """File name prefixes contain no path separator, or files would be in other directories."""
    for option in (DATA_FILE_PREFIX, CHANGELOG_FILE_PREFIX):
        value = table.options.get(option)
        if value and _NOT_IN_NAMES.search(value):
            yield conflict(
                option, f"cannot be {value!r}: a file name must not contain a slash, backslash or control character."
            )


def data_directory(table: Definition) -> Iterator[PaimonError]:
    """The data directory is below the table's directory."""
    path = table.options.get(DATA_FILE_PATH_DIRECTORY)
    if path is None:
        return
    parts = path.rstrip("/").split("/")
    if "://" in path or any(part in ("", ".", "..") or _NOT_IN_NAMES.search(part) for part in parts):
        yield conflict(
            DATA_FILE_PATH_DIRECTORY,
            f"cannot be {path!r}: the data must be in a subdirectory of the table's directory.",
            "Use a path such as 'data', without '.', '..' or a slash at its beginning.",
        )


def external_paths(table: Definition) -> Iterator[PaimonError]:
    """The strategy of external paths is valid."""
    yield from errors_of(lambda: external_placement(table.options))


def iceberg_readers(table: Definition) -> Iterator[PaimonError]:
    """Iceberg readers do not merge and read Parquet only, so each file must be correct without the others."""
    if table.options.get(METADATA_ICEBERG_STORAGE) == DISABLED:
        return
    version = table.options.get(METADATA_ICEBERG_FORMAT_VERSION)
    for field in table.schema.fields:
        try:
            iceberg_field(field, field.name, version)
        except PaimonError as error:
            yield invalid(error.message, error.remedy)
    if table.is_on(DATA_EVOLUTION_ENABLED):
        yield conflict(METADATA_ICEBERG_STORAGE, f"cannot be combined with '{DATA_EVOLUTION_ENABLED.key}'.")
    if table.options.get(FILE_FORMAT).lower() != "parquet":
        yield conflict(METADATA_ICEBERG_STORAGE, f"needs '{FILE_FORMAT.key}' = 'parquet'.")
    vectors_readable = version >= ROW_LINEAGE and table.is_on(DELETION_VECTORS_BITMAP64)
    if table.is_on(DELETION_VECTORS_ENABLED) and not table.has_key and not vectors_readable:
        yield conflict(
            METADATA_ICEBERG_STORAGE,
            f"needs '{METADATA_ICEBERG_FORMAT_VERSION.key}' = '3' and '{DELETION_VECTORS_BITMAP64.key}' = 'true'"
            " for a table without a primary key that has deletion vectors.",
            f"Set both, or leave '{DELETION_VECTORS_ENABLED.key}' out.",
        )
