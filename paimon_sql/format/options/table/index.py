"""Options of file indexes, global indexes, deletion vectors, and searches by text or vector."""

from __future__ import annotations

from paimon_sql.format.options.values import fixed, java, option, unread

native_indexes = option.kept_for("vector and text indexes of Flink and Java's Spark connector")
vector_searches = option.kept_for("vector searches of Java engines")

_SEARCH_MODES = ("fast", "full", "detail")

FILE_INDEX_READ_ENABLED = option.boolean("file-index.read.enabled", "Whether reads use the file indexes.", "true")
FILE_INDEX_IN_MANIFEST_THRESHOLD = option.memory_size(
    "file-index.in-manifest-threshold", "The maximum size of a file index that is stored in the manifest.", "500 bytes"
)
FILE_INDEX_COLUMNS = option.string(
    "file-index.<type>.columns",
    "The columns, comma-separated, that get a file index of this type: bloom-filter, bitmap, bsi, range-bitmap.",
)
FILE_INDEX_PROPERTY = option.string("file-index.<type>.<column>.<property>", "A setting of a column's file index.")
INDEX_FILE_IN_DATA_FILE_DIR = fixed.flag(
    "index-file-in-data-file-dir", "Whether index files are stored in the directories of the buckets."
)
DELETION_VECTORS_ENABLED = option.flag(
    "deletion-vectors.enabled",
    "Whether deleted and replaced rows are marked in deletion vectors, so that reads need not merge.",
)
DELETION_VECTORS_BITMAP64 = option.flag(
    "deletion-vectors.bitmap64", "Whether deletion vectors are written as 64-bit bitmaps, as Iceberg reads them."
)
DELETION_VECTORS_MODIFIABLE = option.flag(
    "deletion-vectors.modifiable", "Whether deletion vectors may be switched on or off for a table with data."
)
DELETION_VECTORS_MERGE_ON_READ = option.flag(
    "deletion-vectors.merge-on-read",
    "Whether batch reads merge files that are not compacted yet, so that their rows are visible.",
)
DELETION_VECTOR_INDEX_FILE_TARGET_SIZE = option.memory_size(
    "deletion-vector.index-file.target-size",
    "The target size of a deletion vector file; a bucket of a table with fixed buckets or a primary key has only one.",
    "2 mb",
)
GLOBAL_INDEX_ENABLED = option.boolean("global-index.enabled", "Whether reads use the global indexes over rows.", "true")
GLOBAL_INDEX_COLUMN_UPDATE_ACTION = option.one_of("THROW_ERROR", "DROP_PARTITION_INDEX", "IGNORE")(
    "global-index.column-update-action",
    "What an update of an indexed column does: fail, drop the partition's index, or leave it unchanged until it is"
    " rebuilt.",
    "THROW_ERROR",
)
GLOBAL_INDEX_EXTERNAL_PATH = option.string(
    "global-index.external-path", "The directory of global index files; defaults to index/ of the table."
)
GLOBAL_INDEX_THREAD_NUM = option.integer.at_least(1)(
    "global-index.thread-num", "The number of global index files that are read in parallel.", "32"
)
GLOBAL_INDEX_SEARCH_MODE = option.one_of(*_SEARCH_MODES)(
    "global-index.search-mode", "The search mode of indexes whose type does not set its own."
)
SCALAR_INDEX_SEARCH_MODE = option.one_of(*_SEARCH_MODES)(
    "scalar-index.search-mode",
    "Whether lookups by value read only indexed rows, or also those that no index covers yet. If not set, they read"
    " those, too; only an explicit 'fast' omits them.",
    "fast",
)
SORTED_INDEX_RECORDS_PER_RANGE = option.long(
    "sorted-index.records-per-range",
    "The number of rows in one file of a sorted index.",
    "10000000",
    alternatives=("btree-index.records-per-range",),
)
SORTED_INDEX_BUILD_MAX_PARALLELISM = option.integer(
    "sorted-index.build.max-parallelism",
    "The maximum number of files into which the keys of consecutive rows are split.",
    "4096",
    alternatives=("btree-index.build.max-parallelism",),
)
BTREE_INDEX_COMPRESSION = option.one_of("none", "zstd", "lz4")(
    "btree-index.compression", "The compression of blocks of B-tree indexes.", "none"
)
BTREE_INDEX_COMPRESSION_LEVEL = option.integer("btree-index.compression-level", "The level of that compression.", "1")
BTREE_INDEX_BLOCK_SIZE = option.memory_size(
    "btree-index.block-size", "The target size of a block of a B-tree index.", "64 kb"
)
BTREE_INDEX_FALLBACK_SCAN_MAX_SIZE = option.memory_size(
    "btree-index.fallback-scan-max-size",
    "The maximum size of B-tree indexes that are searched for more than single values.",
    "256 mb",
)
BITMAP_INDEX_DICTIONARY_BLOCK_SIZE = option.memory_size(
    "bitmap-index.dictionary-block-size", "The target size of a block of a global bitmap index's dictionary.", "16 kb"
)
BITMAP_INDEX_COMPRESSION = option.one_of("none", "zstd", "lz4")(
    "bitmap-index.compression", "The compression of dictionaries of global bitmap indexes.", "none"
)
BITMAP_INDEX_COMPRESSION_LEVEL = option.integer("bitmap-index.compression-level", "The level of that compression.", "1")
BITMAP_INDEX_FALLBACK_SCAN_MAX_SIZE = option.memory_size(
    "bitmap-index.fallback-scan-max-size",
    "The maximum size of global bitmap indexes that are searched for more than single values.",
    "256 mb",
)
MULTIVALUE_INDEX_DICTIONARY_BLOCK_SIZE = option.memory_size(
    "multivalue-index.dictionary-block-size",
    "The target size of a block of the dictionary of an index on array elements.",
    "16 kb",
)
MULTIVALUE_INDEX_COMPRESSION = option.one_of("none", "zstd", "lz4")(
    "multivalue-index.compression", "The compression of dictionaries of indexes on array elements.", "none"
)
MULTIVALUE_INDEX_COMPRESSION_LEVEL = option.integer(
    "multivalue-index.compression-level", "The level of that compression.", "1"
)
PK_BTREE_INDEX_COLUMNS = java.string(
    "pk-btree.index.columns", "The columns, comma-separated, of a primary-key table with a B-tree index."
)
PK_BITMAP_INDEX_COLUMNS = java.string(
    "pk-bitmap.index.columns", "The columns, comma-separated, of a primary-key table with a bitmap index."
)
PK_MULTIVALUE_INDEX_COLUMNS = java.string(
    "pk-multivalue.index.columns", "The array columns, comma-separated, whose elements are indexed."
)
PK_FULL_TEXT_INDEX_COLUMNS = java.string(
    "pk-full-text.index.columns", "The text column of a primary-key table with a full-text index."
)
PK_VECTOR_INDEX_COLUMNS = java.string(
    "pk-vector.index.columns", "The vector column of a primary-key table with a vector index."
)
VECTOR_FIELD = option.string("vector-field", "The array columns, comma-separated, that are stored as vectors.")
VECTOR_FILE_FORMAT = option.string(
    "vector.file.format",
    "The format of dedicated files for vector columns with data evolution; if not set, they have none.",
)
VECTOR_TARGET_FILE_SIZE = option.memory_size(
    "vector.target-file-size", "The target size of a vector file; defaults to that of other data files."
)

