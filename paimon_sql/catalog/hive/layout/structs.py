"""The structs of Hive's Thrift interface that entries consist of, as far as they are used."""

from __future__ import annotations

from typing import Protocol


class ColumnStruct(Protocol):
    """``FieldSchema``: a column."""

    name: str
    type: str
    comment: str | None


class FormatStruct(Protocol):
    """``SerDeInfo``: how rows are read and written."""

    serializationLib: str | None
    parameters: dict[str, str] | None


class FilesStruct(Protocol):
    """``StorageDescriptor``: the files of a table or a partition."""

    cols: list[ColumnStruct]
    location: str | None
    inputFormat: str | None
    outputFormat: str | None
    serdeInfo: FormatStruct


class DatabaseStruct(Protocol):
    """``Database``."""

    name: str
    description: str | None
    locationUri: str | None
    ownerName: str | None
    parameters: dict[str, str] | None


class PlacedStruct(Protocol):
    """``Table`` or ``Partition``; views of other programs may lack files."""

    sd: FilesStruct
    parameters: dict[str, str] | None


class TableStruct(PlacedStruct, Protocol):
    """``Table``: a table or a view."""

    tableName: str
    dbName: str
    owner: str
    tableType: str
    partitionKeys: list[ColumnStruct] | None
    viewOriginalText: str
    viewExpandedText: str | None
