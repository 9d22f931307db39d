"""The merge engine ``first-row``."""

from __future__ import annotations

from collections.abc import Iterator

from paimon_sql.errors import ConstraintViolationError, PaimonError
from paimon_sql.format.options.operations.changelog import CHANGELOG_PRODUCER
from paimon_sql.format.options.operations.compaction import PK_CLUSTERING_OVERRIDE
from paimon_sql.format.options.table.index import DELETION_VECTORS_ENABLED
from paimon_sql.format.options.table.merge_engine import MERGE_ENGINE, SEQUENCE_FIELD
from paimon_sql.storage.expressions.kernels.sorting import Indices
from paimon_sql.storage.merge.engines.base import RowKinds, SelectingEngine, is_retract
from paimon_sql.storage.merge.windows import Window
from paimon_sql.storage.metadata.definition import Definition, conflict
from paimon_sql.storage.table.changelog_producer import changelog_producer


class FirstRow(SelectingEngine):
    """Selects the oldest row; deletes are rejected or ignored (Paimon: `FirstRowMergeFunction`).

    Reads see compacted files only, and so need not merge.
    """

    name = "first-row"
    keeps_first = True

    @classmethod
    def problems(cls, table: Definition) -> Iterator[PaimonError]:
        if table.sequence_fields:
            yield conflict(
                SEQUENCE_FIELD, "is not for 'merge-engine' = 'first-row', where the first row written is kept."
            )
        producer = changelog_producer(table.options)
        if producer.produces and not producer.looks_up:
            yield conflict(
                CHANGELOG_PRODUCER,
                f"cannot be '{producer.name}' for '{MERGE_ENGINE.key}' = 'first-row'.",
                "Use 'none' or 'lookup'.",
            )
        if table.has_key and table.is_on(DELETION_VECTORS_ENABLED) and not table.is_on(PK_CLUSTERING_OVERRIDE):
            yield conflict(
                DELETION_VECTORS_ENABLED,
                "has no effect with 'merge-engine' = 'first-row', where old rows are never replaced.",
                "Leave it out.",
            )

    def select(self, window: Window) -> Indices:
        if self.ignores_deletes:
            return self.select_non_retractions(window, newest=False)
        if problem := self.write_error(window.kinds):
            raise problem
        return window.oldest

    def write_error(self, kinds: RowKinds) -> PaimonError | None:
        if self.ignores_deletes or not is_retract(kinds).any():
            return None
        return ConstraintViolationError(
            "By default, the merge engine 'first-row' cannot accept DELETE/UPDATE_BEFORE records.",
            remedy="Set 'ignore-delete' = 'true' to ignore them.",
        )
