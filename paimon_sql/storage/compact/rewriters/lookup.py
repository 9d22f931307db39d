"""Rewriter with lookup of older rows: for the lookup changelog, deletion vectors and first rows.

Rows of level 0 are compared with the newest older row of their key, on any level of the bucket (spec: Changelog
Producer, Table Mode). Files of deeper levels take part in the merge, with only their rows of compacted keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table.index import DELETION_VECTORS_ENABLED
from paimon_sql.format.schema.system_fields import LEVEL, VALUE_KIND
from paimon_sql.storage.compact.rewriters.base import (
    BucketWork,
    ChangelogBuilder,
    Outcome,
    Rewriter,
    Versions,
    rows_by_key,
)
from paimon_sql.storage.data_files.lsm_tree import Section, key_ranks, max_level, sections_of
from paimon_sql.storage.expressions.kernels.sorting import NOWHERE, Indices, Mask
from paimon_sql.storage.merge.lookup_levels import looks_up, newest_above, up_to_date
from paimon_sql.storage.merge.sequence import sequence_fields
from paimon_sql.storage.merge.windows import Window, merged_windows
from paimon_sql.storage.read.readers.merge import FILE, PLACE, open_run, row_order
from paimon_sql.storage.table.changelog_producer import changelog_producer


class LookupRewriter(Rewriter):
    """Looks up the older row of each fresh row (Paimon: `LookupMergeTreeCompactRewriter`)."""

    @classmethod
    def serves(cls, options: TableOptions) -> bool:
        return looks_up(options)

    def __init__(self, work: BucketWork) -> None:
        super().__init__(work)
        options = self.table.options
        self._vectors_wanted = options.get(DELETION_VECTORS_ENABLED)
        self.makes_changelog = changelog_producer(options).looks_up
        self._builder = ChangelogBuilder(self.table.schema)
        plain = self.engine.newest_wins and not self.engine.ignores_deletes
        self._newest_wins = plain and not sequence_fields(options.texts)

    def move(self, file: DataFileMeta) -> None:
        if file.level != 0:
            super().move(file)
        elif self._must_be_rewritten(file):
            self.rewrite([Section(((file,),))])
        elif self.makes_changelog or (self._vectors_wanted and self._below(Section(((file,),)))):
            self.upgrade_with_changes(file)
        else:
            super().move(file)

    def _must_be_rewritten(self, file: DataFileMeta) -> bool:
        output = self.work.unit.output_level
        if self.settings.file_format(0) != self.settings.file_format(output):
            return True
        if self._vectors_wanted and file.delete_row_count != 0:
            return True
        return output < max_level(self.table.options) and not self._newest_wins

    def outcomes(self, section: Section) -> Iterator[Outcome]:
        if not any(f.level == 0 for run in section.runs for f in run):
            yield from super().outcomes(section)
            return
        yield from map(self._outcome, self._windows(section))

    def _windows(self, section: Section) -> Iterator[Window]:
        """The section's rows and those of deeper levels with the same keys."""
        below = self._below(section)
        with_deeper = Section((*below, *section.runs))
        by = row_order(self.table.schema, with_deeper)
        columns = [*self.columns, LEVEL.name, FILE, PLACE]
        needed = {*by.keys, *(name for name, _ in by.ties), VALUE_KIND.name}
        reads_keys_only = self.engine.keeps_first or (self._newest_wins and not self.makes_changelog)
        unread = frozenset(self.columns) - needed if reads_keys_only else frozenset()
        # An expired row of a deeper level must still be marked, and still is the first of its key.
        older = replace(self.split, expiry=None) if self._vectors_wanted or self.engine.keeps_first else self.split
        runs = [open_run(self.table, older, run, columns, unread=unread) for run in below]
        runs += [open_run(self.table, self.split, run, columns) for run in section.runs]
        for window in merged_windows(runs, by, self.table.options):
            inside = self._levels(window) <= self.work.unit.output_level
            wanted = window.segments.any(inside)[window.segments.owners]
            if wanted.any():
                yield window.where(wanted)

    def _below(self, section: Section) -> tuple[tuple[DataFileMeta, ...], ...]:
        """The sorted runs of deeper levels, oldest first, of files whose key range overlaps that of the section."""
        work = self.work
        if not work.below:
            return ()
        files = [f for run in section.runs for f in run]
        low, high = key_ranks(self.table.schema, [*files, *work.below])
        first, last = low[: len(files)].min(), high[: len(files)].max()
        overlaps = (low[len(files) :] <= last) & (high[len(files) :] >= first)
        found = [f for f, overlapping in zip(work.below, overlaps, strict=True) if overlapping]
        levels = sorted({f.level for f in found}, reverse=True)
        in_order = [f for s in sections_of(self.table.schema, found) for run in s.runs for f in run]
        return tuple(tuple(f for f in in_order if f.level == level) for level in levels)

    def _outcome(self, window: Window) -> Outcome:
        levels = self._levels(window)
        newest = newest_above(window)
        fresh = window.segments.any(levels == 0)
        deeper = (newest != NOWHERE) & (levels[newest] > self.work.unit.output_level)
        if self._vectors_wanted:
            self._mark(window, newest[deeper & fresh])
        plain = up_to_date(Window(window.table.select([*self.columns, LEVEL.name]), window.order, window.starts))
        if self.engine.keeps_first:
            return self._first_rows(plain, fresh & ~deeper, known=newest != NOWHERE, left=~deeper)
        merged = self.engine.merge_found(plain)
        if not self.makes_changelog:
            return Outcome(merged)
        before = np.where(newest == NOWHERE, NOWHERE, window.order[newest])
        after = rows_by_key(self.table.schema, plain, merged)
        changes = self._builder.changes(Versions(plain.table, before), Versions(merged, after), fresh)
        return Outcome(merged, changes)

    def _first_rows(self, window: Window, fresh: Mask, *, known: Mask, left: Mask) -> Outcome:
        """The rows of keys that are on no deeper level; those that are on no level at all are new."""
        retained = window.where(left[window.segments.owners])
        merged = self.engine.merge(retained)
        rows = rows_by_key(self.table.schema, retained, merged)
        nowhere = np.full(len(rows), NOWHERE, dtype=np.int64)
        new = (fresh & ~known)[left]
        return Outcome(merged, self._builder.changes(Versions(retained.table, nowhere), Versions(merged, rows), new))

    def _mark(self, window: Window, positions: Indices) -> None:
        rows = window.order[positions]
        files = window.table[FILE].to_numpy()[rows]
        positions_in_file = window.table[PLACE].to_numpy()[rows]
        for file in np.unique(files):
            self.mark(self.split.files[int(file)], positions_in_file[files == file])

    @staticmethod
    def _levels(window: Window) -> npt.NDArray[np.int32]:
        levels: npt.NDArray[np.int32] = window.table[LEVEL.name].to_numpy()[window.order]
        return levels
