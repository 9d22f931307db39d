"""Tables of plain files in a session: tables of Spark's own catalog, and directories."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from pyspark.errors import PySparkException

from paimon_sql.errors import InvalidInputError, NoSuchDatabaseError, NoSuchTableError, UnsupportedError
from paimon_sql.format.layout.partitions import unescape_path_name
from paimon_sql.format.schema.types import DataField
from paimon_sql.spark.conversion.types import paimon_fields, struct_json
from paimon_sql.spark.java.catalyst import TableName
from paimon_sql.spark.java.objects import JavaObject, ScalaMap, Seq
from paimon_sql.spark.jvm.gateway import CATALYST
from paimon_sql.spark.jvm.session import JvmSession
from paimon_sql.sql.context import SESSION_CATALOG
from paimon_sql.storage.copy.migration import PlainFile, PlainTable
from paimon_sql.storage.file_formats.registry import format_names
from paimon_sql.storage.file_io import FileIO, FileStatus, file_io_of
from paimon_sql.storage.file_io.paths import without_scheme
from paimon_sql.storage.table.table import Table


class SessionTables:
    """The plain tables of one session.

    Args:
        session: the session.
        options: the options of the catalog to migrate to; they configure the file systems.
    """

    def __init__(self, session: JvmSession, options: Mapping[str, str]) -> None:
        self._jvm = session.jvm
        self._session = session
        self._options = options

    def table(self, source_type: str, name: str, known: Table | None) -> PlainTable:
        """A table of the session's own catalog, or a directory.

        Args:
            source_type: ``parquet``, ``orc`` or ``avro`` for a directory; otherwise the name is a table's.
            name: the table's name, or the directory's path.
            known: a table with the columns of a directory's files; None infers them.
        """
        if source_type in format_names():
            return self._directory(source_type, name, known)
        return self._table(*self._parts(name))

    def directories(self, source_type: str, name: str) -> list[str]:
        """The directories of a table: its own, and those of its external partitions."""
        if source_type in format_names():
            return [name]
        found, identifier = self._metadata(*self._parts(name))
        location = found.storage().locationUri()
        directories = [self._path(location.get())] if location.isDefined() else []
        if found.tracksPartitionsInCatalog():
            directories += [path for _, path in self._partitions(identifier)]
        return directories

    def names(self, database: str) -> list[str]:
        """The names of the tables of a database of the session's own catalog, sorted."""
        catalog = self._session.state.catalog()
        if not catalog.databaseExists(database):
            raise NoSuchDatabaseError(f"Spark's catalog {SESSION_CATALOG} has no database {database}.", name=database)
        # Without temporary views, which are in every database.
        found: Seq[TableName] = catalog.listTables(database, "*", False)
        names = [one.table() for one in self._jvm.items(found)]
        metadata = catalog.getTableMetadata
        return sorted(name for name in names if not _is_view(metadata(self._identifier(database, name))))

    def _identifier(self, database: str, name: str) -> TableName:
        return self._jvm.new(f"{CATALYST}.TableIdentifier", name, self._jvm.some(database))

    def _parts(self, name: str) -> tuple[str, str]:
        parts = [part.strip("`") for part in name.split(".")]
        if len(parts) == 3 and parts[0] == SESSION_CATALOG:
            parts = parts[1:]
        if len(parts) > 2 or not all(parts):
            raise InvalidInputError(
                f"'{name}' is not a table name of Spark's catalog {SESSION_CATALOG}.", remedy="Write db.t."
            )
        return ("default", parts[0]) if len(parts) == 1 else (parts[0], parts[1])

    def _metadata(self, database: str, name: str) -> tuple[JavaObject, TableName]:
        """The metadata of a table in Spark's catalog, and its identifier there."""
        catalog, identifier = self._session.state.catalog(), self._identifier(database, name)
        if not catalog.databaseExists(database) or not catalog.tableExists(identifier):
            raise NoSuchTableError(
                f"Spark's catalog {SESSION_CATALOG} has no table {database}.{name}.",
                name=f"{SESSION_CATALOG}.{database}.{name}",
                remedy="Specify a directory of files by its path, with source_type => 'parquet', 'orc' or 'avro'.",
            )
        return catalog.getTableMetadata(identifier), identifier

    def _table(self, database: str, name: str) -> PlainTable:
        found, identifier = self._metadata(database, name)
        full = f"{SESSION_CATALOG}.{database}.{name}"
        storage, provider = found.storage(), found.provider()
        kind = str(provider.get()).lower() if provider.isDefined() else ""
        if _is_view(found) or kind not in format_names() or not storage.locationUri().isDefined():
            raise UnsupportedError(
                f"{full} is not a table of Parquet, ORC or Avro files{f', but of {kind}' if kind else ''}.",
                remedy="Use CREATE TABLE .. AS SELECT * FROM it.",
            )
        location = self._path(storage.locationUri().get())
        keys = tuple(str(k) for k in self._jvm.items(found.partitionColumnNames()))
        file_io = file_io_of(location, self._options)
        if keys and found.tracksPartitionsInCatalog():
            files = [f for spec, path in self._partitions(identifier) for f in _files(file_io, path, spec)]
            _refuse_others(full, file_io, location, files)
        else:
            files = list(_found_files(_data_below(file_io, location), location, keys))
        return PlainTable(
            name=full,
            fields=paimon_fields(struct_json(found.schema())),
            partition_keys=keys,
            file_format=kind,
            files=tuple(files),
            file_io=file_io,
            comment=str(found.comment().get()) if found.comment().isDefined() else None,
            drop=lambda: self._drop(database, name),
        )

    def _partitions(self, identifier: TableName) -> Iterator[tuple[dict[str, str], str]]:
        listed: Seq[JavaObject] = self._session.state.catalog().listPartitions(identifier, self._jvm.none)
        for part in self._jvm.items(listed):
            spec: ScalaMap[str, str] = part.spec()
            yield {k: spec.apply(k) for k in self._jvm.items(spec.keys().toSeq())}, self._path(part.location())

    def _path(self, uri: JavaObject) -> str:
        """A URI as an unescaped path."""
        return str(self._jvm.new("org.apache.hadoop.fs.Path", uri).toString())

    def _directory(self, kind: str, path: str, known: Table | None) -> PlainTable:
        file_io = file_io_of(path, self._options)
        if file_io.status(path) is None:
            raise NoSuchTableError(f"There is no directory {path}.", name=path)
        below = _data_below(file_io, path)
        keys = tuple(_spec(below[0].path[len(path) :])) if below else ()
        fields = known.schema.fields if known is not None else self._inferred(kind, path)

        def drop() -> None:
            file_io.delete_dir(path, recursive=True)

        files = tuple(_found_files(below, path, keys))
        return PlainTable(path, fields, keys, kind, files, file_io, drop=drop)

    def _inferred(self, kind: str, path: str) -> tuple[DataField, ...]:
        """The columns that Spark infers from the files of a directory.

        Raises:
            InvalidInputError: Spark cannot infer them.
        """
        try:
            frame = self._session.python.read.format(kind).load(path)
        except PySparkException as error:
            raise InvalidInputError(
                f"Spark cannot infer the columns of the {kind} files in {path}: {str(error).splitlines()[0]}",
                remedy="Create the table first and name it as target_table.",
            ) from None
        return paimon_fields(json.loads(frame.schema.json()))

    def _drop(self, database: str, name: str) -> None:
        # Not by SQL, which may resolve the name to another table if the session catalog is ours.
        catalog, identifier = self._session.state.catalog(), self._identifier(database, name)
        catalog.invalidateCachedTable(identifier)
        catalog.dropTable(identifier, False, False)


