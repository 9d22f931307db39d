"""Options of scans: snapshot, selection, splits."""

from __future__ import annotations

from paimon_sql.format.options import values as option

SCAN_MODE = option.choice(
    "scan.mode",
    "default",
    "Where a read starts; by default this follows from the other options.",
    (
        *("default", "latest-full", "full", "latest", "latest-delta", "compacted-full"),
        *("from-timestamp", "from-creation-timestamp", "from-file-creation-time"),
        *("from-snapshot", "from-snapshot-full", "incremental"),
    ),
    alternatives=("log.scan",),
)
SCAN_SNAPSHOT_ID = option.long("scan.snapshot-id", None, "The snapshot to read, or from which a stream starts.")
SCAN_TAG_NAME = option.string("scan.tag-name", None, "The tag to read, or from which a stream starts.")
SCAN_VERSION = option.string(
    "scan.version",
    None,
    "The tag or snapshot to read, as in VERSION AS OF; a tag takes precedence over a snapshot of that number.",
)
SCAN_TIMESTAMP_MILLIS = option.long(
    "scan.timestamp-millis",
    None,
    "The time, in milliseconds since the epoch, whose latest snapshot is read.",
    alternatives=("log.scan.timestamp-millis",),
)
SCAN_TIMESTAMP = option.string(
    "scan.timestamp", None, "The time, as a string in the session's time zone, whose latest snapshot is read."
)
SCAN_WATERMARK = option.long("scan.watermark", None, "The watermark whose first snapshot at or after it is read.")
SCAN_CREATION_TIME_MILLIS = option.long(
    "scan.creation-time-millis",
    None,
    "The time, in milliseconds since the epoch, from which snapshots are read, or else files by their creation time.",
)
SCAN_FILE_CREATION_TIME_MILLIS = option.long(
    "scan.file-creation-time-millis",
    None,
    "The time, in milliseconds since the epoch, after which a file must have been created to be read.",
)
SCAN_BOUNDED_WATERMARK = option.long(
    "scan.bounded.watermark", None, "The watermark after which a stream ends.", status=option.kept_for("Java's streams")
)
SCAN_BUCKET = option.integer(
    "scan.bucket",
    None,
    "The number of the only bucket to read; UPDATE, DELETE and MERGE read all buckets.",
    check=option.at_least(0),
)
SCAN_FALLBACK_BRANCH = option.string(
    "scan.fallback-branch", None, "The branch that is read for partitions that the current branch lacks."
)
SCAN_FALLBACK_BRANCH_READ_FAIL_FAST = option.boolean(
    "scan.fallback-branch.read-fail-fast",
    "false",
    "Whether a failure to read the fallback branch fails the query.",
    status=option.kept_for("Java engines"),
)
SCAN_FALLBACK_SNAPSHOT_BRANCH = option.string(
    "scan.fallback-snapshot-branch", None, "The branch of a chain table that holds whole partitions."
)
SCAN_FALLBACK_DELTA_BRANCH = option.string(
    "scan.fallback-delta-branch", None, "The branch of a chain table that holds the changes since the whole partitions."
)
SCAN_PRIMARY_BRANCH = option.string(
    "scan.primary-branch", None, "The branch whose partitions take precedence over those of the current branch."
)
SCAN_IGNORE_CORRUPT_FILES = option.boolean(
    "scan.ignore-corrupt-files", "false", "Whether reads skip data files that cannot be read."
)
SCAN_IGNORE_LOST_FILES = option.boolean(
    "scan.ignore-lost-files", "false", "Whether reads skip data files that are missing."
)
SCAN_MANIFEST_PARALLELISM = option.integer(
    "scan.manifest.parallelism",
    None,
    "The number of manifests that are read in parallel; defaults to four.",
    check=option.at_least(1),
)
SCAN_MAX_SPLITS_PER_TASK = option.integer(
    "scan.max-splits-per-task",
    "10",
    "The maximum number of splits that a stream plans ahead for each task.",
    check=option.at_least(1),
    status=option.kept_for("Flink"),
)
SCAN_PLAN_SORT_PARTITION = option.boolean(
    "scan.plan-sort-partition",
    "false",
    "Whether partitions are read in the order of their values instead of that of writing.",
)
SCAN_PLAN_AUTO_TAG_FOR_READ_TIME_RETAINED = option.duration(
    "scan.plan-auto-tag-for-read.time-retained",
    None,
    "The time for which a tag is retained that a batch read creates to keep its snapshot.",
    status=option.kept_for("Java engines"),
)
INCREMENTAL_BETWEEN = option.string(
    "incremental-between",
    None,
    "Two snapshots or tags, comma-separated: reads the changes after the first up to the second.",
)
INCREMENTAL_BETWEEN_TIMESTAMP = option.string(
    "incremental-between-timestamp",
    None,
    "Two times, comma-separated: reads the changes after the first up to the second.",
)
INCREMENTAL_BETWEEN_SCAN_MODE = option.choice(
    "incremental-between-scan-mode",
    "auto",
    "Whether changes are read from new files, from changelogs or by comparing two states.",
    ("auto", "delta", "changelog", "diff"),
)
INCREMENTAL_BETWEEN_TAG_TO_SNAPSHOT = option.boolean(
    "incremental-between-tag-to-snapshot",
    "false",
    "Whether two tags are resolved to their snapshots, whose changes are read one by one.",
)
INCREMENTAL_TO_AUTO_TAG = option.string(
    "incremental-to-auto-tag", None, "The tag up to which changes are read, from the previous automatic tag on."
)
SOURCE_SPLIT_TARGET_SIZE = option.memory_size(
    "source.split.target-size",
    "128 mb",
    "The target size of a split; splits are smaller if readers would be idle otherwise.",
)
SOURCE_SPLIT_OPEN_FILE_COST = option.memory_size(
    "source.split.open-file-cost",
    "4 mb",
    "The size that opening a file counts as when splits and compactions are planned.",
)
READ_BATCH_SIZE = option.integer(
    "read.batch-size",
    "1024",
    "The number of rows that a Python worker reads from a file at a time; if not set, it depends on the read.",
    check=option.at_least(1),
)
FILE_READER_ASYNC_THRESHOLD = option.memory_size(
    "file-reader-async-threshold",
    "10 mb",
    "The size from which a file is read ahead in the background.",
    status=option.kept_for("Java engines"),
)
CONTINUOUS_DISCOVERY_INTERVAL = option.duration(
    "continuous.discovery-interval",
    "10 s",
    "The interval at which a stream checks for new snapshots.",
    status=option.kept_for("Flink"),
)
STREAMING_READ_SNAPSHOT_DELAY = option.duration(
    "streaming.read.snapshot.delay", None, "The minimum age of a snapshot for a stream to read it."
)
STREAMING_READ_OVERWRITE = option.boolean(
    "streaming-read-overwrite", "false", "Whether a stream reads the changes of INSERT OVERWRITE."
)
STREAMING_READ_APPEND_OVERWRITE = option.boolean(
    "streaming-read-append-overwrite", "false", "Whether a stream of an append table reads what INSERT OVERWRITE adds."
)
STREAM_SCAN_MODE = option.string(
    "stream-scan-mode",
    "none",
    "The special stream that Java engines start internally; set only by them.",
    status=option.kept_for("Flink"),
)
BATCH_SCAN_MODE = option.string(
    "batch-scan-mode",
    "none",
    "The special read that Java engines start internally; set only by them.",
    status=option.kept_for("Flink"),
)
TABLE_READ_SEQUENCE_NUMBER_ENABLED = option.boolean(
    "table-read.sequence-number.enabled",
    "false",
    "Whether $audit_log and $binlog show the sequence number of each row of a primary-key table.",
)
KEY_VALUE_SEQUENCE_NUMBER_ENABLED = option.boolean(
    "key-value.sequence_number.enabled",
    "false",
    "Whether internal reads of Java engines include the sequence number.",
    status=option.kept_for("Java engines"),
)
CHAIN_TABLE_ENABLED = option.boolean(
    "chain-table.enabled", "false", "Whether partitions are read as the latest whole one merged with the changes since."
)
CHAIN_TABLE_CHAIN_PARTITION_KEYS = option.string(
    "chain-table.chain-partition-keys",
    None,
    "The last partition columns, comma-separated, along which a chain runs; defaults to all of them.",
)
CHAIN_TABLE_SPLIT_KEY_RANGE_ENABLED = option.boolean(
    "chain-table.split.key-range-enabled", "true", "Whether a bucket of a chain is split by key ranges."
)
CHAIN_TABLE_STREAMING_MERGE_SNAPSHOT = option.boolean(
    "chain-table.streaming.merge-snapshot",
    "false",
    "Whether a stream of a chain table starts with the merged chains.",
    status=option.kept_for("Java's streams"),
)
