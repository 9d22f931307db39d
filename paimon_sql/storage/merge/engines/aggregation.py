"""The merge engine ``aggregation``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import pyarrow as pa

from paimon_sql.errors import PaimonError
from paimon_sql.format.options.table import merge_engine
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import RowKind
from paimon_sql.storage.columns.blobs_and_vectors import managed_by_key
from paimon_sql.storage.merge.aggregates.base import AggregateFunction, Effect, Steps, first_retraction_error
from paimon_sql.storage.merge.aggregates.registry import aggregation_functions
from paimon_sql.storage.merge.engines import reducing
from paimon_sql.storage.merge.engines.base import RowKinds, is_retract
from paimon_sql.storage.merge.windows import Window
from paimon_sql.storage.metadata.definition import Definition, conflict


class Aggregation(reducing.ReducingEngine):
    """Aggregates every column by its function, by default ``last_non_null_value`` (Paimon: `AggregateMergeFunction`).

    Retractions retract their values. With ``aggregation.remove-record-on-delete``, ``-D`` removes the row instead, and
    later rows start a new one.
    """

    name = "aggregation"

    @classmethod
    def problems(cls, table: Definition) -> Iterator[PaimonError]:
        if table.is_on(merge_engine.AGGREGATION_REMOVE_RECORD_ON_DELETE):
            for names, ignored in table.options.matching(merge_engine.FIELD_IGNORE_RETRACT):
                if ignored:
                    yield conflict(
                        merge_engine.FIELD_IGNORE_RETRACT.for_name(*names),
                        f"cannot be true where '{merge_engine.AGGREGATION_REMOVE_RECORD_ON_DELETE.key}' is.",
                        "Leave one of them out.",
                    )
        if blobs := managed_by_key(table.schema):
            yield conflict(
                merge_engine.MERGE_ENGINE, f"cannot be 'aggregation' for a table with the blob '{min(blobs)}'."
            )

    def __init__(self, schema: TableSchema) -> None:
        super().__init__(schema)
        self._removes = self.options.get(merge_engine.AGGREGATION_REMOVE_RECORD_ON_DELETE)

    @cached_property
    def functions(self) -> dict[str, AggregateFunction]:
        return aggregation_functions(self.schema)

    @property
    def merges_all_at_once(self) -> bool:
        return self._removes

    def reduce(self, bundle: reducing.Bundle) -> dict[str, pa.Array]:
        retract = is_retract(bundle.kinds)
        newest = bundle.segments.last()
        counts = np.ones(len(bundle.rows), dtype=np.bool_)
        if retract.any() and self.ignores_deletes:
            counts = ~retract
        elif retract.any() and self._removes:
            counts = reducing.after(bundle, reducing.removals(bundle))
        rest = reducing.drop_retractions(bundle, counts, newest)
        counted, retract = rest.bundle, rest.retractions
        effects = np.where(retract, Effect.RETRACT, Effect.ADD).astype(np.uint8) if retract.any() else None
        made = reducing.stamp(bundle, newest, rest.kinds)
        for name in bundle.table.column_names:
            if name not in made:
                made[name] = self.functions[name].apply(Steps(counted.column(name), counted.segments, effects))
        return made

    def write_error(self, kinds: RowKinds) -> PaimonError | None:
        retractions = is_retract(kinds)
        if self._removes:
            retractions &= kinds != RowKind.DELETE
        if self.ignores_deletes or not retractions.any():
            return None
        return first_retraction_error(self.functions)

    def split(self, window: Window) -> Iterator[Window]:
        return reducing.split_at_deletes(window, alone=False) if self._removes else super().split(window)
