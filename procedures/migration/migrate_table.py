"""``CALL sys.migrate_table``: migrate a table of plain files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress

from paimon_sql import errors
from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import MAIN_BRANCH, Identifier
from paimon_sql.catalog.table_types import writable
from paimon_sql.format.options.table.table import PRIMARY_KEY
from paimon_sql.format.schema.records import Int, Long, StringMap
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.procedures.base import Context, Done, DryRun, Procedure, Timed, detail, optional, required
from paimon_sql.procedures.refresher import PlainTables
from paimon_sql.procedures.values import checked_options, options_of, positive
from paimon_sql.storage.copy import migration
from paimon_sql.storage.file_formats.registry import format_names
from paimon_sql.storage.file_io.paths import parent_of
from paimon_sql.storage.schema.validation import validate_schema
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.buckets.base import bucket_mode

SOURCE_TYPE = "hive for a table of Spark's own catalog; parquet, orc or avro for a directory of such files."
OPTIONS_MAP = "Options of the new table, as a map."
PARALLELISM = "The number of files to move concurrently; 4 by default."
"""Meanings of the arguments of these names."""
_THREADS = 4


class MigrateTable(Procedure):
    """Its files are validated, moved unchanged, and committed as one snapshot.

    The new table has no primary key and no buckets. With delete_origin => false the files are copied and the source is
    kept; otherwise the source is deleted.
    """

    summary = "Migrate a table of plain Parquet, ORC or Avro files to a Paimon table without rewriting its rows."
    example = "CALL sys.migrate_table(source_type => 'hive', table => 'db.t', options => 'file.format=parquet')"

    class Arguments(DryRun, kw_only=True):
        source_type: str = required(SOURCE_TYPE)
        table: str = required("The source: db.t of Spark's own catalog, or a directory.")
        options: str | None = optional("Options of the new table, as 'k=v,k=v'.")
        delete_origin: bool | None = optional("Whether to delete the source; true by default.")
        target_table: str | None = optional("The target table; db.t of this catalog by default.")
        options_map: StringMap | None = optional(OPTIONS_MAP)
        parallelism: Int | None = optional(PARALLELISM)

    class Result(Done, Timed, kw_only=True):
        target: str = detail("the target table")
        migrated_files: Long = detail("number of moved or copied files")
        migrated_bytes: Long = detail("their size in bytes")
        migrated_records: Long = detail("number of their rows")
        partitions: Long = detail("number of their partitions")
        snapshot_id: Long | None = detail("the created snapshot; null without files")
        note: str | None = detail("what happened to the source", last=True)

    def call(self, context: Context, arguments: Arguments) -> Result:
        options = options_of_table(arguments.options, arguments.options_map)
        threads, keep = positive(arguments.parallelism) or _THREADS, arguments.delete_origin is False
        plain, kind = known_tables(context, arguments.source_type)
        catalog, identifier = _target(context, arguments.target_table or _same_name(arguments.table))
        exists = catalog.database_exists(identifier.database) and catalog.table_exists(identifier)
        target = writable(catalog.table(identifier)) if exists else None
        if target is not None and not arguments.dry_run:  # remove the files of an interrupted migration
            migration.undo_migration(target, plain.directories(kind, arguments.table))
        source = plain.table(kind, arguments.table, target)
        if target is not None:
            migration.check_target(source, target)
        schema = target.schema if target is not None else _schema(source, options)
        name, committed = f"{catalog.name}.{identifier}", None
        # Check all files before anything is created.
        draft = target or Table(name, f"{source.name}", source.file_io, schema)
        messages = migration.examine(source, draft, context.executor)
        if not arguments.dry_run:
            with nullcontext(target) if target is not None else _created(catalog, identifier, schema, source) as opened:
                executor = context.executor
                committed = migration.migrate_files(source, opened, messages, executor, keep=keep, threads=threads)
            if not keep:
                source.drop()
        outcome = "keeps its files" if keep else "was dropped"
        return self.Result(
            target=name,
            migrated_files=len(source.files),
            migrated_bytes=source.bytes,
            migrated_records=sum(f.row_count for m in messages for f in m.new_files),
            partitions=len({m.partition for m in messages}),
            snapshot_id=committed.id if committed else None,
            note=None if arguments.dry_run else f"{source.name} {outcome}",
        )


def options_of_table(text: str | None, given: Mapping[str, str] | None) -> dict[str, str]:
    """The options of new tables; those of a map override those of a text.

    Raises:
        InvalidOptionError: an option is invalid, or does not fit plain files.
    """
    options = options_of(text) | checked_options(given or {})
    if PRIMARY_KEY.key in options:
        raise errors.InvalidOptionError(
            "Migrated tables cannot have a primary key.", key=PRIMARY_KEY.key, remedy="Leave it out."
        )
    return options


def known_tables(context: Context, source_type: str) -> tuple[PlainTables, str]:
    """The tables of plain files of the session, and the source type in lower case.

    Raises:
        InvalidInputError: there is no such source type.
        UnsupportedError: there is no Spark session.
    """
    kind = source_type.strip().lower()
    if kind not in ("hive", *format_names()):
        raise errors.InvalidInputError(
            f"source_type cannot be '{source_type}'.", remedy="Use 'hive', or the format of a directory's files."
        )
    if context.plain_tables is None:
        raise errors.UnsupportedError(
            "Tables of plain files can be migrated only in a Spark session.",
            remedy="Run CALL sys.migrate_table in SQL.",
        )
    return context.plain_tables, kind


def _target(context: Context, name: str) -> tuple[Catalog, Identifier]:
    """The catalog and the name of the target table.

    Raises:
        InvalidInputError: files cannot be added to such a table.
    """
    catalog, identifier = context.locate(name)
    if identifier.system_table is not None or identifier.branch != MAIN_BRANCH:
        raise errors.InvalidInputError(f"{identifier} is not a table that files can be added to.")
    if catalog.host.is_used_outside(identifier):
        raise errors.InvalidInputError(
            f"{catalog.name}.{identifier} is the name of a table that is not a Paimon table.",
            remedy="Use another target_table, and ALTER TABLE .. RENAME TO after the migration.",
        )
    return catalog, identifier


@contextmanager
def _created(
    catalog: Catalog, identifier: Identifier, schema: TableSchema, source: migration.PlainTable
) -> Iterator[Table]:
    """A new target table; it is dropped again if the migration fails without having moved a file."""
    with suppress(errors.DatabaseExistsError):
        catalog.create_database(identifier.database, {})
    table = catalog.create_table(identifier, schema)
    try:
        yield table
    except errors.CommitUnknownError:
        raise
    except errors.PaimonError:
        directories = list(dict.fromkeys(parent_of(f.path) for f in source.files))
        if table.snapshots.latest_id() is None and not migration.undo_migration(table, directories):
            with suppress(errors.PaimonError):
                catalog.drop_table(identifier)
        raise


def _schema(source: migration.PlainTable, options: Mapping[str, str]) -> TableSchema:
    schema = migration.schema_of(source, options)
    validate_schema(schema)
    if bucket_mode(schema).has_buckets:
        raise errors.InvalidOptionError(
            "Migrated tables cannot have buckets.", key="bucket", remedy="Leave the option out, or set it to -1."
        )
    return schema


def _same_name(source: str) -> str:
    """The default target of a table of Spark's own catalog; a directory has none."""
    if "/" in source:
        raise errors.InvalidInputError(f"The directory {source} has no name.", remedy="Specify target_table.")
    return ".".join(source.split(".")[-2:])
