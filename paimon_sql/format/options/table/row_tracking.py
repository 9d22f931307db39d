"""Options of row tracking, data evolution and blobs."""

from __future__ import annotations

from paimon_sql.format.options.values import boolean, double, kept_for, long, memory_size, string

ROW_TRACKING_ENABLED = boolean(
    "row-tracking.enabled",
    "false",
    "Whether each row of an append table has an id and records its last change.",
    immutable=True,
)
ROW_TRACKING_PARTITION_GROUP_ON_COMMIT = boolean(
    "row-tracking.partition-group-on-commit",
    "true",
    "Whether the row ids of one commit are consecutive within a partition.",
)
DATA_EVOLUTION_ENABLED = boolean(
    "data-evolution.enabled",
    "false",
    "Whether columns of existing rows may be written to separate files, so that updates rewrite nothing else.",
    immutable=True,
)
DATA_EVOLUTION_MERGE_INTO_FILE_PRUNING = boolean(
    "data-evolution.merge-into.file-pruning",
    "true",
    "Whether MERGE INTO first finds the files that it touches.",
    status=kept_for("Java's Spark connector"),
)
DATA_EVOLUTION_MERGE_INTO_SOURCE_PERSIST = boolean(
    "data-evolution.merge-into.source-persist",
    "false",
    "Whether MERGE INTO persists its source while it runs.",
    status=kept_for("Java's Spark connector"),
)
DATA_EVOLUTION_REASSIGN_SKIP_CONTIGUOUS_ROW_COUNT = long(
    "data-evolution.reassign.skip-contiguous-row-count",
    "1000000000",
    "The number of consecutive row ids from which rows keep their ids when ids are reassigned; 0 for never.",
)
DATA_EVOLUTION_ROW_ID_CONFLICT_REWRITE_MAX_SIZE = memory_size(
    "data-evolution.row-id-conflict-rewrite.max-size",
    "256 mb",
    "The maximum amount of data that an update adapts to a concurrent compaction; 0 for none.",
    status=kept_for("compatibility: no current engine reads it"),
)
DATA_EVOLUTION_COMPACTION_REWRITE_ROW_IDS = boolean(
    "data-evolution.compaction.rewrite-row-ids",
    "false",
    "Kept for old tables and refused when true: compaction keeps row ids.",
)
DATA_EVOLUTION_ROW_SIDECAR_ENABLED = boolean(
    "data-evolution.row-sidecar.enabled",
    "false",
    "Whether a row-oriented copy of each file speeds up reads of single rows.",
    status=kept_for("Java engines"),
)
DATA_EVOLUTION_ROW_SIDECAR_MAX_SELECTED_ROWS = long(
    "data-evolution.row-sidecar.max-selected-rows",
    "4096",
    "The maximum number of rows that are read from that copy.",
    status=kept_for("Java engines"),
)
DATA_EVOLUTION_ROW_SIDECAR_MAX_SELECTION_RATIO = double(
    "data-evolution.row-sidecar.max-selection-ratio",
    "0.05",
    "The maximum fraction of a file's rows that are read from that copy.",
    status=kept_for("Java engines"),
)
BLOB_FIELD = string(
    "blob-field",
    None,
    "The binary columns, comma-separated, that are stored as blobs in separate files.",
    immutable=True,
)
BLOB_DESCRIPTOR_FIELD = string(
    "blob-descriptor-field",
    None,
    "The columns, comma-separated, that store only references to blobs elsewhere.",
    immutable=True,
    alternatives=("blob.stored-descriptor-fields",),
)
BLOB_VIEW_FIELD = string(
    "blob-view-field",
    None,
    "The columns, comma-separated, that refer to blobs of other tables and are fetched when read.",
    immutable=True,
)
BLOB_AS_DESCRIPTOR = boolean(
    "blob-as-descriptor",
    "false",
    "Whether reads return references to blobs instead of their bytes, and writes store the blobs that references"
    " point to.",
)
BLOB_DESCRIPTOR_FIELD_RESOLVE_ENABLED = boolean(
    "blob-descriptor-field.resolve.enabled",
    "true",
    "Whether references to blobs in the columns of blob-descriptor-field are resolved when read.",
)
BLOB_VIEW_RESOLVE_ENABLED = boolean(
    "blob-view.resolve.enabled", "true", "Whether references to blobs of other tables are resolved when read."
)
BLOB_DESCRIPTOR_SOURCE_TABLE = string(
    "blob-descriptor.source-table", None, "The table whose storage is used to read referenced blobs that are copied."
)
BLOB_DESCRIPTOR_PROPERTY = string(
    "blob-descriptor.<property>", None, "A setting of the storage from which referenced blobs are read."
)
BLOB_WRITE_NULL_ON_MISSING_FILE = boolean(
    "blob-write-null-on-missing-file", "false", "Whether a reference to a blob that does not exist is written as null."
)
BLOB_WRITE_NULL_ON_FETCH_FAILURE = boolean(
    "blob-write-null-on-fetch-failure", "false", "Whether a reference to a blob that cannot be read is written as null."
)
BLOB_COMPACTION_ENABLED = boolean(
    "blob-compaction.enabled", "false", "Whether compaction of a data-evolution table also merges blob files."
)
BLOB_TARGET_FILE_SIZE = memory_size(
    "blob.target-file-size", None, "The target size of a blob file; defaults to that of other data files."
)
BLOB_SPLIT_BY_FILE_SIZE = boolean(
    "blob.split-by-file-size", None, "Whether the size of blobs counts when splits are planned."
)
BLOB_COPY_BUFFER_SIZE = memory_size("blob.copy-buffer-size", "4 kb", "The buffer size for copying a blob.")
