"""``CALL sys.migrate_database``: all tables of plain files of a database become Paimon's."""

from __future__ import annotations

import time
from typing import Any

from paimon_sql.errors import InvalidInputError, PaimonError
from paimon_sql.format.schema.types import BigIntType, DoubleType, string_type
from paimon_sql.procedures.base import Argument, Context, Procedure, result
from paimon_sql.procedures.migration.migrate_table import (
    OPTIONS_MAP,
    PARALLELISM,
    SOURCE_TYPE,
    Request,
    known_tables,
    migrate,
    options_of_table,
    threads_of,
)
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE


class MigrateDatabase(Procedure):
    """What `migrate_table` does, for each table of a database of Spark's own catalog, into the database of that name.

    A table that cannot be migrated stays what it is and does not keep the others from it.
    """

    name = "migrate_database"
    summary = "Make all tables of plain files of a database tables of Paimon."
    arguments = (
        SOURCE_TYPE,
        Argument("database", string_type(), "The database, of Spark's own catalog.", required=True),
        Argument("options", string_type(), "Options of the new tables, as 'k=v,k=v'."),
        OPTIONS_MAP,
        PARALLELISM,
        DRY_RUN,
    )
    results = (result("result", string_type(), "how many tables were migrated, and how many could not be"),)
    details = (
        result("migrated_tables", BigIntType(), "tables that were migrated"),
        result("failed_tables", BigIntType(), "tables that could not be"),
        result("migrated_files", BigIntType(), "files that were moved"),
        result("migrated_bytes", BigIntType(), "their bytes"),
        result("migrated_records", BigIntType(), "the rows in them"),
        result("seconds", DoubleType(), "how long it took"),
        result("tables", string_type(), "what became of each table, a line each; null without any"),
        result("note", string_type(), "why nothing was done"),
    )
    example = "CALL sys.migrate_database(source_type => 'hive', database => 'db', dry_run => true)"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        started, dry_run = time.monotonic(), bool(arguments["dry_run"])
        options = options_of_table(arguments["options"], arguments["options_map"])
        threads = threads_of(arguments["parallelism"])
        plain, kind = known_tables(context, arguments["source_type"])
        if kind != "hive":
            raise InvalidInputError(
                f"A database cannot be a folder of {kind} files.", remedy="Its source_type is 'hive'."
            )
        database = arguments["database"]
        names = plain.names(database)
        done, failed, lines = [], 0, []
        for name in names:
            source = f"{database}.{name}"
            request = Request(kind, source, None, options, keep=False, threads=threads, dry_run=dry_run)
            try:
                migrated = migrate(context, request)
            except (PaimonError, OSError) as error:
                failed += 1
                lines.append(f"{source}: failed: {error}")
                continue
            done.append(migrated)
            lines.append(f"{source}: {len(migrated.source.files)} files, {migrated.records} records")
        note = NOTHING_DONE if dry_run else None if names else f"{database} has no tables"
        return [
            (
                f"migrate database is finished, success cnt: {len(done)} , failed cnt: {failed}",
                len(done),
                failed,
                sum(len(m.source.files) for m in done),
                sum(m.source.bytes for m in done),
                sum(m.records for m in done),
                round(time.monotonic() - started, 3),
                "\n".join(lines) or None,
                note,
            )
        ]
