"""The partitions of a format table: folders whose names tell the values of the partition columns, level by level.

A partition's files stand in its folder and in all folders below that one, whatever those are called. Where a catalog
keeps a register of the partitions, those are the partitions, whether their folders are there or not.

What begins with ``_`` or ``.`` is hidden: writers keep there what is not to be seen yet. In the layout that names
folders by values alone the name for null may begin so and is a partition all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from paimon_sql.errors import CatalogUnavailableError, InvalidInputError
from paimon_sql.format.layout.partitions import escape_path_name, unescape_path_name
from paimon_sql.format.schema.arrow_types import arrow_type
from paimon_sql.format.schema.types import DataField, string_type
from paimon_sql.storage.execution.threads import spread
from paimon_sql.storage.expressions.casts import cast
from paimon_sql.storage.expressions.predicates import Predicate, all_of, conjuncts
from paimon_sql.storage.file_io import FileStatus
from paimon_sql.storage.file_io.paths import join
from paimon_sql.storage.format_tables.register import Figures, Spec
from paimon_sql.storage.format_tables.table import SCHEMA_FOLDER, FormatTable

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
"""What Hive and Spark write into the name of a folder for null."""


@dataclass(frozen=True)
class Partition:
    """A folder of rows with the same values of the partition columns.

    Attributes:
        path: the folder.
        texts: the values in the order of the columns, as the names of the folders tell them; None is null.
    """

    path: str
    texts: tuple[str | None, ...] = ()


def all_partitions(table: FormatTable) -> list[Partition]:
    """The partitions of a table, sorted by their folders; of one without partition columns its folder."""
    return chosen_partitions(table, None)


def chosen_partitions(table: FormatTable, predicate: Predicate | None) -> list[Partition]:
    """The partitions for which a condition on partition columns is true.

    Folders are looked into only if what is known of their values so far does not rule them out.

    Args:
        table: the table.
        predicate: the condition; what it asks of other columns must not be among it.

    Raises:
        InvalidInputError: a folder's name tells no value of its column.
    """
    if table.register is not None and table.partition_fields:
        registered = [p for p, _ in registered_partitions(table)]
        found = _fulfilling(table, registered, len(table.partition_fields), predicate)
        return sorted(found, key=lambda p: p.path)
    return partitions_in_folders(table, predicate)


def registered_partitions(table: FormatTable) -> list[tuple[Partition, Figures]]:
    """The partitions that the catalog's register holds, and what they are said to hold.

    Raises:
        CatalogUnavailableError: the register names a partition that cannot be one of the table.
    """
    assert table.register is not None
    return [(_registered(table, spec), figures) for spec, figures in table.register.all()]


def spec_of(table: FormatTable, partition: Partition) -> dict[str, str]:
    """How a register names a partition."""
    texts = [table.default_name if text in (None, "") else text for text in partition.texts]
    return dict(zip(table.schema.partition_keys, map(str, texts), strict=True))


def partition_of(table: FormatTable, texts: Sequence[str | None]) -> Partition:
    """The partition with such values, whose folder need not be there.

    Raises:
        InvalidInputError: a value cannot be the name of a folder, or not of one of this table.
    """
    return Partition(table.folder_of(folder_names(table, texts)), tuple(texts))


def partitions_in_folders(table: FormatTable, predicate: Predicate | None = None) -> list[Partition]:
    """The partitions whose folders are there, for which a condition on partition columns is true."""
    found, parts, seen = [Partition(table.location)], conjuncts(predicate), 0
    for level, field in enumerate(table.partition_fields):
        look = partial(_children, table, level, field)
        found = [child for children in spread(look, found, table.listing_threads) for child in children]
        known = {f.name for f in table.partition_fields[: level + 1]}
        decidable = [p for p in parts if p.columns() <= known]
        if len(decidable) > seen or level == len(table.partition_fields) - 1:
            found = _fulfilling(table, found, level + 1, all_of(decidable))
            seen = len(decidable)
    return sorted(found, key=lambda p: p.path)


def folders_of(table: FormatTable, partition: Partition) -> list[str]:
    """The folders that hold the files of a partition: its own and those below it; none if it is not there."""
    if (not partition.texts or table.register is not None) and not table.file_io.exists(partition.path):
        return []
    found, level = [partition.path], [partition.path]
    while level:
        level = [below.path for folder in level for below in table.file_io.list(folder) if _is_below(table, below)]
        found += level
    return found


def files_of(table: FormatTable, partitions: Sequence[Partition]) -> list[str]:
    """The files of some partitions."""
    folders = [f for found in spread(partial(folders_of, table), partitions, table.listing_threads) for f in found]
    listed = spread(table.file_io.list, folders, table.listing_threads)
    return [s.path for found in listed for s in found if not s.is_dir and not is_hidden(s.name)]


def files_in(table: FormatTable, partition: Partition) -> list[FileStatus]:
    """The files of one partition."""
    listed = (s for folder in folders_of(table, partition) for s in table.file_io.list(folder))
    return [s for s in listed if not s.is_dir and not is_hidden(s.name)]


def is_hidden(name: str) -> bool:
    """Whether a file or folder of that name is not to be seen."""
    return name.startswith(("_", "."))


def partition_columns(table: FormatTable, partitions: Sequence[Partition]) -> dict[str, pa.Array]:
    """The values of partitions, an array a column; those of the first columns where not all are known yet.

    Raises:
        InvalidInputError: a text is no value of its column.
    """
    count = len(partitions[0].texts) if partitions else len(table.partition_fields)
    columns = {}
    for i, field in enumerate(table.partition_fields[:count]):
        texts = pa.array([p.texts[i] for p in partitions], pa.string())
        columns[field.name] = _values(table, field, texts)
    return columns


def folder_names(table: FormatTable, texts: Sequence[str | None]) -> tuple[str, ...]:
    """The names of the folders, one below the other, of a partition with such values.

    Raises:
        InvalidInputError: a value cannot be the name of a folder, or not of one of this table.
    """
    names = []
    for i, (field, text) in enumerate(zip(table.partition_fields, texts, strict=False)):
        value = escape_path_name(table.default_name if text is None or text == "" else text)
        name = value if table.only_values else f"{escape_path_name(field.name)}={value}"
        taken = i == 0 and not table.is_external and name == SCHEMA_FOLDER
        hidden = is_hidden(name) and value != table.default_name
        if name in (".", "..") or (table.only_values and (taken or hidden)):
            raise InvalidInputError(
                f"{table.name}: '{text}' cannot be a value of {field.name}, as no folder of rows can have that name.",
                remedy="Without 'format-table.partition-path-only-value' names of folders begin with the column.",
            )
        names.append(name)
    return tuple(names)


def _children(table: FormatTable, level: int, field: DataField, parent: Partition) -> list[Partition]:
    """The folders of the next level."""
    found = []
    for status in table.file_io.list(parent.path):
        text = _text(table, level, field, status)
        if text is not None:
            found.append(Partition(status.path, (*parent.texts, _value_text(table, text))))
    return found


def partition_texts(table: FormatTable, folder: str) -> tuple[str | None, ...]:
    """What the names of a partition's folders tell of its values."""
    parts = folder[len(table.location) :].strip("/").split("/") if table.partition_fields else []
    values = parts if table.only_values else [part.partition("=")[2] for part in parts]
    return tuple(_value_text(table, unescape_path_name(value)) for value in values)