def _is_view(metadata: JavaObject) -> bool:
    return str(metadata.tableType().name()) == "VIEW"


def _files(file_io: FileIO, directory: str, spec: Mapping[str, str]) -> Iterator[PlainFile]:
    for status in file_io.list(directory):
        if not status.is_dir and _is_data(status):
            yield PlainFile(status.path, status.size, spec)


def _is_data(status: FileStatus) -> bool:
    return status.size > 0 and not status.name.startswith((".", "_"))


def _data_below(file_io: FileIO, directory: str) -> list[FileStatus]:
    """The possible data files in a directory and its subdirectories, sorted by path."""
    return sorted(filter(_is_data, file_io.walk(directory)), key=lambda s: s.path)


def _found_files(below: Sequence[FileStatus], root: str, keys: Sequence[str]) -> Iterator[PlainFile]:
    """The data files of a directory with the partition specs from the names of subdirectories.

    Raises:
        InvalidInputError: a file is not in a partition of these keys.
    """
    for status in below:
        below_root = status.path[len(root) :]
        spec = _spec(below_root)
        if any(part.startswith((".", "_")) for part in below_root.split("/") if "=" not in part):
            continue
        if tuple(spec) != tuple(keys):
            raise InvalidInputError(
                f"{status.path} is not in a partition of ({', '.join(keys)}).",
                remedy="Name directories column=value, all in the same order.",
            )
        yield PlainFile(status.path, status.size, spec)


def _refuse_others(name: str, file_io: FileIO, location: str, files: Sequence[PlainFile]) -> None:
    """Raise if a table's directory has files of unknown partitions, which would be deleted with the table."""
    known = {without_scheme(f.path)[1] for f in files}
    for status in file_io.walk(location):
        path = without_scheme(status.path)[1]
        if _is_data(status) and path not in known and "/_" not in path.removeprefix(without_scheme(location)[1]):
            raise InvalidInputError(
                f"The partition of {status.path} is not registered in {name}.", remedy=f"Run MSCK REPAIR TABLE {name}."
            )


def _spec(path: str) -> dict[str, str]:
    parts = [part.partition("=") for part in path.split("/")[:-1] if "=" in part]
    return {unescape_path_name(name): unescape_path_name(value) for name, _, value in parts}
