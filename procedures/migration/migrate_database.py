"""``CALL sys.migrate_database``: migrate all tables of plain files of a database."""

from __future__ import annotations

from paimon_sql.errors import InvalidInputError, PaimonError
from paimon_sql.format.schema.records import Int, Long, StringMap, column
from paimon_sql.procedures.base import Context, DryRun, Noted, Procedure, detail, optional, required
from paimon_sql.procedures.migration import migrate_table
from paimon_sql.procedures.values import positive


class MigrateDatabase(Procedure):
    """Runs `migrate_table` for each table of a database of Spark's own catalog, into the database of the same name.

    A table that cannot be migrated is left unchanged, and the others are still migrated.
    """

    summary = "Migrate all tables of plain files of a database to Paimon tables."
    example = "CALL sys.migrate_database(source_type => 'hive', database => 'db', dry_run => true)"

    class Arguments(DryRun, kw_only=True):
        source_type: str = required(migrate_table.SOURCE_TYPE)
        database: str = required("The database of Spark's own catalog.")
        options: str | None = optional("Options of the new tables, as 'k=v,k=v'.")
        options_map: StringMap | None = optional(migrate_table.OPTIONS_MAP)
        parallelism: Int | None = optional(migrate_table.PARALLELISM)

    class Result(Noted, kw_only=True):
        result: str = column("how many tables were migrated, and how many failed")
        migrated_tables: Long = detail("migrated tables")
        failed_tables: Long = detail("tables that failed")
        migrated_files: Long = detail("number of moved files")
        migrated_bytes: Long = detail("their size in bytes")
        migrated_records: Long = detail("number of their rows")
        seconds: float = detail("duration in seconds")
        tables: str | None = detail("the outcome of each table, one per line; null without any")

    def call(self, context: Context, arguments: Arguments) -> Result:
        # Validate once, before the first table.
        migrate_table.options_of_table(arguments.options, arguments.options_map)
        positive(arguments.parallelism)
        plain, kind = migrate_table.known_tables(context, arguments.source_type)
        if kind != "hive":
            raise InvalidInputError(
                f"A database cannot be a directory of {kind} files.", remedy="Use source_type => 'hive'."
            )
        # All but the database are arguments of `migrate_table`, too.
        given = {name: value for name, value in vars(arguments).items() if name != "database"}
        procedure, names = migrate_table.MigrateTable(), plain.names(arguments.database)
        done, failed, lines = [], 0, []
        for name in names:
            source = f"{arguments.database}.{name}"
            try:
                migrated = procedure.call(context, procedure.Arguments(table=source, **given))
            except (PaimonError, OSError) as error:
                failed += 1
                lines.append(f"{source}: failed: {error}")
                continue
            done.append(migrated)
            lines.append(f"{source}: {migrated.migrated_files} files, {migrated.migrated_records} records")
        return self.Result(
            result=f"migrate database is finished, success cnt: {len(done)} , failed cnt: {failed}",
            migrated_tables=len(done),
            failed_tables=failed,
            migrated_files=sum(m.migrated_files for m in done),
            migrated_bytes=sum(m.migrated_bytes for m in done),
            migrated_records=sum(m.migrated_records for m in done),
            tables="\n".join(lines) or None,
            note=None if arguments.dry_run or names else f"{arguments.database} has no tables",
        )
