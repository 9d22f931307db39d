"""The compaction of one bucket, as it travels to a worker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.data_file import DataFileMeta, FileSource
from paimon_sql.format.options.compaction import COMPACTION_FORCE_REWRITE_ALL_FILES, COMPACTION_SMALL_FILE_RATIO
from paimon_sql.format.row_kind import RowKind
from paimon_sql.format.special_fields import SEQUENCE_NUMBER, VALUE_KIND
from paimon_sql.storage.commit.messages import CommitMessage
from paimon_sql.storage.compact.levels import CompactUnit, max_level
from paimon_sql.storage.merge.engine import merge_engine
from paimon_sql.storage.read.merge_reader import merge_section
from paimon_sql.storage.scan.deletions import Deletion
from paimon_sql.storage.scan.plan import Split
from paimon_sql.storage.scan.sections import Section, sections_of
from paimon_sql.storage.table import Table
from paimon_sql.storage.write.key_value_writer import as_stored
from paimon_sql.storage.write.rolling import FileNamer, RollingWriter, write_all
from paimon_sql.storage.write.settings import WriteSettings

_ALIVE = pa.array([RowKind.INSERT, RowKind.UPDATE_AFTER], pa.int8())


@dataclass(frozen=True)
class CompactTask:
    """Merges some files of a bucket of a keyed table.

    ``drop_deletes`` says that no older rows lie below the result, so that deletes need not be kept. ``deletions`` are
    the deletion vectors of those files that have one, by file name.
    """

    table: Table
    partition: bytes
    bucket: int
    total_buckets: int
    unit: CompactUnit
    drop_deletes: bool
    deletions: Mapping[str, Deletion] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The bytes to be read."""
        return sum(f.file_size for f in self.unit.files)

    def run(self) -> CommitMessage:
        """Do it: big files that overlap no other only change their level, the rest is rewritten.

        Files are written that nobody sees until the message is committed; on an error none is left.
        """
        settings = WriteSettings(self.table.schema)
        small = settings.target_file_size * self.table.options.get(COMPACTION_SMALL_FILE_RATIO)
        before: list[DataFileMeta] = []
        after: list[DataFileMeta] = []
        pending: list[Section] = []
        try:
            for section in sections_of(self.table.schema, self.unit.files):
                for piece in _pieces(section):
                    if len(piece.runs) > 1 or piece.runs[0][0].file_size < small:
                        pending.append(piece)
                        continue
                    self._merge(pending, settings, before, after)
                    pending = []
                    self._move(piece, settings, before, after)
            self._merge(pending, settings, before, after)
        except BaseException:
            self._discard(before, after)
            raise
        return CommitMessage(
            self.partition, self.bucket, self.total_buckets, compact_before=tuple(before), compact_after=tuple(after)
        )

    def _merge(
        self,
        sections: list[Section],
        settings: WriteSettings,
        before: list[DataFileMeta],
        after: list[DataFileMeta],
    ) -> None:
        if len(sections) == 1 and len(sections[0].runs) == 1:
            self._move(sections[0], settings, before, after)
        elif sections:
            self._rewrite(sections, settings, before, after)

    def _move(
        self, section: Section, settings: WriteSettings, before: list[DataFileMeta], after: list[DataFileMeta]
    ) -> None:
        (file,) = section.runs[0]
        deepest = self.drop_deletes and self.unit.output_level >= max_level(self.table.options)
        if (deepest and file.delete_row_count != 0) or self.table.options.get(COMPACTION_FORCE_REWRITE_ALL_FILES):
            self._rewrite([section], settings, before, after)
        elif file.level != self.unit.output_level:
            before.append(file)
            after.append(file.upgrade(self.unit.output_level))

    def _rewrite(
        self,
        sections: list[Section],
        settings: WriteSettings,
        before: list[DataFileMeta],
        after: list[DataFileMeta],
    ) -> None:
        writer = RollingWriter(
            self.table,
            settings,
            self.partition,
            self.bucket,
            namer=FileNamer(settings.file_prefix),
            level=self.unit.output_level,
            source=FileSource.COMPACT,
        )
        after.extend(write_all(writer, self._merged(sections, settings)))
        before.extend(f for section in sections for run in section.runs for f in run)

    def _merged(self, sections: list[Section], settings: WriteSettings) -> Iterator[pa.RecordBatch]:
        engine = merge_engine(self.table.schema)
        columns = [*self.table.schema.names, SEQUENCE_NUMBER.name, VALUE_KIND.name]
        split = Split(self.partition, self.bucket, self.unit.files, False, tuple(sections), self.deletions)
        for section in sections:
            for window in merge_section(self.table, split, section, columns):
                rows = engine.merge(window)
                if self.drop_deletes:
                    rows = rows.filter(pc.is_in(rows[VALUE_KIND.name], _ALIVE))
                yield from as_stored(settings, rows).to_batches(max_chunksize=262_144)

    def _discard(self, before: list[DataFileMeta], after: list[DataFileMeta]) -> None:
        kept = {f.file_name for f in before}
        made = [f for f in after if f.file_name not in kept]
        locations = self.table.locations
        self.table.file_io.delete_many(
            [path for f in made for path in locations.files_of(self.partition, self.bucket, f)]
        )


def _pieces(section: Section) -> list[Section]:
    """A section of one run file by file: its files share no key, so each may be moved or rewritten alone."""
    if len(section.runs) > 1:
        return [section]
    return [Section(((f,),)) for f in section.runs[0]]
