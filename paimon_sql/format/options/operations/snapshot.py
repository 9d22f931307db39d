"""Options of snapshots, and of the consumers that retain them."""

from __future__ import annotations

from paimon_sql.format.options.values import (
    UNLIMITED_INTEGER,
    at_least,
    boolean,
    choice,
    duration,
    integer,
    kept_for,
    string,
)

SNAPSHOT_NUM_RETAINED_MIN = integer(
    "snapshot.num-retained.min", "10", "The minimum number of snapshots to retain.", check=at_least(1)
)
SNAPSHOT_NUM_RETAINED_MAX = integer(
    "snapshot.num-retained.max", UNLIMITED_INTEGER, "The maximum number of snapshots to retain.", check=at_least(1)
)
SNAPSHOT_TIME_RETAINED = duration(
    "snapshot.time-retained", "1 h", "The time for which a snapshot is retained before it may expire."
)
SNAPSHOT_EXPIRE_LIMIT = integer(
    "snapshot.expire.limit", "50", "The maximum number of snapshots that expire at a time.", check=at_least(1)
)
SNAPSHOT_EXPIRE_EXECUTION_MODE = choice(
    "snapshot.expire.execution-mode",
    "sync",
    "Whether a commit waits for the expiration of snapshots.",
    ("sync", "async"),
)
SNAPSHOT_CLEAN_EMPTY_DIRECTORIES = boolean(
    "snapshot.clean-empty-directories",
    "false",
    "Whether directories that are empty after expiration are removed, which is slow on object stores.",
    alternatives=("snapshot.expire.clean-empty-directories",),
)
SNAPSHOT_IGNORE_EMPTY_COMMIT = boolean(
    "snapshot.ignore-empty-commit",
    None,
    "Whether a commit without changes creates no snapshot; true if not set.",
)
SNAPSHOT_WATERMARK_IDLE_TIMEOUT = duration(
    "snapshot.watermark-idle-timeout",
    None,
    "The time without data after which a stream creates a snapshot anyway, so that tags by watermark are created.",
    status=kept_for("Flink"),
)
CONSUMER_ID = string(
    "consumer-id",
    None,
    "The name under which a stream records its progress, so that snapshots that it has not read do not expire.",
)
CONSUMER_MODE = choice(
    "consumer.mode",
    "exactly-once",
    "Whether a stream records its progress with its checkpoints or when it finds the next snapshot.",
    ("exactly-once", "at-least-once"),
    status=kept_for("Flink"),
)
CONSUMER_EXPIRATION_TIME = duration(
    "consumer.expiration-time",
    None,
    "The time since its last progress after which a consumer expires.",
    alternatives=("consumer.expire-time",),
    renamed=True,
)
CONSUMER_IGNORE_PROGRESS = boolean(
    "consumer.ignore-progress", "false", "Whether a new stream ignores the recorded progress of its consumer."
)
CONSUMER_CHANGELOG_ONLY = boolean(
    "consumer.changelog-only", "false", "Whether consumers retain only changelogs and let snapshots expire."
)
