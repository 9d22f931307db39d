"""Options of data files: format, compression, size, names, location, statistics."""

from __future__ import annotations

import re

from paimon_sql.format.options.values import (
    UNLIMITED_LONG,
    at_least,
    boolean,
    choice,
    double,
    integer,
    kept_for,
    long,
    mapping,
    memory_size,
    string,
)

_STATS_MODE = re.compile(r"none|counts|full|truncate\s*\(\s*[1-9]\d*\s*\)")


def _stats_mode(value: str) -> str | None:
    known = _STATS_MODE.fullmatch(value.strip().lower())
    return None if known else "it must be none, counts, full or truncate(<number of characters>)"


FILE_FORMAT = choice(
    "file.format",
    "parquet",
    "The file format of data files.",
    ("parquet", "orc", "avro", "csv", "json", "text", "lance", "vortex", "mosaic", "row"),
    registry="paimon_sql.storage.file_formats.registry:format_names",
)
FILE_FORMAT_PER_LEVEL = mapping(
    "file.format.per.level", "", "The file formats of individual levels, as in 0:avro,5:parquet."
)
FILE_COMPRESSION = string("file.compression", "zstd", "The compression of data files.")
FILE_COMPRESSION_PER_LEVEL = mapping(
    "file.compression.per.level", "", "The compressions of individual levels, as in 0:lz4,5:zstd."
)
FILE_COMPRESSION_ZSTD_LEVEL = integer(
    "file.compression.zstd-level", "1", "The zstd compression level of data files, from 1 on."
)
FILE_BLOCK_SIZE = memory_size(
    "file.block-size", None, "The size of a stripe or row group; defaults to that of the file format."
)
FILE_SUFFIX_INCLUDE_COMPRESSION = boolean(
    "file.suffix.include.compression", "false", "Whether the names of data files include their compression."
)
TARGET_FILE_SIZE = memory_size(
    "target-file-size",
    None,
    "The target size of a data file; defaults to 128 MB with a primary key and 256 MB without.",
)
TARGET_FILE_ROW_NUM = long(
    "target-file-row-num",
    UNLIMITED_LONG,
    "The maximum number of rows of a newly written data file; compactions use only the size.",
    check=at_least(1),
)
DATA_FILE_PREFIX = string("data-file.prefix", "data-", "The prefix of the names of data files.")
DATA_FILE_PATH_DIRECTORY = string(
    "data-file.path-directory",
    None,
    "The subdirectory of the table's directory that contains the data.",
    immutable=True,
)
DATA_FILE_THIN_MODE = boolean(
    "data-file.thin-mode", "false", "Whether key columns are stored once instead of as key and value."
)
DATA_FILE_EXTERNAL_PATHS = string(
    "data-file.external-paths", None, "Directories outside of the table, comma-separated, for data files."
)
DATA_FILE_EXTERNAL_PATHS_STRATEGY = choice(
    "data-file.external-paths.strategy",
    "none",
    "How the external directory of a new file is chosen; with none it is written to the table's own.",
    ("none", "specific-fs", "round-robin", "entropy-inject", "weight-robin"),
)
DATA_FILE_EXTERNAL_PATHS_SPECIFIC_FS = string(
    "data-file.external-paths.specific-fs", None, "The scheme of the external directory for the strategy specific-fs."
)
DATA_FILE_EXTERNAL_PATHS_WEIGHTS = string(
    "data-file.external-paths.weights",
    None,
    "The weights of the external directories for the strategy weight-robin: comma-separated integers.",
)
METADATA_STATS_MODE = string(
    "metadata.stats-mode",
    "truncate(16)",
    "The statistics of each column in manifests: none, counts of nulls, full bounds, or truncated bounds.",
    check=_stats_mode,
)
METADATA_STATS_MODE_PER_LEVEL = mapping(
    "metadata.stats-mode.per.level", "", "The statistics of individual levels, as in 0:none."
)
METADATA_STATS_DENSE_STORE = boolean(
    "metadata.stats-dense-store", "true", "Whether columns without statistics use no space in a manifest."
)
METADATA_STATS_KEEP_FIRST_N_COLUMNS = integer(
    "metadata.stats-keep-first-n-columns",
    "-1",
    "The number of leading columns for which statistics are kept; -1 for all.",
    check=at_least(-1),
)
FIELD_STATS_MODE = string(
    "fields.<column>.stats-mode", None, "The statistics that are kept for this column.", check=_stats_mode
)
PARQUET_ENABLE_DICTIONARY = string(
    "parquet.enable.dictionary", None, "Whether Parquet files use dictionaries: true or false."
)
PARQUET_PROPERTY = string(
    "parquet.<property>",
    None,
    "A setting of the Parquet writer: `compression`, `block.size`, `page.size` and `dictionary.page.size` are"
    " supported, and with the suffix `#<column>` `enable.dictionary`, `bloom.filter.enabled`,"
    " `bloom.filter.expected.ndv` and `bloom.filter.fpp`.",
)
ORC_COLUMN_ENCODING_DIRECT = string(
    "orc.column.encoding.direct",
    None,
    "The columns, comma-separated, that ORC files store without a dictionary.",
    status=kept_for("Java engines"),
)
ORC_DICTIONARY_KEY_THRESHOLD = double(
    "orc.dictionary.key.threshold",
    "0.8",
    "The maximum fraction of distinct values for which ORC files use a dictionary, from 0 (never) to 1 (always).",
)
ORC_TIMESTAMP_LTZ_LEGACY_TYPE = boolean(
    "orc.timestamp-ltz.legacy.type",
    "true",
    "Whether ORC files store timestamps with local time zone as plain timestamps, as older versions did.",
)
ORC_PROPERTY = string(
    "orc.<property>",
    None,
    "A setting of the ORC writer: `compression`, `stripe.size`, `compress.size` and `row.index.stride` are supported.",
)
AVRO_CODEC = string("avro.codec", None, "The codec of Avro data files; takes precedence over the general compression.")
AVRO_ROW_NAME_MAPPING = string(
    "avro.row-name-mapping", None, "Other names for the records in Avro data files.", status=kept_for("Java engines")
)
AVRO_PROPERTY = string(
    "avro.<property>",
    None,
    "A setting that is passed to the Avro writer.",
    status=kept_for("compatibility: no current engine reads it"),
)
MOSAIC_PROPERTY = string(
    "mosaic.<property>", None, "A setting of the mosaic file format.", status=kept_for("Java engines with that format")
)
LANCE_PROPERTY = string(
    "lance.<property>",
    None,
    "A setting of the lance file format.",
    status=kept_for("compatibility: no current engine reads it"),
)
VARIANT_SHREDDING_SCHEMA = string(
    "variant.shreddingSchema",
    None,
    "The row type, as JSON, whose fields are stored as separate columns for each variant column.",
    alternatives=("parquet.variant.shreddingSchema",),
)
VARIANT_INFER_SHREDDING_SCHEMA = boolean(
    "variant.inferShreddingSchema",
    "false",
    "Whether the fields of variants to store as separate columns are inferred from the data.",
)
VARIANT_SHREDDING_INFERENCE_MODE = choice(
    "variant.shredding.inferenceMode",
    "per-file",
    "Whether each file infers these fields anew or starts from those of the previous file.",
    ("per-file", "adaptive"),
)
VARIANT_SHREDDING_MAX_INFER_BUFFER_ROW = integer(
    "variant.shredding.maxInferBufferRow",
    "4096",
    "The number of rows from which these fields are inferred.",
    check=at_least(1),
)
VARIANT_SHREDDING_MAX_SCHEMA_DEPTH = integer(
    "variant.shredding.maxSchemaDepth", "50", "The maximum depth inside variants of inferred fields.", check=at_least(1)
)
VARIANT_SHREDDING_MAX_SCHEMA_WIDTH = integer(
    "variant.shredding.maxSchemaWidth", "300", "The maximum number of inferred fields.", check=at_least(1)
)
VARIANT_SHREDDING_MIN_FIELD_CARDINALITY_RATIO = double(
    "variant.shredding.minFieldCardinalityRatio",
    "0.1",
    "The minimum fraction of rows that contain a field for it to be inferred.",
)
VARIANT_SHREDDING_ADAPTIVE_MAX_INFER_BUFFER_ROW = integer(
    "variant.shredding.adaptive.maxInferBufferRow",
    "256",
    "The number of rows of later files that the adaptive mode examines.",
    check=at_least(1),
)
VARIANT_SHREDDING_ADAPTIVE_RETENTION_RATIO = double(
    "variant.shredding.adaptive.retentionRatio",
    "0.05",
    "The minimum fraction of rows that contain a field for the adaptive mode to keep it.",
)
