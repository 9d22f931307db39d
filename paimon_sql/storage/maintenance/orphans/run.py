"""Search and removal of orphan files: candidates, usage scan, deletion.

Candidates are listed before the usage scan, which is repeated before files are deleted: files that are committed in
between are found in use.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from paimon_sql.errors import CommitConflictError, PaimonError
from paimon_sql.format.layout.paths import MAIN_BRANCH
from paimon_sql.format.options.operations.write import FILE_OPERATION_THREAD_NUM
from paimon_sql.storage.execution.task_executor import Executor
from paimon_sql.storage.expressions.kernels.name_hashes import Hashes
from paimon_sql.storage.maintenance.orphans.candidates import CandidateFilter, Listed, list_candidates
from paimon_sql.storage.maintenance.orphans.folders import Folder, external_roots, folders_of
from paimon_sql.storage.maintenance.orphans.names import WriterNames
from paimon_sql.storage.maintenance.orphans.removal import Removed, remove_files, remove_folders
from paimon_sql.storage.maintenance.orphans.usage_scan import Flags, UsageScan
from paimon_sql.storage.retention.files_to_delete import DEFAULT_THREADS
from paimon_sql.storage.retention.retained_references import other_branches, retry_on_concurrent_change
from paimon_sql.storage.table.table import Table


@dataclass(frozen=True)
class Search:
    """The parameters of a search for orphan files.

    Attributes:
        older_than_millis: only files last modified before are candidates, in milliseconds since the epoch.
        executor: runs the tasks.
        parallelism: the number of tasks per step; by default by weight.
        foreign: external directories that several tables share, which are ignored.
    """

    older_than_millis: int
    executor: Executor
    parallelism: int | None = None
    foreign: Collection[str] = ()


@dataclass(frozen=True)
class OrphanPlan:
    """The orphan files of a table.

    Attributes:
        table: the table.
        search: the parameters of the search.
        picker: selects candidates.
        directories: the directories of the table.
        listed: their content.
        usage_scan: finds which candidates are used.
        orphans: the sorted name hashes of unused candidates.
    """

    table: Table
    search: Search
    picker: CandidateFilter
    directories: tuple[Folder, ...]
    listed: Listed
    usage_scan: UsageScan
    orphans: Hashes


def find_orphans(table: Table, search: Search) -> OrphanPlan:
    """Find the unused files of a table, in any branch.

    Memory: about 20 bytes per candidate, and 9 per manifest entry of one.

    Raises:
        PaimonError: a retained reference cannot be read.
    """
    main = replace(table, branch=MAIN_BRANCH)
    threads: int = table.options.get(FILE_OPERATION_THREAD_NUM) or DEFAULT_THREADS
    branches = [main, *other_branches(main)]
    picker = CandidateFilter(WriterNames.of(branches), search.older_than_millis)
    external = [root for root in external_roots(branches) if root not in search.foreign]
    folders = tuple(folders_of(main, branches, external, threads))
    listed = list_candidates(table.file_io, picker, folders, search.executor, search.parallelism, threads)
    usage_scan = UsageScan(main, np.unique(listed.hashes), search.executor, search.parallelism, threads)
    return OrphanPlan(main, search, picker, folders, listed, usage_scan, _unused(main, usage_scan))


def remove_orphans(plan: OrphanPlan, *, dry_run: bool = False) -> Removed:
    """Delete the orphan files that are still unused.

    Args:
        plan: the orphan files.
        dry_run: only count.

    Raises:
        PaimonError: a retained reference cannot be read; nothing was deleted.
    """
    table, search, listed = plan.table, plan.search, plan.listed
    orphans = plan.orphans
    if len(orphans) and not dry_run:
        orphans = np.intersect1d(orphans, _unused(table, plan.usage_scan))
    removed, chosen = Removed(), []
    if len(orphans):
        is_orphan = np.isin(listed.hashes, orphans)
        order = np.argsort(listed.directories[is_orphan], kind="stable")
        indexes, hashes = listed.directories[is_orphan][order], listed.hashes[is_orphan][order]
        starts = np.flatnonzero(np.diff(indexes, prepend=-1))
        parts = np.split(hashes, starts[1:])
        chosen = [(plan.directories[indexes[at]], part) for at, part in zip(starts, parts, strict=True)]
        removed = remove_files(
            table.file_io,
            plan.picker,
            chosen,
            search.executor,
            search.parallelism,
            plan.usage_scan.threads,
            dry_run=dry_run,
        )
    if not dry_run:
        empty = [plan.directories[at] for at in listed.empty]
        removed.directories = remove_folders(table.file_io, plan.picker, empty, [folder for folder, _ in chosen])
        table.branches.sweep(search.older_than_millis)
    return removed


def _unused(table: Table, usage_scan: UsageScan) -> Hashes:
    """Return the unused candidates; tags and branches must not change meanwhile."""

    def used() -> Flags:
        table.snapshots.forget()
        return usage_scan.used([table, *other_branches(table)])

    try:
        return usage_scan.candidates[~retry_on_concurrent_change(table, used)]
    except CommitConflictError:
        raise
    except PaimonError as error:
        raise PaimonError(
            f"{table.name}: what is in use cannot be found out, so no file was deleted: {error.message}",
            remedy=error.remedy,
        ) from error
