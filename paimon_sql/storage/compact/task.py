"""Task of a compaction of one bucket of a primary-key table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.options.operations.compaction import (
    COMPACTION_FORCE_REWRITE_ALL_FILES,
    COMPACTION_SMALL_FILE_RATIO,
)
from paimon_sql.storage.compact.rewriters import BucketWork, rewriter_of
from paimon_sql.storage.data_files.lsm_levels import max_level
from paimon_sql.storage.data_files.sections import Section, sections_of
from paimon_sql.storage.staging.commit_messages import CommitMessage
from paimon_sql.storage.write.settings import WriteSettings


@dataclass(frozen=True)
class CompactTask(BucketWork):
    """Merges some files of a bucket."""

    @property
    def size(self) -> int:
        """The bytes to read."""
        return sum(f.file_size for f in self.unit.files)

    def run(self) -> CommitMessage:
        """Move big files without overlaps and without changes to the new level, and rewrite the others.

        New files take effect when the message is committed; on an error they are deleted.
        """
        rewriter = rewriter_of(self)
        try:
            for sections, unchanged in self._steps():
                if unchanged:
                    rewriter.move(sections[0].runs[0][0])
                else:
                    rewriter.rewrite(sections)
            return replace(rewriter.message(), compact_deep=self.deep)
        except BaseException:
            rewriter.discard()
            raise

    @property
    def changed_files(self) -> list[DataFileMeta]:
        """The files that change their level, or are rewritten."""
        return [
            file
            for sections, unchanged in self._steps()
            for section in sections
            for run in section.runs
            for file in run
            if not unchanged or file.level != self.unit.output_level
        ]

    def _steps(self) -> Iterator[tuple[list[Section], bool]]:
        """The sections to rewrite together, and, with True, each single file that only changes its level."""
        target = WriteSettings(self.table.schema).target_file_size
        small_size = target * self.table.options.get(COMPACTION_SMALL_FILE_RATIO)
        pending: list[Section] = []
        for section in sections_of(self.table.schema, self.unit.files):
            for piece in _pieces(section):
                if len(piece.runs) > 1 or piece.runs[0][0].file_size < small_size:
                    pending.append(piece)
                    continue
                if pending:
                    yield self._step(pending)
                pending = []
                yield self._step([piece])
        if pending:
            yield self._step(pending)

    def _step(self, sections: list[Section]) -> tuple[list[Section], bool]:
        return sections, len(sections) == 1 and len(sections[0].runs) == 1 and self._can_move(sections[0])

    def _can_move(self, section: Section) -> bool:
        (file,) = section.runs[0]
        drops_deletes = self.drop_deletes and self.unit.output_level >= max_level(self.table.options)
        forced = self.unit.rewrite or self.table.options.get(COMPACTION_FORCE_REWRITE_ALL_FILES)
        expired = self.expiry is not None and self.expiry.is_due(self.table, file)
        return not ((drops_deletes and file.delete_row_count != 0) or forced or expired)


def _pieces(section: Section) -> list[Section]:
    """Split a section of one run into its files: they share no key, so each may be moved or rewritten alone."""
    if len(section.runs) > 1:
        return [section]
    return [Section(((f,),)) for f in section.runs[0]]
