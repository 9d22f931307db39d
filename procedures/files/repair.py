"""``CALL sys.repair``: check the metadata of tables, and repair it where possible."""

from __future__ import annotations

from collections.abc import Iterator

from paimon_sql.catalog.catalog import Catalog
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import CorruptFileError, NoSuchTableError, PaimonError, WrongKindError
from paimon_sql.format.options.values import comma_separated
from paimon_sql.procedures.base import Context, DryRun, Long, Procedure, Timed, column, detail, required
from paimon_sql.storage.repair.repair import Findings, repair
from paimon_sql.storage.table.table import Table


class Repair(Procedure):
    """Wrong hints are corrected, and interrupted expirations are completed.

    Unreadable metadata files, as after a power loss, are moved to ``<table>/_unreadable`` if the table is usable
    without them; the result reports what is lost. Nothing is deleted.

    Tables in the warehouse that are missing in the catalog are registered.

    Other missing or damaged files are reported; restore them from a copy, or delete what refers to them.
    """

    summary = "Check the metadata of tables: correct hints, quarantine unreadable files, report missing ones."
    example = "CALL sys.repair(database_or_table => 'db.t')"

    class Arguments(DryRun, kw_only=True):
        database_or_table: str = required(
            "Databases and tables separated by commas: db, db.t; blank for the whole catalog."
        )

    class Result(Timed, kw_only=True):
        result: bool = column("whether no problem is left")
        tables: Long = detail("checked tables")
        repaired: Long = detail("number of repairs")
        problems: Long = detail("number of problems that remain")
        findings: str | None = detail("repairs and problems, one per line; null without any")
        note: str | None = detail("whether this was a dry run", last=True)

    def call(self, context: Context, arguments: Arguments) -> Result:
        found, count = Findings(), 0
        text = arguments.database_or_table or ""
        adopted = _adopted(context, text, dry_run=arguments.dry_run)
        found.repaired += [f"{name}: {finding}" for name, finding in adopted.items()]
        for name, opened in _tables(context, text):
            if arguments.dry_run and name in adopted and isinstance(opened, NoSuchTableError):
                continue
            count += 1
            if isinstance(opened, Table):
                found.take(repair(opened, dry_run=arguments.dry_run))
            else:
                found.problems.append(f"{name}: {opened}")
        return self.Result(
            result=not found.problems,
            tables=count,
            repaired=len(found.repaired),
            problems=len(found.problems),
            findings="\n".join([*found.repaired, *found.problems]) or None,
        )


def _adopted(context: Context, text: str, *, dry_run: bool) -> dict[str, str]:
    """Adopt the tables that the catalog does not know; returns a finding per table."""
    adopted: dict[str, str] = {}
    for parts in _parts(context, text) or [[]]:
        adopted |= context.catalog.adopt(*parts[:2], dry_run=dry_run)
    return adopted


def _parts(context: Context, text: str) -> list[list[str]]:
    """The parts of the given names of databases and tables, without the catalog."""
    named = [[p.strip("`") for p in part.split(".")] for part in comma_separated(text)]
    return [parts[1:] if parts[0] == context.catalog.name and len(parts) > 1 else parts for parts in named]


def _tables(context: Context, text: str) -> Iterator[tuple[str, Table | PaimonError]]:
    """The tables of a call with their names; an error for one that cannot be opened."""
    catalog = context.catalog
    for parts in _parts(context, text) or [[database] for database in catalog.list_databases()]:
        if len(parts) > 1 or not catalog.database_exists(parts[0]):
            name = ".".join(parts)
            yield name, _named_table(context, name)
            continue
        for table in catalog.list_tables(parts[0]):
            try:
                yield f"{parts[0]}.{table}", catalog.table(Identifier(parts[0], table))
            except (NoSuchTableError, WrongKindError):
                continue  # dropped concurrently, or without snapshots to check
            except PaimonError as error:
                yield f"{parts[0]}.{table}", _damaged_table(catalog, Identifier(parts[0], table), error)


def _named_table(context: Context, name: str) -> Table | PaimonError:
    try:
        return context.table(name)
    except CorruptFileError as error:
        catalog, identifier = context.locate(name)
        return _damaged_table(catalog, identifier, error)


def _damaged_table(catalog: Catalog, identifier: Identifier, error: PaimonError) -> Table | PaimonError:
    """Open a table with its newest readable schema; the error if there is none."""
    found = catalog.damaged_table(identifier) if isinstance(error, CorruptFileError) else None
    return error if found is None else found
