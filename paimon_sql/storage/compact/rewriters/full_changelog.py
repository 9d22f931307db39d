"""Rewriter for changelogs from full compactions: the differences of the max level before and after."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.options import TableOptions
from paimon_sql.format.schema.system_fields import LEVEL
from paimon_sql.storage.compact.rewriters.base import (
    BucketWork,
    ChangelogBuilder,
    Outcome,
    Rewriter,
    Versions,
    rows_by_key,
)
from paimon_sql.storage.data_files.lsm_tree import Section, max_level
from paimon_sql.storage.expressions.kernels.sorting import NOWHERE
from paimon_sql.storage.merge.lookup_levels import looks_up
from paimon_sql.storage.merge.windows import Window
from paimon_sql.storage.read.readers.merge import merge_section
from paimon_sql.storage.table.changelog_producer import changelog_producer


class FullChangelogRewriter(Rewriter):
    """Writes the changelog of full compactions; other compactions write none.

    (Paimon: `FullChangelogMergeTreeCompactRewriter`)
    """

    @classmethod
    def serves(cls, options: TableOptions) -> bool:
        return changelog_producer(options).from_full_compactions and not looks_up(options)

    def __init__(self, work: BucketWork) -> None:
        super().__init__(work)
        self._max_level = max_level(self.table.options)
        self.makes_changelog = work.unit.output_level >= self._max_level
        self._builder = ChangelogBuilder(self.table.schema)

    def move(self, file: DataFileMeta) -> None:
        if self.makes_changelog and file.level != self.work.unit.output_level:
            self.upgrade_with_changes(file)
        else:
            super().move(file)

    def outcomes(self, section: Section) -> Iterator[Outcome]:
        if not self.makes_changelog:
            yield from super().outcomes(section)
            return
        for window in merge_section(self.table, self.split, section, [*self.columns, LEVEL.name]):
            yield self._outcome(window)

    def _outcome(self, window: Window) -> Outcome:
        levels = window.table[LEVEL.name].to_numpy()[window.order]
        plain = Window(window.table.select(self.columns), window.order, window.starts)
        merged = self.engine.merge(plain)
        position = window.segments.last(levels >= self._max_level)
        before = np.where(position == NOWHERE, NOWHERE, window.order[position])
        # A key with one row, on the max level, has not changed.
        touched = (window.segments.counts() > 1) | (position == NOWHERE)
        after = rows_by_key(self.table.schema, plain, merged)
        changes = self._builder.changes(Versions(plain.table, before), Versions(merged, after), touched)
        return Outcome(merged, changes)
