"""``CALL sys.compact_manifest``: rewrite the manifests of a table."""

from __future__ import annotations

from paimon_sql.errors import InvalidInputError
from paimon_sql.format.options.operations.commit import (
    MANIFEST_SORT_ENABLED,
    MANIFEST_SORT_MAX_REWRITE_SIZE,
    MANIFEST_SORT_PARTITION_FIELD,
)
from paimon_sql.format.schema.records import Long
from paimon_sql.procedures.base import DRY_RUN, Committed, Context, Done, Procedure, TheTable, detail, optional
from paimon_sql.procedures.values import OPTIONS, options_of
from paimon_sql.storage.operations.compact_manifests import ManifestCompactor


class CompactManifest(Procedure):
    """Planning of reads and writes then takes less time; no data file is changed."""

    summary = "Merge a table's manifests, and remove the entries of deleted files."
    example = "CALL sys.compact_manifest(table => 'db.t')"

    class Arguments(TheTable, kw_only=True):
        options: str | None = optional(OPTIONS)
        dry_run: bool = optional(DRY_RUN, default=False)
        manifest_sort_enabled: bool | None = optional(
            "Whether to sort entries by a partition column, so that reads of some partitions skip manifests."
        )
        manifest_sort_partition_field: str | None = optional("That column; the first one by default.")
        manifest_sort_max_rewrite_size: str | None = optional("Maximum size of the manifests to sort, as '256 mb'.")

    class Result(Done, Committed, kw_only=True):
        manifests: Long = detail("manifests before")
        rewritten_manifests: Long = detail("of these, rewritten manifests")
        rewritten_bytes: Long = detail("their size in bytes")
        dropped_entries: Long = detail("removed entries of deleted files")
        new_manifests: Long = detail("manifests that replaced them")
        new_bytes: Long | None = detail("their size in bytes; null in a dry run")

    def call(self, context: Context, arguments: Arguments) -> Result:
        options = options_of(arguments.options)
        for option, given in (
            (MANIFEST_SORT_ENABLED, arguments.manifest_sort_enabled),
            (MANIFEST_SORT_PARTITION_FIELD, arguments.manifest_sort_partition_field),
            (MANIFEST_SORT_MAX_REWRITE_SIZE, arguments.manifest_sort_max_rewrite_size),
        ):
            if given is not None:
                text = str(given).lower() if isinstance(given, bool) else given
                option.read(text, option.key)
                options[option.key] = text
        table = context.table(arguments.table).with_options(options)
        if table.options.get(MANIFEST_SORT_ENABLED) and not table.schema.partition_keys:
            raise InvalidInputError(
                f"{table.name} has no partitions to sort manifests by.", remedy="Leave manifest_sort_enabled out."
            )
        compactor = ManifestCompactor(table)
        committed = compactor.run(dry_run=arguments.dry_run)
        plan = compactor.plan
        return self.Result(
            manifests=len(plan.before),
            rewritten_manifests=len(plan.rewritten),
            rewritten_bytes=sum(m.file_size for m in plan.rewritten),
            dropped_entries=plan.dropped_entries,
            new_manifests=len(plan.parts),
            new_bytes=sum(m.file_size for m in compactor.written) if committed else None,
            snapshot_id=committed.id if committed else None,
            note=None if plan.rewritten else "there are few manifests, without deleted files",
        )
