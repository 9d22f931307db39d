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
    "snapshot.num-retained.min", "10", "How many snapshots stay at least.", check=at_least(1)
)
SNAPSHOT_NUM_RETAINED_MAX = integer(
    "snapshot.num-retained.max", UNLIMITED_INTEGER, "How many snapshots stay at most.", check=at_least(1)
)
SNAPSHOT_TIME_RETAINED = duration("snapshot.time-retained", "1 h", "How long a snapshot stays before it may expire.")
SNAPSHOT_EXPIRE_LIMIT = integer(
    "snapshot.expire.limit", "50", "How many snapshots expire at a time.", check=at_least(1)
)
SNAPSHOT_EXPIRE_EXECUTION_MODE = choice(
    "snapshot.expire.execution-mode",
    "sync",
    "Whether a commit waits for the snapshots that it lets expire.",
    ("sync", "async"),
)
SNAPSHOT_CLEAN_EMPTY_DIRECTORIES = boolean(
    "snapshot.clean-empty-directories",
    "false",
    "Whether directories that expiry leaves empty are removed, which object stores do slowly.",
    alternatives=("snapshot.expire.clean-empty-directories",),
)
SNAPSHOT_IGNORE_EMPTY_COMMIT = boolean(
    "snapshot.ignore-empty-commit",
    None,
    "Whether a commit without any change makes no snapshot, which is so without it.",
)
SNAPSHOT_WATERMARK_IDLE_TIMEOUT = duration(
    "snapshot.watermark-idle-timeout",
    None,
    "After what time without data a stream makes a snapshot all the same, so that tags by watermark appear.",
    status=kept_for("Flink"),
)
CONSUMER_ID = string(
    "consumer-id", None, "The name under which a stream records how far it has read, so that snapshots wait for it."
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
    "How long after its last progress a consumer is forgotten.",
    alternatives=("consumer.expire-time",),
    renamed=True,
)
CONSUMER_IGNORE_PROGRESS = boolean(
    "consumer.ignore-progress", "false", "Whether a new stream starts as if its consumer had not read yet."
)
CONSUMER_CHANGELOG_ONLY = boolean(
    "consumer.changelog-only", "false", "Whether consumers hold on to changelogs only and let snapshots expire."
)
