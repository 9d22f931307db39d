"""Options of writes: buffers, spilling, batches."""

from __future__ import annotations

from paimon_sql.format.options.values import (
    UNLIMITED_SIZE,
    at_least,
    boolean,
    choice,
    integer,
    kept_for,
    memory_size,
    string,
)

WRITE_BUFFER_SIZE = memory_size(
    "write-buffer-size", "256 mb", "How much a writer gathers in memory before it sorts and writes a file."
)
WRITE_BUFFER_SPILLABLE = boolean(
    "write-buffer-spillable",
    "true",
    "Whether a full write buffer moves to the local disk; otherwise it becomes files of level 0.",
)
WRITE_BUFFER_MAX_DISK_SIZE = memory_size(
    "write-buffer-spill.max-disk-size", UNLIMITED_SIZE, "How much of the local disk write buffers may take."
)
WRITE_BUFFER_FOR_APPEND = boolean(
    "write-buffer-for-append",
    "false",
    "Whether writers of append tables gather rows in the write buffer too.",
    status=kept_for("Java engines"),
)
WRITE_MAX_WRITERS_TO_SPILL = integer(
    "write-max-writers-to-spill",
    "10",
    "How many open writers make an append buffer its rows and spill them.",
    status=kept_for("Java engines"),
)
WRITE_BATCH_SIZE = integer(
    "write.batch-size",
    "1024",
    "How many rows a file format takes at a time when it writes.",
    check=at_least(1),
    alternatives=("orc.write.batch-size",),
    status=kept_for("Java engines"),
)
WRITE_BATCH_MEMORY = memory_size(
    "write.batch-memory",
    "128 mb",
    "How much memory the rows take that a file format writes at a time.",
    status=kept_for("Java engines"),
)
WRITE_SEQUENCE_NUMBER_INIT_MODE = choice(
    "write.sequence-number-init-mode",
    "scan",
    "Whether a writer learns the next sequence number from the files of its bucket or from the snapshot.",
    ("scan", "snapshot"),
    status=kept_for("Java engines"),
)
ASYNC_FILE_WRITE = boolean(
    "async-file-write",
    "true",
    "Whether files are written while the next rows are prepared.",
    status=kept_for("Java engines"),
)
LOCAL_MERGE_BUFFER_SIZE = memory_size(
    "local-merge-buffer-size",
    None,
    "How much is gathered to merge rows of one key before they are sent to their buckets; helps against skewed keys.",
)
LOCAL_SORT_MAX_NUM_FILE_HANDLES = integer(
    "local-sort.max-num-file-handles",
    "128",
    "How many spilled files a sort merges at a time.",
    check=at_least(2),
    status=kept_for("Java engines"),
)
SORT_ENGINE = choice(
    "sort-engine",
    "loser-tree",
    "How other engines merge the sorted runs of a primary-key table row by row; here whole batches are merged.",
    ("min-heap", "loser-tree"),
    status=kept_for("Java engines"),
)
SORT_SPILL_THRESHOLD = integer(
    "sort-spill-threshold",
    None,
    "How many sorted runs are merged at a time before some are spilled.",
    check=at_least(2),
)
SORT_SPILL_BUFFER_SIZE = memory_size("sort-spill-buffer-size", "64 mb", "How much a spilling sort holds in memory.")
SPILL_COMPRESSION = string("spill-compression", "zstd", "The compression of spilled data.")
SPILL_COMPRESSION_ZSTD_LEVEL = integer(
    "spill-compression.zstd-level", "1", "How hard zstd works on spilled data, from 1 on."
)
PAGE_SIZE = memory_size("page-size", "64 kb", "The size of a page of working memory.", status=kept_for("Java engines"))
CACHE_PAGE_SIZE = memory_size(
    "cache-page-size", "64 kb", "The size of a page of cached memory.", status=kept_for("Java engines")
)
FILE_OPERATION_THREAD_NUM = integer(
    "file-operation.thread-num",
    None,
    "How many files are listed, deleted or copied at a time; without it one a processor.",
    check=at_least(1),
    alternatives=("delete-file.thread-num", "file.operation.thread-num"),
)
