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
    "How many rows of a look-up table are cached.",
    status=kept_for("Java engines"),
)
LOOKUP_CACHE_FILE_RETENTION = duration(
    "lookup.cache-file-retention",
    "1 h",
    "How long a local look-up file stays after its last use.",
    status=kept_for("Java engines"),
)
LOOKUP_CACHE_MAX_DISK_SIZE = memory_size(
    "lookup.cache-max-disk-size",
    UNLIMITED_SIZE,
    "How much of the local disk look-up files may take.",
    status=kept_for("Java engines"),
)
LOOKUP_CACHE_MAX_MEMORY_SIZE = memory_size(
    "lookup.cache-max-memory-size",
    "256 mb",
    "How much memory cached look-up data may take.",
    status=kept_for("Java engines"),
)
LOOKUP_CACHE_HIGH_PRIORITY_POOL_RATIO = double(
    "lookup.cache.high-priority-pool-ratio",
    "0.25",
    "Which share of that memory is kept for indexes and filters.",
    status=kept_for("Java engines"),
)
LOOKUP_CACHE_SPILL_COMPRESSION = string(
    "lookup.cache-spill-compression",
    "zstd",
    "The compression of local look-up files.",
    status=kept_for("Java engines"),
)
LOOKUP_CACHE_BLOOM_FILTER_ENABLED = boolean(
    "lookup.cache.bloom.filter.enabled",
    "true",
    "Whether a Bloom filter tells which keys a look-up file lacks.",
    status=kept_for("Java engines"),
)
LOOKUP_CACHE_BLOOM_FILTER_FPP = double(
    "lookup.cache.bloom.filter.fpp",
    "0.05",
    "How often that filter may be wrong about a missing key.",
    status=kept_for("Java engines"),
)
LOOKUP_HASH_LOAD_FACTOR = float_number(
    "lookup.hash-load-factor",
    "0.75",
    "How full the hash tables of look-up files are.",
    status=kept_for("no engine, as none of today reads it"),
)
LOOKUP_CONTINUOUS_DISCOVERY_INTERVAL = duration(
    "lookup.continuous.discovery-interval",
    None,
    "How often a look-up table is brought up to date; without it as often as a stream looks for snapshots.",
    status=kept_for("Flink"),
)
LOOKUP_BLOB_AS_DESCRIPTOR = boolean(
    "lookup.blob-as-descriptor",
    "false",
    "Whether a look-up table stores references to blobs and not their bytes.",
    status=kept_for("Flink"),
)
LOOKUP_REMOTE_FILE_ENABLED = boolean(
    "lookup.remote-file.enabled",
    "false",
    "Whether look-up files are stored beside the data, for all to use.",
    status=kept_for("Java engines"),
)
LOOKUP_REMOTE_FILE_LEVEL_THRESHOLD = integer(
    "lookup.remote-file.level-threshold",
    "-2147483648",
    "From which level on files get a stored look-up file.",
    status=kept_for("Java engines"),
)
LOOKUP_MERGE_BUFFER_SIZE = memory_size(
    "lookup.merge-buffer-size",
    "8 mb",
    "How much memory merging the rows of one key may take in a look-up.",
    status=kept_for("Java engines"),
)
LOOKUP_MERGE_RECORDS_THRESHOLD = integer(
    "lookup.merge-records-threshold",
    "1024",
    "From how many rows of one key on these are merged in a packed buffer.",
    status=kept_for("Java engines"),
)
LOCAL_KV_DB_BLOCK_SIZE = memory_size(
    "local-kv-db.block-size",
    "4 kb",
    "The size of a block in the local store of keys and values.",
    status=kept_for("Java engines"),
)
