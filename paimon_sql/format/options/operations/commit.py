"""Options of commits and their manifests."""

from __future__ import annotations

from paimon_sql.format.options.values import (
    at_least,
    boolean,
    choice,
    duration,
    integer,
    kept_for,
    long,
    memory_size,
    string,
)

COMMIT_MAX_RETRIES = integer(
    "commit.max-retries", "10", "The maximum number of retries of a commit after concurrent commits.", check=at_least(0)
)
COMMIT_TIMEOUT = duration("commit.timeout", None, "The time for which a commit is retried before it fails.")
COMMIT_MIN_RETRY_WAIT = duration("commit.min-retry-wait", "10 ms", "The wait before the first retry of a commit.")
COMMIT_MAX_RETRY_WAIT = duration("commit.max-retry-wait", "10 s", "The maximum wait between two retries of a commit.")
COMMIT_USER_PREFIX = string(
    "commit.user-prefix", None, "The prefix of generated commit users: the prefix, `_` and a UUID."
)
COMMIT_FORCE_COMPACT = boolean(
    "commit.force-compact",
    "false",
    "Whether all pending compactions are finished before a commit.",
    status=kept_for("Java engines"),
)
COMMIT_FORCE_CREATE_SNAPSHOT = boolean(
    "commit.force-create-snapshot",
    "false",
    "Whether a micro-batch of a stream creates a snapshot even if nothing was written.",
)
COMMIT_DISCARD_DUPLICATE_FILES = boolean(
    "commit.discard-duplicate-files",
    "false",
    "Whether a file that a commit adds twice is added once instead of failing the commit.",
    status=kept_for("Java engines"),
)
COMMIT_STRICT_MODE_LAST_SAFE_SNAPSHOT = long(
    "commit.strict-mode.last-safe-snapshot",
    None,
    "The snapshot since which no other commit user may have compacted or overwritten a partition that a commit"
    " changes, or, if the commit overwrites it, added files to it; otherwise the commit is refused. A user's own"
    " newest snapshot is safe, too; with -1 only that one is, so that a user's first commit is not checked. Each"
    " statement is a separate commit user; a stream keeps one.",
    check=at_least(-1),
)
COMMIT_CALLBACKS = string(
    "commit.callbacks",
    None,
    "Java classes, comma-separated, that Java engines call after a commit.",
    status=kept_for("Java engines"),
)
COMMIT_CALLBACK_PARAM = string(
    "commit.callback.<class>.param", None, "The constructor parameter of such a class.", status=kept_for("Java engines")
)
DYNAMIC_PARTITION_OVERWRITE = boolean(
    "dynamic-partition-overwrite", "true", "Whether INSERT OVERWRITE replaces only the partitions that it writes to."
)
OVERWRITE_UPGRADE = boolean(
    "overwrite-upgrade",
    "true",
    "Whether files of an overwritten primary-key table move to a deep level without a rewrite.",
)
END_INPUT_CHECK_PARTITION_EXPIRE = boolean(
    "end-input.check-partition-expire", "false", "Whether partitions are expired at the end of a batch write."
)
END_INPUT_WATERMARK = long(
    "end-input.watermark",
    None,
    "The watermark of a batch write's snapshots, unless that of the previous snapshot is later.",
)
MANIFEST_COMPRESSION = string("manifest.compression", "zstd", "The compression of manifests.")
MANIFEST_FORMAT = choice(
    "manifest.format",
    "avro",
    "The file format of manifests that versions before 2 write; here manifests are written as Avro, and all three"
    " formats are read.",
    ("avro", "orc", "parquet"),
    status=kept_for("Java engines older than 2.0"),
)
MANIFEST_TARGET_FILE_SIZE = memory_size("manifest.target-file-size", "8 mb", "The target size of a manifest.")
MANIFEST_MERGE_MIN_COUNT = integer(
    "manifest.merge-min-count", "30", "The minimum number of small manifests to merge.", check=at_least(1)
)
MANIFEST_FULL_COMPACTION_THRESHOLD_SIZE = memory_size(
    "manifest.full-compaction-threshold-size",
    "16 mb",
    "The total size of manifests with deleted files from which all manifests are rewritten.",
)
MANIFEST_MERGE_OPTIMIZE_ENABLED = boolean(
    "manifest.merge-optimize.enabled",
    "true",
    "Whether manifests are merged block by block without decoding all entries.",
    status=kept_for("Java engines"),
)
MANIFEST_DELETE_FILE_DROP_STATS = boolean(
    "manifest.delete-file-drop-stats", "false", "Whether manifest entries that delete a file omit its statistics."
)
MANIFEST_SORT_ENABLED = boolean(
    "manifest-sort.enabled", "false", "Whether manifest entries are sorted by partition when manifests are merged."
)
MANIFEST_SORT_PARTITION_FIELD = string(
    "manifest-sort.partition-field",
    None,
    "The partition column to sort manifest entries by; defaults to the first one.",
)
MANIFEST_SORT_MAX_REWRITE_SIZE = memory_size(
    "manifest-sort.max-rewrite-size", "256 mb", "The maximum total size of manifests that a commit sorts."
)
VISIBILITY_CALLBACK_ENABLED = boolean(
    "visibility-callback.enabled",
    "false",
    "Whether a commit waits until its rows are visible to readers, after compaction or indexing.",
    status=kept_for("Java engines"),
)
VISIBILITY_CALLBACK_TIMEOUT = duration(
    "visibility-callback.timeout",
    "30 min",
    "The time that a commit waits for its rows to be visible before it fails.",
    status=kept_for("Java engines"),
)
VISIBILITY_CALLBACK_CHECK_INTERVAL = duration(
    "visibility-callback.check-interval",
    "10 s",
    "The interval at which a waiting commit checks whether its rows are visible.",
    status=kept_for("Java engines"),
)
METASTORE_PARTITIONED_TABLE = boolean(
    "metastore.partitioned-table",
    "false",
    "Whether partitions are registered in the metastore, so that Hive lists them.",
)
