"""Options of lookups by key: local files and caches."""

from __future__ import annotations

from paimon_sql.format.options.values import (
    UNLIMITED_SIZE,
    boolean,
    double,
    duration,
    float_number,
    integer,
    kept_for,
    long,
    memory_size,
    string,
)

LOOKUP_CACHE_ROWS = long(
    "lookup.cache-rows",
    "10000",
    "The number of rows of a lookup table that are cached.",
    status=kept_for("Java engines"),
)
LOOKUP_CACHE_FILE_RETENTION = duration(
    "lookup.cache-file-retention",
    "1 h",
    "The time for which a local lookup file is retained after its last use.",
    status=kept_for("Java engines"),
)
LOOKUP_CACHE_MAX_DISK_SIZE = memory_size(
    "lookup.cache-max-disk-size",
    UNLIMITED_SIZE,
    "The maximum amount of local disk that lookup files use.",
    status=kept_for("Java engines"),
)
LOOKUP_CACHE_MAX_MEMORY_SIZE = memory_size(
    "lookup.cache-max-memory-size",
    "256 mb",
    "The maximum memory of cached lookup data.",
    status=kept_for("Java engines"),
)
LOOKUP_CACHE_HIGH_PRIORITY_POOL_RATIO = double(
    "lookup.cache.high-priority-pool-ratio",
    "0.25",
    "The fraction of that memory that is reserved for indexes and filters.",
    status=kept_for("Java engines"),
)
LOOKUP_CACHE_SPILL_COMPRESSION = string(
    "lookup.cache-spill-compression",
    "zstd",
    "The compression of local lookup files.",
    status=kept_for("Java engines"),
)
LOOKUP_CACHE_BLOOM_FILTER_ENABLED = boolean(
    "lookup.cache.bloom.filter.enabled",
    "true",
    "Whether lookup files have a Bloom filter of their keys.",
    status=kept_for("Java engines"),
)
LOOKUP_CACHE_BLOOM_FILTER_FPP = double(
    "lookup.cache.bloom.filter.fpp",
    "0.05",
    "The false positive probability of that filter.",
    status=kept_for("Java engines"),
)
LOOKUP_HASH_LOAD_FACTOR = float_number(
    "lookup.hash-load-factor",
    "0.75",
    "The load factor of the hash tables of lookup files.",
    status=kept_for("compatibility: no current engine reads it"),
)
LOOKUP_CONTINUOUS_DISCOVERY_INTERVAL = duration(
    "lookup.continuous.discovery-interval",
    None,
    "The interval at which a lookup table is refreshed; defaults to that at which a stream checks for snapshots.",
    status=kept_for("Flink"),
)
LOOKUP_BLOB_AS_DESCRIPTOR = boolean(
    "lookup.blob-as-descriptor",
    "false",
    "Whether a lookup table stores references to blobs instead of their bytes.",
    status=kept_for("Flink"),
)
LOOKUP_REMOTE_FILE_ENABLED = boolean(
    "lookup.remote-file.enabled",
    "false",
    "Whether lookup files are stored beside the data and shared.",
    status=kept_for("Java engines"),
)
LOOKUP_REMOTE_FILE_LEVEL_THRESHOLD = integer(
    "lookup.remote-file.level-threshold",
    "-2147483648",
    "The level from which files get a stored lookup file.",
    status=kept_for("Java engines"),
)
LOOKUP_MERGE_BUFFER_SIZE = memory_size(
    "lookup.merge-buffer-size",
    "8 mb",
    "The maximum memory for merging the rows of one key in a lookup.",
    status=kept_for("Java engines"),
)
LOOKUP_MERGE_RECORDS_THRESHOLD = integer(
    "lookup.merge-records-threshold",
    "1024",
    "The number of rows of one key from which they are merged in a packed buffer.",
    status=kept_for("Java engines"),
)
LOCAL_KV_DB_BLOCK_SIZE = memory_size(
    "local-kv-db.block-size",
    "4 kb",
    "The size of a block in the local key-value store.",
    status=kept_for("Java engines"),
)
