"""Changes of schemas, views and functions for a server, computed from the definitions before and after.

The JSON is that of Paimon's `SchemaChange`, `ViewChange` and `FunctionChange` (spec: REST API). Columns are matched by
id, so that a rename is not a drop and an add.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from paimon_sql.errors import UnsupportedError
from paimon_sql.format.options.table.table import PRIMARY_KEY
from paimon_sql.format.schema import types as t
from paimon_sql.format.schema.catalog_objects import FunctionSchema, ViewSchema
from paimon_sql.format.schema.schema import TableSchema

Change = dict[str, object]
_Changed: TypeAlias = TableSchema | ViewSchema | FunctionSchema
_Path = tuple[str, ...]
_Words = tuple[str, str, str, str, str]
_OPTIONS: _Words = ("key", "value", "removeOption", "setOption", "setOption")
_DIALECTS: _Words = ("dialect", "query", "dropDialect", "addDialect", "updateDialect")
_DEFINITIONS: _Words = ("name", "definition", "dropDefinition", "addDefinition", "updateDefinition")
"""Members of a change and its actions: to drop, to add and to update what has the name."""


def schema_changes(before: TableSchema, after: TableSchema) -> list[Change]:
    """Return the changes from one schema to another.

    Raises:
        UnsupportedError: no change exists for the difference, such as another order of nested fields.
    """
    changes = [*_common_changes(before, after)]
    if before.has_key and not after.has_key:
        changes.append({"action": "dropPrimaryKey"})
    changes += _field_changes(before.fields, after.fields, ())
    if after.has_key and not before.has_key:
        changes.append({"action": "setOption", "key": PRIMARY_KEY.key, "value": ",".join(after.primary_keys)})
    return changes


def view_changes(before: ViewSchema, after: ViewSchema) -> list[Change] | None:
    """Return the changes from one view to another; None if it must be replaced, for columns or query differ."""
    if (before.fields, before.query) != (after.fields, after.query):
        return None
    return [*_common_changes(before, after), *_named_changes(before.dialects, after.dialects, _DIALECTS)]


def function_changes(before: FunctionSchema, after: FunctionSchema) -> list[Change] | None:
    """Return the changes from one function to another; None if it must be replaced, for its signature differs."""
    if replace(before, definitions=after.definitions, comment=after.comment, options=after.options) != after:
        return None
    old, new = ({name: dict(d) for name, d in s.definitions.items()} for s in (before, after))
    return [*_common_changes(before, after), *_named_changes(old, new, _DEFINITIONS)]


def _common_changes(before: _Changed, after: _Changed) -> Iterator[Change]:
    """The changes of options and comment."""
    yield from _named_changes(before.options, after.options, _OPTIONS)
    if before.comment != after.comment:
        yield {"action": "updateComment", "comment": after.comment}


def _named_changes(before: Mapping[str, object], after: Mapping[str, object], words: _Words) -> Iterator[Change]:
    """The changes of options, dialects or definitions by name."""
    key, value, drop, add, update = words
    for name in before:
        if name not in after:
            yield {"action": drop, key: name}
    for name, content in after.items():
        if before.get(name) != content:
            yield {"action": update if name in before else add, key: name, value: content}


def _field_changes(before: Sequence[t.DataField], after: Sequence[t.DataField], parent: _Path) -> Iterator[Change]:
    """The changes of the fields of a row, in an order in which each is possible after those before it."""
    old, retained = {f.id: f for f in before}, {f.id for f in after}
    for field in before:
        if field.id not in retained:
            yield {"action": "dropColumn", "fieldNames": [*parent, field.name]}
    remaining = [f for f in before if f.id in retained]
    yield from _renamings({f.id: f.name for f in remaining}, {f.id: f.name for f in after if f.id in old}, parent)
    for field in after:
        if field.id in old:
            yield from _column_changes(old[field.id], field, (*parent, field.name))
    order = [f.id for f in remaining]
    for index, field in enumerate(after):
        if field.id not in old:
            yield from _added(field, parent, index, after, is_last=index == len(order))
            order.insert(index, field.id)
        elif order[index] != field.id:
            if parent:
                raise UnsupportedError(
                    f"Fields inside column '{parent[0]}' cannot be reordered: the REST protocol has no such change."
                )
            yield {"action": "updateColumnPosition", "move": _move(field.name, index, after)}
            order.remove(field.id)
            order.insert(index, field.id)


def _renamings(before: dict[int, str], after: dict[int, str], parent: _Path) -> Iterator[Change]:
    """Renames in sequence, each to a name that is free by then."""
    names = dict(before)
    while pending := [i for i, name in after.items() if names[i] != name]:
        free = [i for i in pending if after[i] not in names.values()]
        # A swap of two names needs a third one.
        i, target = (free[0], after[free[0]]) if free else (pending[0], f"__{names[pending[0]]}")
        yield {"action": "renameColumn", "fieldNames": [*parent, names[i]], "newName": target}
        names[i] = target


def _added(
    field: t.DataField, parent: _Path, index: int, after: Sequence[t.DataField], *, is_last: bool
) -> Iterator[Change]:
    path = [*parent, field.name]
    yield {
        "action": "addColumn",
        "fieldNames": path,
        "dataType": field.type.to_json(),
        "comment": field.description,
        "move": None if is_last else _move(field.name, index, after),
    }
    if field.default is not None:
        yield {"action": "updateColumnDefaultValue", "fieldNames": path, "newDefaultValue": field.default}


def _move(name: str, index: int, after: Sequence[t.DataField]) -> Change:
    if index == 0:
        return {"fieldName": name, "referenceFieldName": None, "type": "FIRST"}
    return {"fieldName": name, "referenceFieldName": after[index - 1].name, "type": "AFTER"}


def _column_changes(before: t.DataField, after: t.DataField, path: _Path) -> Iterator[Change]:
    names = list(path)
    yield from _type_changes(before.type, after.type, path)
    if before.description != after.description:
        yield {"action": "updateColumnComment", "fieldNames": names, "newComment": after.description}
    if before.default != after.default:
        yield {"action": "updateColumnDefaultValue", "fieldNames": names, "newDefaultValue": after.default}


def _type_changes(before: t.DataType, after: t.DataType, path: _Path) -> Iterator[Change]:
    if before == after:
        return
    pairs = _inner(before, after)
    if isinstance(before, t.RowType) and isinstance(after, t.RowType):
        yield from _field_changes(before.fields, after.fields, path)
    elif pairs is not None:
        for name, (old, new) in pairs.items():
            yield from _type_changes(old, new, (*path, name))
    elif before.as_nullable() != after.as_nullable():
        yield {
            "action": "updateColumnType",
            "fieldNames": list(path),
            "newDataType": after.to_json(),
            "keepNullability": before.nullable == after.nullable,
        }
        return
    if before.nullable != after.nullable:
        yield {"action": "updateColumnNullability", "fieldNames": list(path), "newNullability": after.nullable}


def _inner(before: t.DataType, after: t.DataType) -> dict[str, tuple[t.DataType, t.DataType]] | None:
    """The nested types of two arrays or maps, by their names in paths; None if the type changes as a whole."""
    if isinstance(before, t.ArrayType) and isinstance(after, t.ArrayType):
        return {"element": (before.element, after.element)}
    if isinstance(before, t.MapType) and isinstance(after, t.MapType) and before.key == after.key:
        return {"value": (before.value, after.value)}
    return None
