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
)
FILE_FORMAT_PER_LEVEL = mapping(
    "file.format.per.level", "", "Other file formats for some levels, as in 0:avro,5:parquet."
)
FILE_COMPRESSION = string("file.compression", "zstd", "The compression of data files.")
FILE_COMPRESSION_PER_LEVEL = mapping(
    "file.compression.per.level", "", "Other compressions for some levels, as in 0:lz4,5:zstd."
)
FILE_COMPRESSION_ZSTD_LEVEL = integer(
    "file.compression.zstd-level", "1", "How hard zstd works on data files, from 1 on."
)
FILE_BLOCK_SIZE = memory_size(
    "file.block-size", None, "The size of a stripe or row group; without it the file format decides."
)
FILE_SUFFIX_INCLUDE_COMPRESSION = boolean(
    "file.suffix.include.compression", "false", "Whether the names of data files tell their compression."
)
TARGET_FILE_SIZE = memory_size(
    "target-file-size", None, "How large a data file becomes; without it 128 MB with a primary key and 256 MB else."
)
TARGET_FILE_ROW_NUM = long(
    "target-file-row-num",
    UNLIMITED_LONG,
    "How many rows a newly written data file takes at most; compactions go by size alone.",
    check=at_least(1),
)
DATA_FILE_PREFIX = string("data-file.prefix", "data-", "How the names of data files begin.")
DATA_FILE_PATH_DIRECTORY = string(
    "data-file.path-directory", None, "The directory under the table's in which the data stand.", immutable=True
)
DATA_FILE_THIN_MODE = boolean(
    "data-file.thin-mode", "false", "Whether key columns are stored once and not as key and value."
)
DATA_FILE_EXTERNAL_PATHS = string(
    "data-file.external-paths",
    None,
    "Directories elsewhere, with commas between, where data files may stand.",
)
DATA_FILE_EXTERNAL_PATHS_STRATEGY = choice(
    "data-file.external-paths.strategy",
    "none",
    "How a new file chooses among the external directories; with none it goes to the table's own.",
    ("none", "specific-fs", "round-robin", "entropy-inject", "weight-robin"),
)
DATA_FILE_EXTERNAL_PATHS_SPECIFIC_FS = string(
    "data-file.external-paths.specific-fs",
    None,
    "The scheme of the external directory that specific-fs chooses.",
)
DATA_FILE_EXTERNAL_PATHS_WEIGHTS = string(
    "data-file.external-paths.weights",
    None,
    "How often weight-robin chooses each external directory: whole numbers with commas between.",
)
METADATA_STATS_MODE = string(
    "metadata.stats-mode",
    "truncate(16)",
    "Which statistics a manifest keeps of each column: none, counts of nulls, full bounds, or cut bounds.",
    check=_stats_mode,
)
METADATA_STATS_MODE_PER_LEVEL = mapping(
    "metadata.stats-mode.per.level", "", "Other statistics for some levels, as in 0:none."
)
METADATA_STATS_DENSE_STORE = boolean(
    "metadata.stats-dense-store", "true", "Whether columns without statistics take no place in a manifest."
)
METADATA_STATS_KEEP_FIRST_N_COLUMNS = integer(
    "metadata.stats-keep-first-n-columns",
    "-1",
    "For how many columns from the first on statistics are kept; -1 for all.",
    check=at_least(-1),
)
FIELD_STATS_MODE = string(
    "fields.<column>.stats-mode", None, "Which statistics are kept of this column.", check=_stats_mode
)
PARQUET_ENABLE_DICTIONARY = string(
    "parquet.enable.dictionary", None, "Whether Parquet files use dictionaries: true or false."
)
PARQUET_PROPERTY = string(
    "parquet.<property>",
    None,
    "A setting of the Parquet writer: `compression`, `block.size`, `page.size` and `dictionary.page.size` are obeyed,"
    " and with `#<column>` behind `enable.dictionary`, `bloom.filter.enabled`, `bloom.filter.expected.ndv` and"
    " `bloom.filter.fpp`.",
)
ORC_COLUMN_ENCODING_DIRECT = string(
    "orc.column.encoding.direct",
    None,
    "The columns, with commas between, that ORC files store without a dictionary.",
    status=kept_for("Java engines"),
)
ORC_DICTIONARY_KEY_THRESHOLD = double(
    "orc.dictionary.key.threshold",
    "0.8",
    "Up to which share of different values ORC files use a dictionary, from 0 (never) to 1 (always).",
)
ORC_TIMESTAMP_LTZ_LEGACY_TYPE = boolean(
    "orc.timestamp-ltz.legacy.type",
    "true",
    "Whether ORC files store timestamps with local time zone as plain timestamps, as older versions did.",
)
ORC_PROPERTY = string(
    "orc.<property>",
    None,
    "A setting of the ORC writer: `compression`, `stripe.size`, `compress.size` and `row.index.stride` are obeyed.",
)
AVRO_CODEC = string("avro.codec", None, "The codec of Avro data files, before the general compression.")
AVRO_ROW_NAME_MAPPING = string(
    "avro.row-name-mapping", None, "Other names for the records in Avro data files.", status=kept_for("Java engines")
)
AVRO_PROPERTY = string(
    "avro.<property>",
    None,
    "A setting that is handed to the Avro writer.",
    status=kept_for("no engine, as none of today reads it"),
)
MOSAIC_PROPERTY = string(
    "mosaic.<property>", None, "A setting of the mosaic file format.", status=kept_for("Java engines with that format")
)
LANCE_PROPERTY = string(
    "lance.<property>",
    None,
    "A setting of the lance file format.",
    status=kept_for("no engine, as none of today reads it"),
)
VARIANT_SHREDDING_SCHEMA = string(
    "variant.shreddingSchema",
    None,
    "The row type, as JSON, whose fields are stored as columns of their own for each variant column.",
    alternatives=("parquet.variant.shreddingSchema",),
)
VARIANT_INFER_SHREDDING_SCHEMA = boolean(
    "variant.inferShreddingSchema",
    "false",
    "Whether the fields of variants to store as columns are found in the data.",
)
VARIANT_SHREDDING_INFERENCE_MODE = choice(
    "variant.shredding.inferenceMode",
    "per-file",
    "Whether each file looks for such fields anew or starts from those of the file before.",
    ("per-file", "adaptive"),
)
VARIANT_SHREDDING_MAX_INFER_BUFFER_ROW = integer(
    "variant.shredding.maxInferBufferRow",
    "4096",
    "How many rows are looked at to find such fields.",
    check=at_least(1),
)
VARIANT_SHREDDING_MAX_SCHEMA_DEPTH = integer(
    "variant.shredding.maxSchemaDepth",
    "50",
    "How deep inside variants such fields are looked for.",
    check=at_least(1),
)
VARIANT_SHREDDING_MAX_SCHEMA_WIDTH = integer(
    "variant.shredding.maxSchemaWidth",
    "300",
    "How many such fields are taken at most.",
    check=at_least(1),
)
VARIANT_SHREDDING_MIN_FIELD_CARDINALITY_RATIO = double(
    "variant.shredding.minFieldCardinalityRatio",
    "0.1",
    "In which share of the rows a field must be to be taken.",
)
VARIANT_SHREDDING_ADAPTIVE_MAX_INFER_BUFFER_ROW = integer(
    "variant.shredding.adaptive.maxInferBufferRow",
    "256",
    "How many rows of later files the adaptive mode looks at.",
    check=at_least(1),
)
VARIANT_SHREDDING_ADAPTIVE_RETENTION_RATIO = double(
    "variant.shredding.adaptive.retentionRatio",
    "0.05",
    "In which share of the rows a field must stay for the adaptive mode to keep it.",
)
