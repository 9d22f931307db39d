"""Options of row tracking, data evolution and blobs."""

from __future__ import annotations

from paimon_sql.format.options.values import fixed, java, option, unread

java_spark = option.kept_for("Java's Spark connector")

ROW_TRACKING_ENABLED = fixed.flag(
    "row-tracking.enabled", "Whether each row of an append table has an id and records its last change."
)
ROW_TRACKING_PARTITION_GROUP_ON_COMMIT = option.boolean(
    "row-tracking.partition-group-on-commit",
    "Whether the row ids of one commit are consecutive within a partition.",
    "true",
)
DATA_EVOLUTION_ENABLED = fixed.flag(
    "data-evolution.enabled",
    "Whether columns of existing rows may be written to separate files, so that updates rewrite nothing else.",
)
DATA_EVOLUTION_REASSIGN_SKIP_CONTIGUOUS_ROW_COUNT = option.long(
    "data-evolution.reassign.skip-contiguous-row-count",
    "The number of consecutive row ids from which rows keep their ids when ids are reassigned; 0 for never.",
    "1000000000",
)
DATA_EVOLUTION_COMPACTION_REWRITE_ROW_IDS = option.flag(
    "data-evolution.compaction.rewrite-row-ids", "Kept for old tables and refused when true: compaction keeps row ids."
)
BLOB_FIELD = fixed.string(
    "blob-field", "The binary columns, comma-separated, that are stored as blobs in separate files."
)
BLOB_DESCRIPTOR_FIELD = fixed.string(
    "blob-descriptor-field",
    "The columns, comma-separated, that store only references to blobs elsewhere.",
    alternatives=("blob.stored-descriptor-fields",),
)
BLOB_VIEW_FIELD = fixed.string(
    "blob-view-field", "The columns, comma-separated, that refer to blobs of other tables and are fetched when read."
)
BLOB_AS_DESCRIPTOR = option.flag(
    "blob-as-descriptor",
    "Whether reads return references to blobs instead of their bytes, and writes store the blobs that references"
    " point to.",
)
BLOB_DESCRIPTOR_FIELD_RESOLVE_ENABLED = option.boolean(
    "blob-descriptor-field.resolve.enabled",
    "Whether references to blobs in the columns of blob-descriptor-field are resolved when read.",
    "true",
)
BLOB_VIEW_RESOLVE_ENABLED = option.boolean(
    "blob-view.resolve.enabled", "Whether references to blobs of other tables are resolved when read.", "true"
)
BLOB_DESCRIPTOR_SOURCE_TABLE = option.string(
    "blob-descriptor.source-table", "The table whose storage is used to read referenced blobs that are copied."
)
BLOB_DESCRIPTOR_PROPERTY = option.string(
    "blob-descriptor.<property>", "A setting of the storage from which referenced blobs are read."
)
BLOB_WRITE_NULL_ON_MISSING_FILE = option.flag(
    "blob-write-null-on-missing-file", "Whether a reference to a blob that does not exist is written as null."
)
BLOB_WRITE_NULL_ON_FETCH_FAILURE = option.flag(
    "blob-write-null-on-fetch-failure", "Whether a reference to a blob that cannot be read is written as null."
)
BLOB_COMPACTION_ENABLED = option.flag(
    "blob-compaction.enabled", "Whether compaction of a data-evolution table also merges blob files."
)
BLOB_TARGET_FILE_SIZE = option.memory_size(
    "blob.target-file-size", "The target size of a blob file; defaults to that of other data files."
)
BLOB_SPLIT_BY_FILE_SIZE = option.boolean(
    "blob.split-by-file-size", "Whether the size of blobs counts when splits are planned."
)
BLOB_COPY_BUFFER_SIZE = option.memory_size("blob.copy-buffer-size", "The buffer size for copying a blob.", "4 kb")

KEPT = (
    java_spark.boolean(
        "data-evolution.merge-into.file-pruning", "Whether MERGE INTO first finds the files that it touches.", "true"
    ),
    java_spark.flag(
        "data-evolution.merge-into.source-persist", "Whether MERGE INTO persists its source while it runs."
    ),
    unread.memory_size(
        "data-evolution.row-id-conflict-rewrite.max-size",
        "The maximum amount of data that an update adapts to a concurrent compaction; 0 for none.",
        "256 mb",
    ),
    java.flag(
        "data-evolution.row-sidecar.enabled", "Whether a row-oriented copy of each file speeds up reads of single rows."
    ),
    java.long(
        "data-evolution.row-sidecar.max-selected-rows",
        "The maximum number of rows that are read from that copy.",
        "4096",
    ),
    java.double(
        "data-evolution.row-sidecar.max-selection-ratio",
        "The maximum fraction of a file's rows that are read from that copy.",
        "0.05",
    ),
)
