"""Views of a Hive catalog, as Hive's own views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from paimon_sql.catalog.hive.client import EntryExistsError, MissingEntryError
from paimon_sql.catalog.hive.databases import DatabasesInMetastore
from paimon_sql.catalog.hive.layout.column_types import paimon_type
from paimon_sql.catalog.hive.layout.tables import COMMENT, VIEW, columns, is_view
from paimon_sql.catalog.identifier import Identifier
from paimon_sql.errors import UnsupportedError
from paimon_sql.format.catalog_objects.view import ViewSchema
from paimon_sql.format.schema.types import DataField

_INPUT = "org.apache.hadoop.mapred.SequenceFileInputFormat"
_OUTPUT = "org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat"
_SERDE = "org.apache.hadoop.hive.serde2.MetadataTypedColumnsetSerDe"
_SERVER_PROPERTIES = frozenset(("transient_lastDdlTime",))


class ViewsInMetastore(DatabasesInMetastore):
    """Views as entries of the metastore, with one query for all engines."""

    def list_views(self, database: str) -> list[str]:
        self._require(database)
        return sorted(self.entries.metastore.call("get_tables_by_type", database, "*", VIEW))

    def view_exists(self, identifier: Identifier) -> bool:
        return self._view(identifier) is not None

    def view(self, identifier: Identifier) -> ViewSchema:
        entry = self._view(identifier)
        if entry is None:
            raise self._no_view(identifier)
        options = {k: v for k, v in (entry.parameters or {}).items() if k not in _SERVER_PROPERTIES}
        return ViewSchema(
            fields=tuple(DataField(i, c.name, paimon_type(c.type), c.comment) for i, c in enumerate(entry.sd.cols)),
            query=entry.viewExpandedText or entry.viewOriginalText,
            comment=options.pop(COMMENT, None),
            options=options,
        )

    def create_view(self, identifier: Identifier, view: ViewSchema, *, replace: bool = False) -> None:
        self._require(identifier.database)
        self._check_view_name(identifier)
        self._refuse_others(identifier)
        entry = self._entry(identifier, view)
        try:
            self.entries.add(entry)
        except EntryExistsError:
            if not self.view_exists(identifier):
                raise self._taken_table(identifier) from None
            if not replace:
                raise self._taken_view(identifier) from None
            self._put(identifier, entry)

    def alter_view(self, identifier: Identifier, change: Callable[[ViewSchema], ViewSchema]) -> ViewSchema:
        changed = change(self.view(identifier))
        self._put(identifier, self._entry(identifier, changed))
        return changed

    def drop_view(self, identifier: Identifier) -> None:
        if self._view(identifier) is None or not self.entries.drop(identifier.database, identifier.object_name):
            raise self._no_view(identifier)

    def rename_view(self, source: Identifier, target: Identifier) -> None:
        entry = self._view(source)
        if entry is None:
            raise self._no_view(source)
        self._require(target.database)
        self._check_view_name(target)
        self._refuse_others(target)
        existing = self.entries.get(target.database, target.table)
        if existing is not None:
            if is_view(existing):
                raise self._taken_view(target)
            raise self._taken_table(target)
        entry.dbName, entry.tableName = target.database.lower(), target.table.lower()
        self._put(source, entry)

    def _view(self, identifier: Identifier) -> Any | None:
        found = self.entries.get(identifier.database, identifier.object_name)
        return found if found is not None and is_view(found) else None

    def _put(self, identifier: Identifier, entry: Any) -> None:
        try:
            self.entries.alter(identifier.database, identifier.object_name, entry)
        except MissingEntryError:
            raise self._no_view(identifier) from None

    def _entry(self, identifier: Identifier, view: ViewSchema) -> Any:
        others = sorted(engine for engine, query in view.dialects.items() if query != view.query)
        if others:
            raise UnsupportedError(
                f"View {self.name}.{identifier} cannot have a query of its own for {', '.join(others)}: Hive's"
                " metastore keeps one query of a view."
            )
        entry = self._new_entry(identifier, VIEW)
        entry.parameters = dict(view.options)
        if view.comment is not None:
            entry.parameters[COMMENT] = view.comment
        entry.viewOriginalText = entry.viewExpandedText = view.query
        entry.sd.inputFormat, entry.sd.outputFormat = _INPUT, _OUTPUT
        entry.sd.serdeInfo.serializationLib = _SERDE
        entry.sd.cols = columns(view.fields)
        return self.entries.fit(entry)
