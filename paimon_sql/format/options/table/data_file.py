"""Options of data files: format, compression, size, names, location, statistics."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from paimon_sql.format.options.values import UNLIMITED_LONG, Kind, fixed, java, option, unread

_STATS_MODE = re.compile(r"none|counts|full|truncate\s*\(\s*([1-9]\d{0,8})\s*\)")


class StoredStats(Enum):
    """The stored part of a column's statistics."""

    NOTHING = "none"
    COUNTS = "counts"
    BOUNDS = "full"


@dataclass(frozen=True, slots=True)
class StatsMode:
    """A statistics mode; bounds of strings and bytes are truncated to ``length`` unless it is None."""

    kept: StoredStats
    length: int | None = None

    @classmethod
    def parse(cls, text: str) -> StatsMode:
        """Parse ``none``, ``counts``, ``truncate(16)`` or ``full``.

        Raises:
            ValueError: it is none of these.
        """
        mode = text.strip().lower()
        if (match := _STATS_MODE.fullmatch(mode)) is None:
            raise ValueError("it must be none, counts, full or truncate(<number of characters>)")
        return cls(StoredStats.BOUNDS, int(match[1])) if match[1] else cls(StoredStats(mode))


def _modes_by_level(text: str) -> dict[int, StatsMode]:
    modes = option.mapping.parse(text)
    if not all(map(str.isdecimal, modes)):
        raise ValueError("it must be pairs of level and mode such as '0:none,5:full'")
    return {int(level): StatsMode.parse(mode) for level, mode in modes.items()}


stats_mode = Kind("String", StatsMode.parse, {})

