"""Options of commits and their manifests."""

from __future__ import annotations

from paimon_sql.format.options.values import java, option

COMMIT_MAX_RETRIES = option.integer.at_least(0)(
    "commit.max-retries", "The maximum number of retries of a commit after concurrent commits.", "10"
)
COMMIT_TIMEOUT = option.duration("commit.timeout", "The time for which a commit is retried before it fails.")
COMMIT_MIN_RETRY_WAIT = option.duration(
    "commit.min-retry-wait", "The wait before the first retry of a commit.", "10 ms"
)
COMMIT_MAX_RETRY_WAIT = option.duration(
    "commit.max-retry-wait", "The maximum wait between two retries of a commit.", "10 s"
)
COMMIT_USER_PREFIX = option.string(
    "commit.user-prefix", "The prefix of generated commit users: the prefix, `_` and a UUID."
)
COMMIT_FORCE_CREATE_SNAPSHOT = option.flag(
    "commit.force-create-snapshot", "Whether a micro-batch of a stream creates a snapshot even if nothing was written."
)
COMMIT_STRICT_MODE_LAST_SAFE_SNAPSHOT = option.long.at_least(-1)(
    "commit.strict-mode.last-safe-snapshot",
    "The snapshot since which no other commit user may have compacted or overwritten a partition that a commit"
    " changes, or, if the commit overwrites it, added files to it; otherwise the commit is refused. A user's own"
    " newest snapshot is safe, too; with -1 only that one is, so that a user's first commit is not checked. Each"
    " statement is a separate commit user; a stream keeps one.",
)
DYNAMIC_PARTITION_OVERWRITE = option.boolean(
    "dynamic-partition-overwrite", "Whether INSERT OVERWRITE replaces only the partitions that it writes to.", "true"
)
OVERWRITE_UPGRADE = option.boolean(
    "overwrite-upgrade",
    "Whether files of an overwritten primary-key table move to a deep level without a rewrite.",
    "true",
)
END_INPUT_CHECK_PARTITION_EXPIRE = option.flag(
    "end-input.check-partition-expire", "Whether partitions are expired at the end of a batch write."
)
END_INPUT_WATERMARK = option.long(
    "end-input.watermark", "The watermark of a batch write's snapshots, unless that of the previous snapshot is later."
)
MANIFEST_COMPRESSION = option.string("manifest.compression", "The compression of manifests.", "zstd")
MANIFEST_TARGET_FILE_SIZE = option.memory_size("manifest.target-file-size", "The target size of a manifest.", "8 mb")
MANIFEST_MERGE_MIN_COUNT = option.integer.at_least(1)(
    "manifest.merge-min-count", "The minimum number of small manifests to merge.", "30"
)
MANIFEST_FULL_COMPACTION_THRESHOLD_SIZE = option.memory_size(
    "manifest.full-compaction-threshold-size",
    "The total size of manifests with deleted files from which all manifests are rewritten.",
    "16 mb",
)
MANIFEST_DELETE_FILE_DROP_STATS = option.flag(
    "manifest.delete-file-drop-stats", "Whether manifest entries that delete a file omit its statistics."
)
MANIFEST_SORT_ENABLED = option.flag(
    "manifest-sort.enabled", "Whether manifest entries are sorted by partition when manifests are merged."
)
MANIFEST_SORT_PARTITION_FIELD = option.string(
    "manifest-sort.partition-field", "The partition column to sort manifest entries by; defaults to the first one."
)
MANIFEST_SORT_MAX_REWRITE_SIZE = option.memory_size(
    "manifest-sort.max-rewrite-size", "The maximum total size of manifests that a commit sorts.", "256 mb"
)
METASTORE_PARTITIONED_TABLE = option.flag(
    "metastore.partitioned-table", "Whether partitions are registered in the metastore, so that Hive lists them."
)

KEPT = (
    java.flag("commit.force-compact", "Whether all pending compactions are finished before a commit."),
    java.flag(
        "commit.discard-duplicate-files",
        "Whether a file that a commit adds twice is added once instead of failing the commit.",
    ),
    java.string("commit.callbacks", "Java classes, comma-separated, that Java engines call after a commit."),
    java.string("commit.callback.<class>.param", "The constructor parameter of such a class."),
    option.kept_for("Java engines older than 2.0").one_of("avro", "orc", "parquet")(
        "manifest.format",
        "The file format of manifests that versions before 2 write; here manifests are written as Avro, and all three"
        " formats are read.",
        "avro",
    ),
    java.boolean(
        "manifest.merge-optimize.enabled",
        "Whether manifests are merged block by block without decoding all entries.",
        "true",
    ),
    java.flag(
        "visibility-callback.enabled",
        "Whether a commit waits until its rows are visible to readers, after compaction or indexing.",
    ),
    java.duration(
        "visibility-callback.timeout",
        "The time that a commit waits for its rows to be visible before it fails.",
        "30 min",
    ),
    java.duration(
        "visibility-callback.check-interval",
        "The interval at which a waiting commit checks whether its rows are visible.",
        "10 s",
    ),
)
