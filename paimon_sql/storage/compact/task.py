"""The compaction of one bucket, as it travels to a worker."""

from __future__ import annotations

from dataclasses import dataclass

from paimon_sql.format.options.compaction import COMPACTION_FORCE_REWRITE_ALL_FILES, COMPACTION_SMALL_FILE_RATIO
from paimon_sql.storage.commit.messages import CommitMessage
from paimon_sql.storage.compact.levels import max_level
from paimon_sql.storage.compact.rewriters import BucketWork, Rewriter, rewriter_of
from paimon_sql.storage.scan.sections import Section, sections_of
from paimon_sql.storage.write.settings import WriteSettings


@dataclass(frozen=True)
class CompactTask(BucketWork):
    """Merges some files of a bucket of a keyed table."""

    @property
    def size(self) -> int:
        """The bytes to be read."""
        return sum(f.file_size for f in self.unit.files)

    def run(self) -> CommitMessage:
        """Do it: big files that overlap no other and need no change only change their level, the rest is rewritten.

        Files are written that nobody sees until the message is committed; on an error none is left.
        """
        rewriter = rewriter_of(self)
        target = WriteSettings(self.table.schema).target_file_size
        small = target * self.table.options.get(COMPACTION_SMALL_FILE_RATIO)
        pending: list[Section] = []
        try:
            for section in sections_of(self.table.schema, self.unit.files):
                for piece in _pieces(section):
                    if len(piece.runs) > 1 or piece.runs[0][0].file_size < small:
                        pending.append(piece)
                        continue
                    self._merge(rewriter, pending)
                    pending = []
                    self._move(rewriter, piece)
            self._merge(rewriter, pending)
            return rewriter.message()
        except BaseException:
            rewriter.discard()
            raise

    def _merge(self, rewriter: Rewriter, sections: list[Section]) -> None:
        if len(sections) == 1 and len(sections[0].runs) == 1:
            self._move(rewriter, sections[0])
        elif sections:
            rewriter.rewrite(sections)

    def _move(self, rewriter: Rewriter, section: Section) -> None:
        (file,) = section.runs[0]
        deepest = self.drop_deletes and self.unit.output_level >= max_level(self.table.options)
        forced = self.unit.rewrite or self.table.options.get(COMPACTION_FORCE_REWRITE_ALL_FILES)
        expired = self.expiry is not None and self.expiry.is_due(self.table, file)
        if (deepest and file.delete_row_count != 0) or forced or expired:
            rewriter.rewrite([section])
        else:
            rewriter.move(file)


def _pieces(section: Section) -> list[Section]:
    """A section of one run file by file: its files share no key, so each may be moved or rewritten alone."""
    if len(section.runs) > 1:
        return [section]
    return [Section(((f,),)) for f in section.runs[0]]
