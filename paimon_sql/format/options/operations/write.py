"""Options of writes: buffers, spilling, batches."""

from __future__ import annotations

from paimon_sql.format.options import values as option

WRITE_BUFFER_SIZE = option.memory_size(
    "write-buffer-size",
    "256 mb",
    "The amount of data that a writer buffers in memory before it sorts and writes a file.",
)
WRITE_BUFFER_SPILLABLE = option.boolean(
    "write-buffer-spillable",
    "true",
    "Whether a full write buffer is spilled to the local disk; otherwise it is written as files of level 0.",
)
WRITE_BUFFER_MAX_DISK_SIZE = option.memory_size(
    "write-buffer-spill.max-disk-size",
    option.UNLIMITED_SIZE,
    "The maximum amount of local disk that write buffers use.",
)
WRITE_BUFFER_FOR_APPEND = option.boolean(
    "write-buffer-for-append",
    "false",
    "Whether writers of append tables use the write buffer, too.",
    status=option.kept_for("Java engines"),
)
WRITE_MAX_WRITERS_TO_SPILL = option.integer(
    "write-max-writers-to-spill",
    "10",
    "The number of open writers from which append tables buffer and spill rows.",
    status=option.kept_for("Java engines"),
)
WRITE_BATCH_SIZE = option.integer(
    "write.batch-size",
    "1024",
    "The number of rows that a file format writes at a time.",
    check=option.at_least(1),
    alternatives=("orc.write.batch-size",),
    status=option.kept_for("Java engines"),
)
WRITE_BATCH_MEMORY = option.memory_size(
    "write.batch-memory",
    "128 mb",
    "The maximum memory of the rows that a file format writes at a time.",
    status=option.kept_for("Java engines"),
)
WRITE_SEQUENCE_NUMBER_INIT_MODE = option.choice(
    "write.sequence-number-init-mode",
    "scan",
    "Whether a writer reads the next sequence number from the files of its bucket or from the snapshot.",
    ("scan", "snapshot"),
    status=option.kept_for("Java engines"),
)
ASYNC_FILE_WRITE = option.boolean(
    "async-file-write",
    "true",
    "Whether files are written while the next rows are prepared.",
    status=option.kept_for("Java engines"),
)
LOCAL_MERGE_BUFFER_SIZE = option.memory_size(
    "local-merge-buffer-size",
    None,
    "The size of the buffer that merges rows of one key before they are sent to their buckets; helps against skewed"
    " keys.",
)
LOCAL_SORT_MAX_NUM_FILE_HANDLES = option.integer(
    "local-sort.max-num-file-handles",
    "128",
    "The maximum number of spilled files that a sort merges at a time.",
    check=option.at_least(2),
    status=option.kept_for("Java engines"),
)
SORT_ENGINE = option.choice(
    "sort-engine",
    "loser-tree",
    "How other engines merge the sorted runs of a primary-key table row by row; here whole batches are merged.",
    ("min-heap", "loser-tree"),
    status=option.kept_for("Java engines"),
)
SORT_SPILL_THRESHOLD = option.integer(
    "sort-spill-threshold",
    None,
    "The maximum number of sorted runs that are merged at a time before some are spilled.",
    check=option.at_least(2),
)
SORT_SPILL_BUFFER_SIZE = option.memory_size(
    "sort-spill-buffer-size", "64 mb", "The amount of data that a spilling sort holds in memory."
)
SPILL_COMPRESSION = option.string("spill-compression", "zstd", "The compression of spilled data.")
SPILL_COMPRESSION_ZSTD_LEVEL = option.integer(
    "spill-compression.zstd-level", "1", "The zstd compression level of spilled data, from 1 on."
)
PAGE_SIZE = option.memory_size(
    "page-size", "64 kb", "The size of a page of working memory.", status=option.kept_for("Java engines")
)
CACHE_PAGE_SIZE = option.memory_size(
    "cache-page-size", "64 kb", "The size of a page of cached memory.", status=option.kept_for("Java engines")
)
FILE_OPERATION_THREAD_NUM = option.integer(
    "file-operation.thread-num",
    None,
    "The number of files that are listed, deleted or copied in parallel; defaults to one per processor.",
    check=option.at_least(1),
    alternatives=("delete-file.thread-num", "file.operation.thread-num"),
)