KEPT = (
    native_indexes.long.at_least(1)(
        "global-index.row-count-per-shard",
        "The number of rows that one file of a native global index covers.",
        "100000",
    ),
    unread.integer.at_least(1)(
        "global-index.build.max-shard", "The maximum number of files of a native global index, if that suffices.", "32"
    ),
    native_indexes.integer.at_least(1)(
        "global-index.build.max-parallelism", "The maximum number of tasks that build a native global index.", "4096"
    ),
    vector_searches.one_of(*_SEARCH_MODES)(
        "vector-index.search-mode",
        "Whether vector searches read only indexed rows, or also those that no index covers yet.",
        "fast",
    ),
    option.kept_for("text searches of Java engines").one_of(*_SEARCH_MODES)(
        "full-text-index.search-mode",
        "Whether text searches read only indexed rows, or also those that no index covers yet.",
        "fast",
    ),
    java.memory_size("btree-index.cache-size", "The memory for cached blocks of B-tree indexes per process.", "128 mb"),
    java.double(
        "btree-index.high-priority-pool-ratio",
        "The fraction of that memory that is reserved for frequently read blocks.",
        "0.1",
    ),
    option.kept_for("vector indexes of Java engines").string(
        "lumina.<property>", "A setting of lumina vector indexes."
    ),
    option.kept_for("indexes of Java engines over tables with a primary key").string(
        "fields.<column>.pk-<kind>.<property>", "A setting of a column's index of a primary-key table."
    ),
    vector_searches.string("fields.<column>.index-type", "The type of vector index that searches of the column use."),
    vector_searches.string(
        "fields.<column>.refine_factor",
        "The number of candidates that a vector search of the column examines exactly, as a multiple of the requested"
        " rows.",
    ),
    option.kept_for("Flink and Java's Spark connector").flag(
        "vector-search.distribute.enabled", "Whether a vector search is distributed over the cluster."
    ),
    option.kept_for("Java's Spark connector").integer.at_least(1)(
        "vector-search.lateral-join.batch-size",
        "The number of vectors of a lateral join that are searched at a time.",
        "256",
    ),
)
