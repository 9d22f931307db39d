"""The merge engine ``partial-update``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from paimon_sql.errors import ConstraintViolationError, PaimonError
from paimon_sql.format.options import TableOptions
from paimon_sql.format.options.table import merge_engine
from paimon_sql.format.options.values import comma_separated
from paimon_sql.format.schema.schema import TableSchema
from paimon_sql.format.schema.system_fields import RowKind
from paimon_sql.storage.expressions.kernels.sorting import NOWHERE, Indices, Mask, Segments, dense_ranks
from paimon_sql.storage.merge.aggregates.base import (
    UNORDERED,
    AggregateFunction,
    Effect,
    Steps,
    first_retraction_error,
    valid_mask,
)
from paimon_sql.storage.merge.aggregates.functions.first_last import LastNonNullValue
from paimon_sql.storage.merge.aggregates.registry import group_functions
from paimon_sql.storage.merge.engines import reducing
from paimon_sql.storage.merge.engines.base import RowKinds, is_retract
from paimon_sql.storage.merge.windows import Window
from paimon_sql.storage.metadata.definition import Definition, conflict


@dataclass(frozen=True)
class SequenceGroup:
    """A sequence group: columns that change together, and the columns that order their versions.

    Attributes:
        key: the option that defines it.
        ordering: the sequence columns, in order of significance; null sorts first.
        members: the columns that change.
    """

    key: str
    ordering: tuple[str, ...]
    members: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Sequence columns and members."""
        return (*self.ordering, *self.members)


def sequence_groups(options: TableOptions) -> tuple[SequenceGroup, ...]:
    """Return the sequence groups that the table's options define."""
    option = merge_engine.FIELD_SEQUENCE_GROUP
    return tuple(
        SequenceGroup(option.for_name(*names), comma_separated(names[0]), comma_separated(text))
        for names, text in options.matching(option)
    )


def ranks(ordering: Sequence[pa.Array]) -> Indices:
    """Return dense ranks of the rows by these columns, from 1; 0 for rows with nothing but nulls."""
    rank = dense_ranks(ordering)
    has_value = np.zeros(len(rank), dtype=np.bool_)
    for column in ordering:
        has_value |= valid_mask(column)
    return np.where(has_value, rank, 0)


def accepted(rank: Indices, segments: Segments, begins: Mask | None = None) -> Mask:
    """Return a mask of the rows that are at least as new as all rows before them in their key.

    Args:
        rank: the result of `ranks`; rows of rank 0 are never accepted.
        segments: the keys.
        begins: rows that start anew, as after a removal: rows before them do not count.
    """
    eras = segments.owners if begins is None else segments.owners + np.cumsum(begins)
    wide = eras * (int(rank.max(initial=0)) + 1) + rank
    found: Mask = (rank > 0) & (wide == np.maximum.accumulate(wide))
    return found


