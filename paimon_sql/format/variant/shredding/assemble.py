"""Assembly of variants from shredded columns (spec: Parquet, "Variant Shredding")."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.format.bytes.memory import Longs, Mask
from paimon_sql.format.variant.byte_ranges import binary_of, stretches_of, validity
from paimon_sql.format.variant.dictionaries import Dictionaries
from paimon_sql.format.variant.encode import encoded, packed
from paimon_sql.format.variant.header import NULL, Basic
from paimon_sql.format.variant.shredding.shapes import METADATA, TYPED_VALUE, VALUE
from paimon_sql.format.variant.values import Values


def assemble(columns: pa.StructArray, target: pa.StructType) -> pa.StructArray:
    """Assemble variants, structs of value and metadata, from the columns of a file.

    Parts of objects and arrays whose columns were not read are missing. A required value that is missing is the variant
    null.

    Args:
        columns: the columns that were read; at least the dictionaries and one other column.
        target: the type of the structs.

    Raises:
        ValueError: a column has a type that variants do not support, or a part is malformed.
    """
    present = validity(columns)
    metadata = columns.field(METADATA)
    dictionaries, rows = Dictionaries.of(metadata, present)
    lacking: set[tuple[int, str]] = set()
    values = _Group(columns, rows, dictionaries, lacking).values(present)
    if lacking:  # only in invalid files
        dictionaries = dictionaries.with_keys(lacking)
        metadata = dictionaries.encoded.take(pa.array(rows))
        values = _Group(columns, rows, dictionaries, set()).values(present)
    values = values.fill_null(pa.scalar(NULL, pa.binary()))
    parts = {VALUE: values, METADATA: metadata}
    mask = None if present.all() else pa.array(~present)
    return pa.StructArray.from_arrays([parts[f.name] for f in target], fields=list(target), mask=mask)


def _child(columns: pa.StructArray, name: str) -> pa.Array | None:
    at = columns.type.get_field_index(name)
    return None if at < 0 else columns.field(at)


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


@dataclass(frozen=True)
class _Group:
    """The columns of a value, and the dictionary of each row; ``lacking`` collects missing keys of dictionaries."""

    columns: pa.StructArray
    dictionary: Longs
    dictionaries: Dictionaries
    lacking: set[tuple[int, str]]

    def _below(self, columns: pa.StructArray, dictionary: Longs) -> _Group:
        return _Group(columns, dictionary, self.dictionaries, self.lacking)

    def values(self, wanted: Mask) -> pa.Array:
        """Encode the values; null if missing or not wanted."""
        typed, plain = _child(self.columns, TYPED_VALUE), _child(self.columns, VALUE)
        if plain is None:
            plain = pa.nulls(len(self.columns), pa.binary())
        plain = pc.if_else(pa.array(wanted), plain.cast(pa.binary()), pa.scalar(None, pa.binary()))
        if typed is None:
            return plain
        is_typed = validity(typed) & wanted
        if pa.types.is_struct(typed.type):
            return pc.coalesce(self._objects(typed, plain, is_typed), plain)
        if _is_list(typed.type):
            return pc.coalesce(self._arrays(typed, is_typed), plain)
        return pc.coalesce(pc.if_else(pa.array(wanted), encoded(typed), pa.scalar(None, pa.binary())), plain)

    def _arrays(self, typed: pa.ListArray, wanted: Mask) -> pa.Array:
        some = typed.filter(pa.array(wanted))
        counts = np.zeros(len(typed), np.int64)
        counts[wanted] = some.value_lengths().to_numpy(zero_copy_only=False)
        elements = some.flatten()
        below = self._below(elements, np.repeat(self.dictionary, counts))
        values = below.values(validity(elements)).fill_null(pa.scalar(NULL, pa.binary()))
        return packed(counts, values, wanted)

    def _objects(self, typed: pa.StructArray, plain: pa.Array, wanted: Mask) -> pa.Array:
        names = [field.name for field in typed.type]
        children = [typed.field(i) for i in range(len(names))]
        fields = [self._below(child, self.dictionary).values(validity(child) & wanted) for child in children]
        # Fields without a column are in the value column, as objects without the keys of columns.
        rows = np.flatnonzero(validity(plain) & wanted)
        data, at, _ = stretches_of(plain)
        rest = Values(data, at[rows], self.dictionary[rows], self.dictionaries)
        if (rest.basic != Basic.OBJECT).any():
            raise ValueError("a variant has fields and is no object")
        inside = rest.children()
        owners, keys, ids = [rows[inside.owners]], [inside.keys], [inside.ids]
        parts = [binary_of(data, inside.values.at, inside.values.sizes)]
        for name, values in zip(names, fields, strict=True):
            having = np.flatnonzero(validity(values))
            key_ids = self.dictionaries.ids_of(name)[self.dictionary[having]]
            self.lacking.update((int(number), name) for number in np.unique(self.dictionary[having[key_ids < 0]]))
            owners.append(having)
            keys.append(np.full(len(having), self.dictionaries.numbers_of([name])[0]))
            ids.append(key_ids)
            parts.append(values.drop_null())
        if self.lacking:
            return pa.nulls(len(typed), pa.binary())
        owner = np.concatenate(owners)
        order = np.lexsort((self.dictionaries.ranks[np.concatenate(keys)], owner))
        counts = np.bincount(owner, minlength=len(typed))
        return packed(counts, pa.concat_arrays(parts).take(pa.array(order)), wanted, np.concatenate(ids)[order])
