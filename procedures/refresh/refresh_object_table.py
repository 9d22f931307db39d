"""``CALL sys.refresh_object_table``: list the directory of an object table again."""

from __future__ import annotations

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.options.table.table import TYPE
from paimon_sql.procedures.base import Context, Long, OfTable, Procedure, Timed, column, detail
from paimon_sql.storage.file_io import file_io_of
from paimon_sql.storage.object_tables.definition import object_location
from paimon_sql.storage.object_tables.refresh import refresh


class RefreshObjectTable(Procedure):
    """The content of the directory is committed as a snapshot, unless it is unchanged."""

    summary = "Update an object table's list of files."
    example = "CALL sys.refresh_object_table(table => 'db.t')"

    Arguments = OfTable

    class Result(Timed, kw_only=True):
        file_number: Long = column("number of files")
        added_files: Long = detail("number of added files")
        removed_files: Long = detail("number of removed files")
        changed_files: Long = detail("number of files with another length or time")
        bytes: Long = detail("the size of all files in bytes")
        location: str = detail("the directory")
        snapshot_id: Long | None = detail("the created snapshot; null if nothing changed")
        note: str | None = detail("why there is no new snapshot", last=True)

    def call(self, context: Context, arguments: OfTable) -> Result:
        table = context.table(arguments.table)
        if table.options.get(TYPE) != "object-table":
            raise UnsupportedError(
                f"{table.name} is not an object table.",
                remedy="CREATE TABLE .. WITH ('type' = 'object-table', 'object-location' = '..') creates one.",
            )
        location = object_location(table)
        file_io = file_io_of(location, context.catalog.options)
        threads = 16 if file_io.is_object_store(location) else 4
        found = refresh(table, file_io, threads, dry_run=arguments.dry_run)
        return self.Result(
            file_number=found.objects,
            added_files=found.added,
            removed_files=found.removed,
            changed_files=found.changed,
            bytes=found.bytes,
            location=location,
            snapshot_id=found.snapshot.id if found.snapshot else None,
            note="nothing changed" if found.is_same and not arguments.dry_run else None,
        )
