"""Options of row tracking, data evolution and blobs."""

from __future__ import annotations

from paimon_sql.format.options.values import boolean, double, kept_for, long, memory_size, string

ROW_TRACKING_ENABLED = boolean(
    "row-tracking.enabled",
    "false",
    "Whether each row of an append table has an id and tells its last change.",
    immutable=True,
)
ROW_TRACKING_PARTITION_GROUP_ON_COMMIT = boolean(
    "row-tracking.partition-group-on-commit",
    "true",
    "Whether the row ids of one commit follow each other within a partition.",
)
DATA_EVOLUTION_ENABLED = boolean(
    "data-evolution.enabled",
    "false",
    "Whether columns of existing rows may be written into files of their own, so that updates rewrite nothing else.",
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
    "Whether MERGE INTO keeps its source while it runs.",
    status=kept_for("Java's Spark connector"),
)
DATA_EVOLUTION_REASSIGN_SKIP_CONTIGUOUS_ROW_COUNT = long(
    "data-evolution.reassign.skip-contiguous-row-count",
    "1000000000",
    "From which number of rows with ids in sequence on these keep their ids when ids are given anew; 0 for never.",
)
DATA_EVOLUTION_ROW_ID_CONFLICT_REWRITE_MAX_SIZE = memory_size(
    "data-evolution.row-id-conflict-rewrite.max-size",
    "256 mb",
    "How much data an update adapts to a compaction that overtook it; 0 for none.",
    status=kept_for("no engine, as none of today reads it"),
)
DATA_EVOLUTION_COMPACTION_REWRITE_ROW_IDS = boolean(
    "data-evolution.compaction.rewrite-row-ids",
    "false",
    "Kept for old tables and refused when true: compaction keeps row ids.",
)
DATA_EVOLUTION_ROW_SIDECAR_ENABLED = boolean(
    "data-evolution.row-sidecar.enabled",
    "false",
    "Whether a copy of each file by rows helps to read single rows.",
    status=kept_for("Java engines"),
)
DATA_EVOLUTION_ROW_SIDECAR_MAX_SELECTED_ROWS = long(
    "data-evolution.row-sidecar.max-selected-rows",
    "4096",
    "Up to how many rows are read from that copy.",
    status=kept_for("Java engines"),
)
DATA_EVOLUTION_ROW_SIDECAR_MAX_SELECTION_RATIO = double(
    "data-evolution.row-sidecar.max-selection-ratio",
    "0.05",
    "Up to which share of a file's rows are read from that copy.",
    status=kept_for("Java engines"),
)
BLOB_FIELD = string(
    "blob-field",
    None,
    "The binary columns, with commas between, that are stored as blobs in files of their own.",
    immutable=True,
)
BLOB_DESCRIPTOR_FIELD = string(
    "blob-descriptor-field",
    None,
    "The columns, with commas between, of which only references to blobs elsewhere are stored.",
    immutable=True,
    alternatives=("blob.stored-descriptor-fields",),
)
BLOB_VIEW_FIELD = string(
    "blob-view-field",
    None,
    "The columns, with commas between, that refer to blobs of other tables and are fetched when read.",
    immutable=True,
)
BLOB_AS_DESCRIPTOR = boolean(
    "blob-as-descriptor",
    "false",
    "Whether reads give references to blobs and not their bytes, and writes take them for what they refer to.",
)
BLOB_DESCRIPTOR_FIELD_RESOLVE_ENABLED = boolean(
    "blob-descriptor-field.resolve.enabled",
    "true",
    "Whether references to blobs in the columns of blob-descriptor-field are followed when read.",
)
BLOB_VIEW_RESOLVE_ENABLED = boolean(
    "blob-view.resolve.enabled", "true", "Whether references to blobs of other tables are followed when read."
)
BLOB_DESCRIPTOR_SOURCE_TABLE = string(
    "blob-descriptor.source-table", None, "The table through whose storage referenced blobs are read to be copied."
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
    "blob-compaction.enabled", "false", "Whether compaction of a data-evolution table also merges files of blobs."
)
BLOB_TARGET_FILE_SIZE = memory_size(
    "blob.target-file-size", None, "How large a file of blobs becomes; without it as other data files."
)
BLOB_SPLIT_BY_FILE_SIZE = boolean(
    "blob.split-by-file-size", None, "Whether the size of blobs counts when splits are planned."
)
BLOB_COPY_BUFFER_SIZE = memory_size("blob.copy-buffer-size", "4 kb", "How much of a blob is copied at a time.")
