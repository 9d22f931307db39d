"""Options of file indexes, global indexes, deletion vectors, and searches by text or vector."""

from __future__ import annotations

from paimon_sql.format.options.values import (
    at_least,
    boolean,
    choice,
    double,
    integer,
    kept_for,
    long,
    memory_size,
    optional_choice,
    string,
)

_SEARCH_MODES = ("fast", "full", "detail")

FILE_INDEX_READ_ENABLED = boolean("file-index.read.enabled", "true", "Whether reads use the file indexes.")
FILE_INDEX_IN_MANIFEST_THRESHOLD = memory_size(
    "file-index.in-manifest-threshold", "500 bytes", "The maximum size of a file index that is stored in the manifest."
)
FILE_INDEX_COLUMNS = string(
    "file-index.<type>.columns",
    None,
    "The columns, comma-separated, that get a file index of this type: bloom-filter, bitmap, bsi, range-bitmap.",
)
FILE_INDEX_PROPERTY = string("file-index.<type>.<column>.<property>", None, "A setting of a column's file index.")
INDEX_FILE_IN_DATA_FILE_DIR = boolean(
    "index-file-in-data-file-dir",
    "false",
    "Whether index files are stored in the directories of the buckets.",
    immutable=True,
)
DELETION_VECTORS_ENABLED = boolean(
    "deletion-vectors.enabled",
    "false",
    "Whether deleted and replaced rows are marked in deletion vectors, so that reads need not merge.",
)
DELETION_VECTORS_BITMAP64 = boolean(
    "deletion-vectors.bitmap64",
    "false",
    "Whether deletion vectors are written as 64-bit bitmaps, as Iceberg reads them.",
)
DELETION_VECTORS_MODIFIABLE = boolean(
    "deletion-vectors.modifiable", "false", "Whether deletion vectors may be switched on or off for a table with data."
)
DELETION_VECTORS_MERGE_ON_READ = boolean(
    "deletion-vectors.merge-on-read",
    "false",
    "Whether batch reads merge files that are not compacted yet, so that their rows are visible.",
)
DELETION_VECTOR_INDEX_FILE_TARGET_SIZE = memory_size(
    "deletion-vector.index-file.target-size",
    "2 mb",
    "The target size of a deletion vector file; a bucket of a table with fixed buckets or a primary key has only one.",
)
GLOBAL_INDEX_ENABLED = boolean("global-index.enabled", "true", "Whether reads use the global indexes over rows.")
GLOBAL_INDEX_COLUMN_UPDATE_ACTION = choice(
    "global-index.column-update-action",
    "THROW_ERROR",
    "What an update of an indexed column does: fail, drop the partition's index, or leave it unchanged until it is"
    " rebuilt.",
    ("THROW_ERROR", "DROP_PARTITION_INDEX", "IGNORE"),
)
GLOBAL_INDEX_EXTERNAL_PATH = string(
    "global-index.external-path", None, "The directory of global index files; defaults to index/ of the table."
)
GLOBAL_INDEX_ROW_COUNT_PER_SHARD = long(
    "global-index.row-count-per-shard",
    "100000",
    "The number of rows that one file of a native global index covers.",
    check=at_least(1),
    status=kept_for("vector and text indexes of Flink and Java's Spark connector"),
)
GLOBAL_INDEX_BUILD_MAX_SHARD = integer(
    "global-index.build.max-shard",
    "32",
    "The maximum number of files of a native global index, if that suffices.",
    check=at_least(1),
    status=kept_for("compatibility: no current engine reads it"),
)
GLOBAL_INDEX_BUILD_MAX_PARALLELISM = integer(
    "global-index.build.max-parallelism",
    "4096",
    "The maximum number of tasks that build a native global index.",
    check=at_least(1),
    status=kept_for("vector and text indexes of Flink and Java's Spark connector"),
)
GLOBAL_INDEX_THREAD_NUM = integer(
    "global-index.thread-num", "32", "The number of global index files that are read in parallel.", check=at_least(1)
)
GLOBAL_INDEX_SEARCH_MODE = optional_choice(
    "global-index.search-mode", "The search mode of indexes whose type does not set its own.", _SEARCH_MODES
)
SCALAR_INDEX_SEARCH_MODE = choice(
    "scalar-index.search-mode",
    "fast",
    "Whether lookups by value read only indexed rows, or also those that no index covers yet. If not set, they read"
    " those, too; only an explicit 'fast' omits them.",
    _SEARCH_MODES,
)
VECTOR_INDEX_SEARCH_MODE = choice(
    "vector-index.search-mode",
    "fast",
    "Whether vector searches read only indexed rows, or also those that no index covers yet.",
    _SEARCH_MODES,
    status=kept_for("vector searches of Java engines"),
)
FULL_TEXT_INDEX_SEARCH_MODE = choice(
    "full-text-index.search-mode",
    "fast",
    "Whether text searches read only indexed rows, or also those that no index covers yet.",
    _SEARCH_MODES,
    status=kept_for("text searches of Java engines"),
)
SORTED_INDEX_RECORDS_PER_RANGE = long(
    "sorted-index.records-per-range",
    "10000000",
    "The number of rows in one file of a sorted index.",
    alternatives=("btree-index.records-per-range",),
)
SORTED_INDEX_BUILD_MAX_PARALLELISM = integer(
    "sorted-index.build.max-parallelism",
    "4096",
    "The maximum number of files into which the keys of consecutive rows are split.",
    alternatives=("btree-index.build.max-parallelism",),
)
BTREE_INDEX_COMPRESSION = choice(
    "btree-index.compression", "none", "The compression of blocks of B-tree indexes.", ("none", "zstd", "lz4")
)
BTREE_INDEX_COMPRESSION_LEVEL = integer("btree-index.compression-level", "1", "The level of that compression.")
BTREE_INDEX_BLOCK_SIZE = memory_size("btree-index.block-size", "64 kb", "The target size of a block of a B-tree index.")
BTREE_INDEX_CACHE_SIZE = memory_size(
    "btree-index.cache-size",
    "128 mb",
    "The memory for cached blocks of B-tree indexes per process.",
    status=kept_for("Java engines"),
)
BTREE_INDEX_HIGH_PRIORITY_POOL_RATIO = double(
    "btree-index.high-priority-pool-ratio",
    "0.1",
    "The fraction of that memory that is reserved for frequently read blocks.",
    status=kept_for("Java engines"),
)
BTREE_INDEX_FALLBACK_SCAN_MAX_SIZE = memory_size(
    "btree-index.fallback-scan-max-size",
    "256 mb",
    "The maximum size of B-tree indexes that are searched for more than single values.",
)
BITMAP_INDEX_DICTIONARY_BLOCK_SIZE = memory_size(
    "bitmap-index.dictionary-block-size", "16 kb", "The target size of a block of a global bitmap index's dictionary."
)
BITMAP_INDEX_COMPRESSION = choice(
    "bitmap-index.compression",
    "none",
    "The compression of dictionaries of global bitmap indexes.",
    ("none", "zstd", "lz4"),
)
BITMAP_INDEX_COMPRESSION_LEVEL = integer("bitmap-index.compression-level", "1", "The level of that compression.")
BITMAP_INDEX_FALLBACK_SCAN_MAX_SIZE = memory_size(
    "bitmap-index.fallback-scan-max-size",
    "256 mb",
    "The maximum size of global bitmap indexes that are searched for more than single values.",
)
MULTIVALUE_INDEX_DICTIONARY_BLOCK_SIZE = memory_size(
    "multivalue-index.dictionary-block-size",
    "16 kb",
    "The target size of a block of the dictionary of an index on array elements.",
)
MULTIVALUE_INDEX_COMPRESSION = choice(
    "multivalue-index.compression",
    "none",
    "The compression of dictionaries of indexes on array elements.",
    ("none", "zstd", "lz4"),
)
MULTIVALUE_INDEX_COMPRESSION_LEVEL = integer(
    "multivalue-index.compression-level", "1", "The level of that compression."
)
LUMINA_PROPERTY = string(
    "lumina.<property>", None, "A setting of lumina vector indexes.", status=kept_for("vector indexes of Java engines")
)
PK_BTREE_INDEX_COLUMNS = string(
    "pk-btree.index.columns",
    None,
    "The columns, comma-separated, of a primary-key table with a B-tree index.",
    status=kept_for("Java engines"),
)
PK_BITMAP_INDEX_COLUMNS = string(
    "pk-bitmap.index.columns",
    None,
    "The columns, comma-separated, of a primary-key table with a bitmap index.",
    status=kept_for("Java engines"),
)
PK_MULTIVALUE_INDEX_COLUMNS = string(
    "pk-multivalue.index.columns",
    None,
    "The array columns, comma-separated, whose elements are indexed.",
    status=kept_for("Java engines"),
)
PK_FULL_TEXT_INDEX_COLUMNS = string(
    "pk-full-text.index.columns",
    None,
    "The text column of a primary-key table with a full-text index.",
    status=kept_for("Java engines"),
)
PK_VECTOR_INDEX_COLUMNS = string(
    "pk-vector.index.columns",
    None,
    "The vector column of a primary-key table with a vector index.",
    status=kept_for("Java engines"),
)
FIELD_PK_INDEX_PROPERTY = string(
    "fields.<column>.pk-<kind>.<property>",
    None,
    "A setting of a column's index of a primary-key table.",
    status=kept_for("indexes of Java engines over tables with a primary key"),
)
FIELD_INDEX_TYPE = string(
    "fields.<column>.index-type",
    None,
    "The type of vector index that searches of the column use.",
    status=kept_for("vector searches of Java engines"),
)
FIELD_REFINE_FACTOR = string(
    "fields.<column>.refine_factor",
    None,
    "The number of candidates that a vector search of the column examines exactly, as a multiple of the requested"
    " rows.",
    status=kept_for("vector searches of Java engines"),
)
VECTOR_FIELD = string("vector-field", None, "The array columns, comma-separated, that are stored as vectors.")
VECTOR_FILE_FORMAT = string(
    "vector.file.format",
    None,
    "The format of dedicated files for vector columns with data evolution; if not set, they have none.",
)
VECTOR_TARGET_FILE_SIZE = memory_size(
    "vector.target-file-size", None, "The target size of a vector file; defaults to that of other data files."
)
VECTOR_SEARCH_DISTRIBUTE_ENABLED = boolean(
    "vector-search.distribute.enabled",
    "false",
    "Whether a vector search is distributed over the cluster.",
    status=kept_for("Flink and Java's Spark connector"),
)
VECTOR_SEARCH_LATERAL_JOIN_BATCH_SIZE = integer(
    "vector-search.lateral-join.batch-size",
    "256",
    "The number of vectors of a lateral join that are searched at a time.",
    check=at_least(1),
    status=kept_for("Java's Spark connector"),
)
