"""``CALL sys.compact_manifest``: rewrite the manifests of a table."""

from __future__ import annotations

import time
from typing import Any

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.options.operations.commit import (
    MANIFEST_SORT_ENABLED,
    MANIFEST_SORT_MAX_REWRITE_SIZE,
    MANIFEST_SORT_PARTITION_FIELD,
)
from paimon_sql.format.schema.types import BigIntType, BooleanType, DoubleType, string_type
from paimon_sql.procedures.base import TABLE, Argument, Context, Procedure, result
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE, OPTIONS, options_of
from paimon_sql.storage.operations.compact_manifests import ManifestCompactor


class CompactManifest(Procedure):
    """Plans of reads and writes have less to look through afterwards; no data file is touched."""

    name = "compact_manifest"
    summary = "Rewrite a table's manifests: few, and without the entries of deleted files."
    arguments = (
        TABLE,
        OPTIONS,
        DRY_RUN,
        Argument(
            "manifest_sort_enabled",
            BooleanType(),
            "Whether entries are sorted by a partition column, so that reads of some partitions skip manifests.",
        ),
        Argument("manifest_sort_partition_field", string_type(), "That column; the first one by default."),
        Argument(
            "manifest_sort_max_rewrite_size", string_type(), "How much is sorted at most, as '256 mb'; the rest waits."
        ),
    )
    results = (result("result", BooleanType(), "always true"),)
    details = (
        result("manifests", BigIntType(), "manifests before"),
        result("rewritten_manifests", BigIntType(), "manifests among them that were rewritten"),
        result("rewritten_bytes", BigIntType(), "their bytes"),
        result("dropped_entries", BigIntType(), "entries of deleted files that went"),
        result("new_manifests", BigIntType(), "manifests that took their place"),
        result("new_bytes", BigIntType(), "their bytes; null in a dry run"),
        result("snapshot_id", BigIntType(), "the snapshot made; null if nothing was to do"),
        result("seconds", DoubleType(), "how long it took"),
        result("note", string_type(), "why nothing was to do"),
    )
    example = "CALL sys.compact_manifest(table => 'db.t')"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        started, dry_run = time.monotonic(), bool(arguments["dry_run"])
        options = options_of(arguments["options"])
        for option in (MANIFEST_SORT_ENABLED, MANIFEST_SORT_PARTITION_FIELD, MANIFEST_SORT_MAX_REWRITE_SIZE):
            given = arguments[option.key.replace("-", "_").replace(".", "_")]
            if given is not None:
                text = str(given).lower() if isinstance(given, bool) else given
                option.read(text, option.key)
                options[option.key] = text
        table = context.table(arguments["table"]).with_options(options)
        if table.options.get(MANIFEST_SORT_ENABLED) and not table.schema.partition_keys:
            raise InvalidInputError(
                f"{table.name} has no partitions to sort manifests by.", remedy="Leave manifest_sort_enabled out."
            )
        compactor = ManifestCompactor(table)
        made = compactor.run(dry_run=dry_run)
        plan = compactor.plan
        nothing = "the manifests are few and hold no deleted file"
        return [
            (
                True,
                len(plan.before),
                len(plan.rewritten),
                sum(m.file_size for m in plan.rewritten),
                plan.dropped_entries,
                len(plan.parts),
                sum(m.file_size for m in compactor.written) if made else None,
                made.id if made else None,
                round(time.monotonic() - started, 3),
                nothing if not plan.rewritten else NOTHING_DONE if dry_run else None,
            )
        ]
