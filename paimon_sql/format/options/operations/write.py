"""Options of writes: buffers, spilling, batches."""

from __future__ import annotations

from paimon_sql.format.options.values import UNLIMITED_SIZE, java, option

WRITE_BUFFER_SIZE = option.memory_size(
    "write-buffer-size",
    "The amount of data that a writer buffers in memory before it sorts and writes a file.",
    "256 mb",
)
WRITE_BUFFER_SPILLABLE = option.boolean(
    "write-buffer-spillable",
    "Whether a full write buffer is spilled to the local disk; otherwise it is written as files of level 0.",
    "true",
)
WRITE_BUFFER_MAX_DISK_SIZE = option.memory_size(
    "write-buffer-spill.max-disk-size", "The maximum amount of local disk that write buffers use.", UNLIMITED_SIZE
)
LOCAL_MERGE_BUFFER_SIZE = option.memory_size(
    "local-merge-buffer-size",
    "The size of the buffer that merges rows of one key before they are sent to their buckets; helps against skewed"
    " keys.",
)
SORT_SPILL_THRESHOLD = option.integer.at_least(2)(
    "sort-spill-threshold", "The maximum number of sorted runs that are merged at a time before some are spilled."
)
SORT_SPILL_BUFFER_SIZE = option.memory_size(
    "sort-spill-buffer-size", "The amount of data that a spilling sort holds in memory.", "64 mb"
)
SPILL_COMPRESSION = option.string("spill-compression", "The compression of spilled data.", "zstd")
SPILL_COMPRESSION_ZSTD_LEVEL = option.integer(
    "spill-compression.zstd-level", "The zstd compression level of spilled data, from 1 on.", "1"
)
FILE_OPERATION_THREAD_NUM = option.integer.at_least(1)(
    "file-operation.thread-num",
    "The number of files that are listed, deleted or copied in parallel; defaults to one per processor.",
    alternatives=("delete-file.thread-num", "file.operation.thread-num"),
)

KEPT = (
    java.flag("write-buffer-for-append", "Whether writers of append tables use the write buffer, too."),
    java.integer(
        "write-max-writers-to-spill", "The number of open writers from which append tables buffer and spill rows.", "10"
    ),
    java.integer.at_least(1)(
        "write.batch-size",
        "The number of rows that a file format writes at a time.",
        "1024",
        alternatives=("orc.write.batch-size",),
    ),
    java.memory_size(
        "write.batch-memory", "The maximum memory of the rows that a file format writes at a time.", "128 mb"
    ),
    java.one_of("scan", "snapshot")(
        "write.sequence-number-init-mode",
        "Whether a writer reads the next sequence number from the files of its bucket or from the snapshot.",
        "scan",
    ),
    java.boolean("async-file-write", "Whether files are written while the next rows are prepared.", "true"),
    java.integer.at_least(2)(
        "local-sort.max-num-file-handles", "The maximum number of spilled files that a sort merges at a time.", "128"
    ),
    java.one_of("min-heap", "loser-tree")(
        "sort-engine",
        "How other engines merge the sorted runs of a primary-key table row by row; here whole batches are merged.",
        "loser-tree",
    ),
    java.memory_size("page-size", "The size of a page of working memory.", "64 kb"),
    java.memory_size("cache-page-size", "The size of a page of cached memory.", "64 kb"),
)