def _registered(table: FormatTable, spec: Spec) -> Partition:
    missing = [key for key in table.schema.partition_keys if spec.get(key) is None]
    if missing:
        raise CatalogUnavailableError(
            f"{table.name}: the catalog lists a partition {dict(spec)} that does not say its {', '.join(missing)}."
        )
    return partition_of(table, [_value_text(table, spec[key]) for key in table.schema.partition_keys])


def _value_text(table: FormatTable, text: str) -> str | None:
    return None if text in (table.default_name, HIVE_NULL) else text


def _text(table: FormatTable, level: int, field: DataField, status: FileStatus) -> str | None:
    """What a folder's name tells of a column; None if it is no folder of a partition."""
    if not status.is_dir:
        return None
    if table.only_values:
        text = unescape_path_name(status.name)
        is_own = level == 0 and not table.is_external and text == SCHEMA_FOLDER
        hidden = is_hidden(status.name) and text not in (table.default_name, HIVE_NULL)
        return None if is_own or hidden else text
    name, sign, text = status.name.partition("=")
    if not sign or unescape_path_name(name).lower() != field.name.lower():
        return None
    return unescape_path_name(text)


def _is_below(table: FormatTable, status: FileStatus) -> bool:
    """Whether a folder inside a partition's is to be looked into."""
    is_own = not table.is_external and status.path == join(table.location, SCHEMA_FOLDER)
    return status.is_dir and not is_own and not is_hidden(status.name)


def _fulfilling(
    table: FormatTable, found: list[Partition], columns: int, predicate: Predicate | None
) -> list[Partition]:
    """The partitions for which a condition is true, on those of the first columns that it looks at."""
    if predicate is None or not found:
        return found
    values = partition_columns(table, found)
    wanted = pc.fill_null(predicate.evaluate(values), False).to_pylist()
    return [p for p, is_wanted in zip(found, wanted, strict=True) if is_wanted]


def _values(table: FormatTable, field: DataField, texts: pa.Array) -> pa.Array:
    encoded = texts.dictionary_encode()
    try:
        values = cast(encoded.dictionary, string_type(), field.type)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"{table.name}: a folder's name tells no value of {field.name} {field.type.sql()}: {error.message}",
            remedy=f"Look into {table.location}.",
        ) from error
    return pa.array(values.take(encoded.indices), arrow_type(field.type))
