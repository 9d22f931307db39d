"""``CALL sys.copy``: another table with the same rows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from paimon_sql.catalog.base import Catalog
from paimon_sql.catalog.identifier import MAIN_BRANCH, Identifier
from paimon_sql.catalog.table_types import taking_rows
from paimon_sql.errors import CommitUnknownError, DatabaseExistsError, InvalidInputError, NoSuchTableError, PaimonError
from paimon_sql.format.schema.types import BigIntType, BooleanType, DoubleType, string_type
from paimon_sql.procedures.base import Argument, Context, Procedure, result
from paimon_sql.procedures.partition_choice import WHERE, chosen_partitions
from paimon_sql.procedures.values import DRY_RUN, NOTHING_DONE
from paimon_sql.storage.branches.management import on_its_branch
from paimon_sql.storage.copy.copy import CopyPlan, check_target, copy_files, plan_copy, schemas_of_copy
from paimon_sql.storage.table.table import Table


class Copy(Procedure):
    """The files of its newest snapshot are copied as they are, and stand in one snapshot of the other table.

    A table that does not exist is made, with its database; in one that exists they take the place of what it holds,
    where it has partitions of what it holds in theirs. Tags, branches and older snapshots are not copied.
    """

    name = "copy"
    summary = "Copy a table, or some of its partitions, file by file."
    arguments = (
        Argument("source_table", string_type(), "The table; a branch is `t$branch_b`.", required=True),
        Argument(
            "target_table", string_type(), "The table that gets the files: t, db.t or catalog.db.t.", required=True
        ),
        WHERE,
        DRY_RUN,
    )
    results = (result("result", BooleanType(), "always true"),)
    details = (
        result("copied_files", BigIntType(), "data files that were copied"),
        result("copied_index_files", BigIntType(), "index files that were copied"),
        result("copied_bytes", BigIntType(), "their bytes"),
        result("copied_records", BigIntType(), "the records in the data files, before merging"),
        result("partitions", BigIntType(), "the partitions that they are of"),
        result("source_snapshot_id", BigIntType(), "the snapshot that was copied"),
        result("snapshot_id", BigIntType(), "the snapshot made; null if nothing was to do"),
        result("seconds", DoubleType(), "how long it took"),
        result("note", string_type(), "why nothing was to do, or that the table was made"),
    )
    example = "CALL sys.copy(source_table => 'db.t', target_table => 'db.t_copy', where => \"dt = '2024-01-31'\")"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        started, dry_run = time.monotonic(), bool(arguments["dry_run"])
        origin, name = context.locate(arguments["source_table"])
        source = on_its_branch(origin.table(name))
        plan = plan_copy(source, chosen_partitions(source, None, arguments["where"], context.zone))
        catalog, identifier = context.locate(arguments["target_table"])
        target = _existing(catalog, identifier)
        notes = [f"{catalog.name}.{identifier} is made"] if target is None else []
        if target is not None:
            check_target(plan, target)
        if not plan.files:
            notes.append("there are no rows to copy")
        if dry_run:
            made = None
            notes.insert(0, NOTHING_DONE)
        else:
            with _target(catalog, identifier, plan, target) as opened:
                made = copy_files(plan, opened, context.executor)
        return [
            (
                True,
                len(plan.files),
                len(plan.indexes),
                plan.bytes,
                sum(e.file.row_count for e in plan.files),
                plan.partitions,
                plan.snapshot.id if plan.snapshot else None,
                made.id if made else None,
                round(time.monotonic() - started, 3),
                "; ".join(notes) or None,
            )
        ]


def _existing(catalog: Catalog, identifier: Identifier) -> Table | None:
    if identifier.system_table is not None:
        raise InvalidInputError(f"{catalog.name}.{identifier} cannot get files: it is no table of its own.")
    if not (catalog.database_exists(identifier.database) and catalog.table_exists(identifier)):
        if identifier.branch != MAIN_BRANCH:
            raise NoSuchTableError(f"{catalog.name}.{identifier} does not exist.", name=str(identifier))
        return None
    return on_its_branch(taking_rows(catalog.table(identifier)))


@contextmanager
def _target(catalog: Catalog, identifier: Identifier, plan: CopyPlan, existing: Table | None) -> Iterator[Table]:
    """The table that gets the files; one that is made for them goes again if they do not come."""
    if existing is not None:
        yield existing
        return
    first, *others = schemas_of_copy(plan)
    with suppress(DatabaseExistsError):
        catalog.create_database(identifier.database, {})
    made = catalog.create_table(identifier, first)
    try:
        for schema in others:
            made.schemas.try_add(schema)
        yield catalog.table(identifier)
    except CommitUnknownError:
        raise
    except PaimonError:
        with suppress(PaimonError):
            if not catalog.table(identifier).snapshots.latest_id():
                catalog.drop_table(identifier)
        raise