class PartialUpdate(reducing.ReducingEngine):
    """Replaces values by newer non-null ones, column by column (Paimon: `PartialUpdateMergeFunction`).

    The columns of a sequence group change together, nulls included, and only by rows that are not older by its sequence
    columns; a retraction sets them to null, or retracts from their aggregate functions. Otherwise deletes are rejected,
    unless an option ignores them or lets them remove the row; rows after a removal start with the values of the delete.
    """

    name = "partial-update"
    replaces = True

    @classmethod
    def problems(cls, table: Definition) -> Iterator[PaimonError]:
        """A column belongs to at most one sequence group, and key columns to none."""
        if not table.has_key:
            return
        groups = sequence_groups(table.options)
        owners: dict[str, str] = {}
        for group in groups:
            for name in group.columns:
                if name in table.schema.primary_keys:
                    yield conflict(group.key, f"names '{name}' of the primary key, which never changes.")
            for name in group.members:
                if name in owners:
                    yield conflict(group.key, f"names the column '{name}', which '{owners[name]}' names too.")
                owners.setdefault(name, group.key)
            for name in group.ordering:
                if name in table.columns and isinstance(table.columns[name].type, UNORDERED):
                    kind = table.columns[name].type.sql()
                    yield conflict(group.key, f"orders by '{name}' of type {kind}, which has no order.")
        ordering = {name for group in groups for name in group.ordering}
        yield from _functions_in_groups(table, set(owners), ordering)
        yield from _removals(table, ordering)

    def __init__(self, schema: TableSchema) -> None:
        super().__init__(schema)
        self._groups = sequence_groups(self.options)
        self._removes = self.options.get(merge_engine.PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE)
        removing = set(comma_separated(self.options.get(merge_engine.PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP)))
        self._removing = tuple(g for g in self._groups if removing & set(g.ordering))

    @cached_property
    def functions(self) -> Mapping[str, AggregateFunction]:
        return group_functions(self.schema, {name for group in self._groups for name in group.ordering})

    @property
    def merges_all_at_once(self) -> bool:
        return self._removes or bool(self._removing)

    def required_columns(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        wanted = dict.fromkeys(columns)
        for group in self._groups:
            if group in self._removing or set(group.columns) & set(columns):
                wanted |= dict.fromkeys(group.ordering)
        return tuple(wanted)

    def reduce(self, bundle: reducing.Bundle) -> dict[str, pa.Array]:
        counted, kinds, retract = self._counted(bundle)
        made = reducing.stamp(bundle, self._newest(bundle), kinds)
        names = set(bundle.table.column_names)
        for group in self._groups:
            if names & set(group.columns):
                made |= self._grouped(group, counted, retract, names)
        for name in bundle.table.column_names:
            if name not in made:
                made[name] = self._free(name, counted, retract)
        return made

    def write_error(self, kinds: RowKinds) -> PaimonError | None:
        if self.ignores_deletes or self._removes or not is_retract(kinds).any():
            return None
        return first_retraction_error(self.functions) if self._groups else _refused()

    def split(self, window: Window) -> Iterator[Window]:
        if not self.merges_all_at_once:
            return super().split(window)
        return reducing.split_at_deletes(window, alone=bool(self._removing))

    def _newest(self, bundle: reducing.Bundle) -> Indices:
        """Return the rows whose sequence numbers the merged rows get: the newest that are not ignored."""
        last = bundle.segments.last()
        if not self.ignores_deletes:
            return last
        counting = bundle.segments.last(~is_retract(bundle.kinds))
        return np.where(counting != NOWHERE, counting, last)

    def _counted(self, bundle: reducing.Bundle) -> tuple[reducing.Bundle, RowKinds, Mask]:
        """Return the rows that count, the resulting kind of each key, and a mask of the retractions among the rows."""
        retract = is_retract(bundle.kinds)
        if not retract.any():
            return bundle, np.full(bundle.segments.count, RowKind.INSERT, dtype=np.int8), retract
        if self.ignores_deletes:
            remaining = reducing.drop_retractions(bundle, ~retract, bundle.segments.last())
        elif self._groups:
            return self._with_retractions_alone(self._after_group_removals(bundle))
        elif self._removes:
            removed = reducing.removals(bundle)
            placeholders = np.where(removed != NOWHERE, removed, bundle.segments.last())
            counts = reducing.after(bundle, removed) & ~retract
            # As in Java's engine, the rows after a delete start with its values.
            counts[removed[bundle.segments.any(counts) & (removed != NOWHERE)]] = True
            remaining = reducing.drop_retractions(bundle, counts, placeholders)
        else:
            raise _refused()
        return remaining.bundle, remaining.kinds, np.zeros(len(remaining.bundle.rows), dtype=np.bool_)

    def _after_group_removals(self, bundle: reducing.Bundle) -> reducing.Remaining:
        """Drop the rows up to the last delete that a removing group accepts.

        Whether a delete is accepted depends on the rows since the previous removal, so removals are found one by one,
        over all keys at once.
        """
        segments = bundle.segments
        deletes = bundle.kinds == RowKind.DELETE
        found = np.full(segments.count, NOWHERE, dtype=np.int64)
        rank = [ranks([bundle.column(name) for name in g.ordering]) for g in self._removing]
        begins = np.zeros(len(segments), dtype=np.bool_)
        while deletes.any():
            removing = np.zeros(len(segments), dtype=np.bool_)
            for group_rank in rank:
                removing |= accepted(group_rank, segments, begins)
            first = segments.first(removing & deletes & reducing.after(bundle, found))
            fresh = first[first != NOWHERE]
            if not len(fresh):
                break
            found = np.where(first != NOWHERE, first, found)
            begins[fresh[fresh + 1 < len(begins)] + 1] = True
        placeholders = np.where(found != NOWHERE, found, segments.last())
        return reducing.drop_retractions(bundle, reducing.after(bundle, found), placeholders)

    def _with_retractions_alone(self, remaining: reducing.Remaining) -> tuple[reducing.Bundle, RowKinds, Mask]:
        """Replace the rows of keys with nothing but retractions by one retraction of all their values."""
        bundle, kinds = remaining.bundle, remaining.kinds
        retract = remaining.retractions
        only = ~bundle.segments.any(~retract)
        deleting = bundle.segments.any(bundle.kinds == RowKind.DELETE)
        kinds = np.where(only, np.where(deleting, np.int8(RowKind.DELETE), np.int8(RowKind.UPDATE_BEFORE)), kinds)
        return bundle, kinds, retract & ~only[bundle.segments.owners]

    def _grouped(
        self, group: SequenceGroup, bundle: reducing.Bundle, retract: Mask, names: set[str]
    ) -> dict[str, pa.Array]:
        """Merge the columns of a sequence group."""
        rank = ranks([bundle.column(name) for name in group.ordering])
        fresh = accepted(rank, bundle.segments)
        last = bundle.segments.last(fresh)
        values = np.where((last != NOWHERE) & retract[last], NOWHERE, last)
        made = {name: bundle.taken(name, last) for name in group.ordering if name in names}
        counts = rank > 0
        effects = np.where(retract, Effect.RETRACT, np.where(fresh, Effect.ADD, Effect.LATE)).astype(np.uint8)
        effects = effects[counts]
        for name in group.members:
            if name not in names:
                continue
            function = self.functions.get(name)
            if function is None:
                made[name] = bundle.taken(name, values)
                continue
            column = bundle.column(name)
            counted = column if counts.all() else column.filter(pa.array(counts))
            made[name] = function.apply(Steps(counted, bundle.segments.where(counts), effects))
        return made

    def _free(self, name: str, bundle: reducing.Bundle, retract: Mask) -> pa.Array:
        """Merge a column of no group: its newest non-null value, as retractions do not affect it."""
        if name in self.schema.primary_keys:
            return bundle.taken(name, bundle.segments.last())
        wanted = ~retract
        if bundle.table[name].null_count:
            wanted &= valid_mask(bundle.column(name))
        return bundle.taken(name, bundle.segments.last(wanted))


def _refused() -> ConstraintViolationError:
    return ConstraintViolationError(
        "By default, Partial update can not accept delete records.",
        remedy="Set 'ignore-delete' = 'true' to ignore them, 'partial-update.remove-record-on-delete' = 'true' to"
        " remove the whole row, or 'fields.<columns>.sequence-group' to retract some of the columns.",
    )


def _functions_in_groups(table: Definition, members: set[str], ordering: set[str]) -> Iterator[PaimonError]:
    default = table.options.get(merge_engine.FIELDS_DEFAULT_AGG_FUNCTION)
    for name in table.columns:
        own = table.options.get(merge_engine.FIELD_AGG_FUNCTION, name)
        outside = name not in members and name not in ordering and name not in table.schema.primary_keys
        if outside and (own or default) not in (None, LastNonNullValue.name):
            yield conflict(
                merge_engine.FIELD_AGG_FUNCTION.for_name(name) if own else merge_engine.FIELDS_DEFAULT_AGG_FUNCTION,
                f"needs a sequence group for column '{name}': a partial update has no order without one.",
                f"Set 'fields.<sequence columns>.sequence-group' = '{name}'.",
            )


def _removals(table: Definition, ordering: set[str]) -> Iterator[PaimonError]:
    by_delete = merge_engine.PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE
    by_group = merge_engine.PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP
    on_delete, groups = table.is_on(by_delete), table.names_of(by_group)
    ignored = table.options.key_of(merge_engine.IGNORE_DELETE) if table.is_on(merge_engine.IGNORE_DELETE) else None
    for key, used in ((by_delete.key, on_delete), (by_group.key, bool(groups))):
        if used and ignored:
            yield conflict(key, f"cannot be set where '{ignored}' is true.", "Leave one of them out.")
    if on_delete and ordering:
        yield conflict(by_delete, "cannot be true for a table with sequence groups.", f"Use '{by_group.key}'.")
    for name in groups:
        if name not in ordering:
            yield conflict(by_group, f"names '{name}', which orders no sequence group.")
