"""Options of scans: snapshot, selection, splits."""

from __future__ import annotations

from paimon_sql.format.options.values import java, option

java_streams = option.kept_for("Java's streams")
kept_for_flink = option.kept_for("Flink")

SCAN_MODE = option.one_of(
    *("default", "latest-full", "full", "latest", "latest-delta", "compacted-full"),
    *("from-timestamp", "from-creation-timestamp", "from-file-creation-time"),
    *("from-snapshot", "from-snapshot-full", "incremental"),
)(
    "scan.mode",
    "Where a read starts; by default this follows from the other options.",
    "default",
    alternatives=("log.scan",),
)
SCAN_SNAPSHOT_ID = option.long("scan.snapshot-id", "The snapshot to read, or from which a stream starts.")
SCAN_TAG_NAME = option.string("scan.tag-name", "The tag to read, or from which a stream starts.")
SCAN_VERSION = option.string(
    "scan.version",
    "The tag or snapshot to read, as in VERSION AS OF; a tag takes precedence over a snapshot of that number.",
)
SCAN_TIMESTAMP_MILLIS = option.long(
    "scan.timestamp-millis",
    "The time, in milliseconds since the epoch, whose latest snapshot is read.",
    alternatives=("log.scan.timestamp-millis",),
)
SCAN_TIMESTAMP = option.string(
    "scan.timestamp", "The time, as a string in the session's time zone, whose latest snapshot is read."
)
SCAN_WATERMARK = option.long("scan.watermark", "The watermark whose first snapshot at or after it is read.")
SCAN_CREATION_TIME_MILLIS = option.long(
    "scan.creation-time-millis",
    "The time, in milliseconds since the epoch, from which snapshots are read, or else files by their creation time.",
)
SCAN_FILE_CREATION_TIME_MILLIS = option.long(
    "scan.file-creation-time-millis",
    "The time, in milliseconds since the epoch, after which a file must have been created to be read.",
)
SCAN_BUCKET = option.integer.at_least(0)(
    "scan.bucket", "The number of the only bucket to read; UPDATE, DELETE and MERGE read all buckets."
)
SCAN_FALLBACK_BRANCH = option.string(
    "scan.fallback-branch", "The branch that is read for partitions that the current branch lacks."
)
SCAN_FALLBACK_SNAPSHOT_BRANCH = option.string(
    "scan.fallback-snapshot-branch", "The branch of a chain table that holds whole partitions."
)
SCAN_FALLBACK_DELTA_BRANCH = option.string(
    "scan.fallback-delta-branch", "The branch of a chain table that holds the changes since the whole partitions."
)
SCAN_PRIMARY_BRANCH = option.string(
    "scan.primary-branch", "The branch whose partitions take precedence over those of the current branch."
)
SCAN_IGNORE_CORRUPT_FILES = option.flag(
    "scan.ignore-corrupt-files", "Whether reads skip data files that cannot be read."
)
SCAN_IGNORE_LOST_FILES = option.flag("scan.ignore-lost-files", "Whether reads skip data files that are missing.")
SCAN_MANIFEST_PARALLELISM = option.integer.at_least(1)(
    "scan.manifest.parallelism", "The number of manifests that are read in parallel; defaults to four."
)
SCAN_PLAN_SORT_PARTITION = option.flag(
    "scan.plan-sort-partition", "Whether partitions are read in the order of their values instead of that of writing."
)
INCREMENTAL_BETWEEN = option.string(
    "incremental-between", "Two snapshots or tags, comma-separated: reads the changes after the first up to the second."
)
INCREMENTAL_BETWEEN_TIMESTAMP = option.string(
    "incremental-between-timestamp", "Two times, comma-separated: reads the changes after the first up to the second."
)
INCREMENTAL_BETWEEN_SCAN_MODE = option.one_of("auto", "delta", "changelog", "diff")(
    "incremental-between-scan-mode",
    "Whether changes are read from new files, from changelogs or by comparing two states.",
    "auto",
)
INCREMENTAL_BETWEEN_TAG_TO_SNAPSHOT = option.flag(
    "incremental-between-tag-to-snapshot",
    "Whether two tags are resolved to their snapshots, whose changes are read one by one.",
)
INCREMENTAL_TO_AUTO_TAG = option.string(
    "incremental-to-auto-tag", "The tag up to which changes are read, from the previous automatic tag on."
)
SOURCE_SPLIT_TARGET_SIZE = option.memory_size(
    "source.split.target-size",
    "The target size of a split; splits are smaller if readers would be idle otherwise.",
    "128 mb",
)
SOURCE_SPLIT_OPEN_FILE_COST = option.memory_size(
    "source.split.open-file-cost",
    "The size that opening a file counts as when splits and compactions are planned.",
    "4 mb",
)
READ_BATCH_SIZE = option.integer.at_least(1)(
    "read.batch-size",
    "The number of rows that a Python worker reads from a file at a time; if not set, it depends on the read.",
    "1024",
)
STREAMING_READ_SNAPSHOT_DELAY = option.duration(
    "streaming.read.snapshot.delay", "The minimum age of a snapshot for a stream to read it."
)
STREAMING_READ_OVERWRITE = option.flag(
    "streaming-read-overwrite", "Whether a stream reads the changes of INSERT OVERWRITE."
)
STREAMING_READ_APPEND_OVERWRITE = option.flag(
    "streaming-read-append-overwrite", "Whether a stream of an append table reads what INSERT OVERWRITE adds."
)
TABLE_READ_SEQUENCE_NUMBER_ENABLED = option.flag(
    "table-read.sequence-number.enabled",
    "Whether $audit_log and $binlog show the sequence number of each row of a primary-key table.",
)
CHAIN_TABLE_ENABLED = option.flag(
    "chain-table.enabled", "Whether partitions are read as the latest whole one merged with the changes since."
)
CHAIN_TABLE_CHAIN_PARTITION_KEYS = option.string(
    "chain-table.chain-partition-keys",
    "The last partition columns, comma-separated, along which a chain runs; defaults to all of them.",
)
CHAIN_TABLE_SPLIT_KEY_RANGE_ENABLED = option.boolean(
    "chain-table.split.key-range-enabled", "Whether a bucket of a chain is split by key ranges.", "true"
)

KEPT = (
    java_streams.long("scan.bounded.watermark", "The watermark after which a stream ends."),
    java.flag("scan.fallback-branch.read-fail-fast", "Whether a failure to read the fallback branch fails the query."),
    kept_for_flink.integer.at_least(1)(
        "scan.max-splits-per-task", "The maximum number of splits that a stream plans ahead for each task.", "10"
    ),
    java.duration(
        "scan.plan-auto-tag-for-read.time-retained",
        "The time for which a tag is retained that a batch read creates to keep its snapshot.",
    ),
    java.memory_size(
        "file-reader-async-threshold", "The size from which a file is read ahead in the background.", "10 mb"
    ),
    kept_for_flink.duration(
        "continuous.discovery-interval", "The interval at which a stream checks for new snapshots.", "10 s"
    ),
    kept_for_flink.string(
        "stream-scan-mode", "The special stream that Java engines start internally; set only by them.", "none"
    ),
    kept_for_flink.string(
        "batch-scan-mode", "The special read that Java engines start internally; set only by them.", "none"
    ),
    java.flag(
        "key-value.sequence_number.enabled", "Whether internal reads of Java engines include the sequence number."
    ),
    java_streams.flag(
        "chain-table.streaming.merge-snapshot", "Whether a stream of a chain table starts with the merged chains."
    ),
)