_FORMATS = ("parquet", "orc", "avro", "csv", "json", "text", "lance", "vortex", "mosaic", "row")
FILE_FORMAT = option.one_of(*_FORMATS, registry="paimon_sql.storage.file_formats.registry:format_names")(
    "file.format", "The file format of data files.", "parquet"
)
FILE_FORMAT_PER_LEVEL = option.mapping(
    "file.format.per.level", "The file formats of individual levels, as in 0:avro,5:parquet.", ""
)
FILE_COMPRESSION = option.string("file.compression", "The compression of data files.", "zstd")
FILE_COMPRESSION_PER_LEVEL = option.mapping(
    "file.compression.per.level", "The compressions of individual levels, as in 0:lz4,5:zstd.", ""
)
FILE_COMPRESSION_ZSTD_LEVEL = option.integer(
    "file.compression.zstd-level", "The zstd compression level of data files, from 1 on.", "1"
)
FILE_BLOCK_SIZE = option.memory_size(
    "file.block-size", "The size of a stripe or row group; defaults to that of the file format."
)
FILE_SUFFIX_INCLUDE_COMPRESSION = option.flag(
    "file.suffix.include.compression", "Whether the names of data files include their compression."
)
TARGET_FILE_SIZE = option.memory_size(
    "target-file-size", "The target size of a data file; defaults to 128 MB with a primary key and 256 MB without."
)
TARGET_FILE_ROW_NUM = option.long.at_least(1)(
    "target-file-row-num",
    "The maximum number of rows of a newly written data file; compactions use only the size.",
    UNLIMITED_LONG,
)
DATA_FILE_PREFIX = option.string("data-file.prefix", "The prefix of the names of data files.", "data-")
DATA_FILE_PATH_DIRECTORY = fixed.string(
    "data-file.path-directory", "The subdirectory of the table's directory that contains the data."
)
DATA_FILE_THIN_MODE = option.flag(
    "data-file.thin-mode", "Whether key columns are stored once instead of as key and value."
)
DATA_FILE_EXTERNAL_PATHS = option.string(
    "data-file.external-paths", "Directories outside of the table, comma-separated, for data files."
)
DATA_FILE_EXTERNAL_PATHS_STRATEGY = option.one_of(
    "none", "specific-fs", "round-robin", "entropy-inject", "weight-robin"
)(
    "data-file.external-paths.strategy",
    "How the external directory of a new file is chosen; with none it is written to the table's own.",
    "none",
)
DATA_FILE_EXTERNAL_PATHS_SPECIFIC_FS = option.string(
    "data-file.external-paths.specific-fs", "The scheme of the external directory for the strategy specific-fs."
)
DATA_FILE_EXTERNAL_PATHS_WEIGHTS = option.string(
    "data-file.external-paths.weights",
    "The weights of the external directories for the strategy weight-robin: comma-separated integers.",
)
METADATA_STATS_MODE = stats_mode(
    "metadata.stats-mode",
    "The statistics of each column in manifests: none, counts of nulls, full bounds, or truncated bounds.",
    "truncate(16)",
)
METADATA_STATS_MODE_PER_LEVEL = Kind("Map", _modes_by_level, {})(
    "metadata.stats-mode.per.level", "The statistics of individual levels, as in 0:none.", ""
)
METADATA_STATS_DENSE_STORE = option.boolean(
    "metadata.stats-dense-store", "Whether columns without statistics use no space in a manifest.", "true"
)
METADATA_STATS_KEEP_FIRST_N_COLUMNS = option.integer.at_least(-1)(
    "metadata.stats-keep-first-n-columns",
    "The number of leading columns for which statistics are kept; -1 for all.",
    "-1",
)
FIELD_STATS_MODE = stats_mode("fields.<column>.stats-mode", "The statistics that are kept for this column.")
PARQUET_ENABLE_DICTIONARY = option.string(
    "parquet.enable.dictionary", "Whether Parquet files use dictionaries: true or false."
)
PARQUET_PROPERTY = option.string(
    "parquet.<property>",
    "A setting of the Parquet writer: `compression`, `block.size`, `page.size` and `dictionary.page.size` are"
    " supported, and with the suffix `#<column>` `enable.dictionary`, `bloom.filter.enabled`,"
    " `bloom.filter.expected.ndv` and `bloom.filter.fpp`.",
)
ORC_COLUMN_ENCODING_DIRECT = java.string(
    "orc.column.encoding.direct", "The columns, comma-separated, that ORC files store without a dictionary."
)
ORC_DICTIONARY_KEY_THRESHOLD = option.double(
    "orc.dictionary.key.threshold",
    "The maximum fraction of distinct values for which ORC files use a dictionary, from 0 (never) to 1 (always).",
    "0.8",
)
ORC_TIMESTAMP_LTZ_LEGACY_TYPE = option.boolean(
    "orc.timestamp-ltz.legacy.type",
    "Whether ORC files store timestamps with local time zone as plain timestamps, as older versions did.",
    "true",
)
ORC_PROPERTY = option.string(
    "orc.<property>",
    "A setting of the ORC writer: `compression`, `stripe.size`, `compress.size` and `row.index.stride` are supported.",
)
AVRO_CODEC = option.string("avro.codec", "The codec of Avro data files; takes precedence over the general compression.")
VARIANT_SHREDDING_SCHEMA = option.string(
    "variant.shreddingSchema",
    "The row type, as JSON, whose fields are stored as separate columns for each variant column.",
    alternatives=("parquet.variant.shreddingSchema",),
)
VARIANT_INFER_SHREDDING_SCHEMA = option.flag(
    "variant.inferShreddingSchema",
    "Whether the fields of variants to store as separate columns are inferred from the data.",
)
VARIANT_SHREDDING_INFERENCE_MODE = option.one_of("per-file", "adaptive")(
    "variant.shredding.inferenceMode",
    "Whether each file infers these fields anew or starts from those of the previous file.",
    "per-file",
)
VARIANT_SHREDDING_MAX_INFER_BUFFER_ROW = option.integer.at_least(1)(
    "variant.shredding.maxInferBufferRow", "The number of rows from which these fields are inferred.", "4096"
)
VARIANT_SHREDDING_MAX_SCHEMA_DEPTH = option.integer.at_least(1)(
    "variant.shredding.maxSchemaDepth", "The maximum depth inside variants of inferred fields.", "50"
)
VARIANT_SHREDDING_MAX_SCHEMA_WIDTH = option.integer.at_least(1)(
    "variant.shredding.maxSchemaWidth", "The maximum number of inferred fields.", "300"
)
VARIANT_SHREDDING_MIN_FIELD_CARDINALITY_RATIO = option.double(
    "variant.shredding.minFieldCardinalityRatio",
    "The minimum fraction of rows that contain a field for it to be inferred.",
    "0.1",
)
VARIANT_SHREDDING_ADAPTIVE_MAX_INFER_BUFFER_ROW = option.integer.at_least(1)(
    "variant.shredding.adaptive.maxInferBufferRow",
    "The number of rows of later files that the adaptive mode examines.",
    "256",
)
VARIANT_SHREDDING_ADAPTIVE_RETENTION_RATIO = option.double(
    "variant.shredding.adaptive.retentionRatio",
    "The minimum fraction of rows that contain a field for the adaptive mode to keep it.",
    "0.05",
)

KEPT = (
    java.string("avro.row-name-mapping", "Other names for the records in Avro data files."),
    unread.string("avro.<property>", "A setting that is passed to the Avro writer."),
    option.kept_for("Java engines with that format").string(
        "mosaic.<property>", "A setting of the mosaic file format."
    ),
    unread.string("lance.<property>", "A setting of the lance file format."),
)
