"""Rules about row tracking and data evolution, and about blobs and vectors, which are in dedicated files."""

from __future__ import annotations

from collections.abc import Iterator

from paimon_sql.errors import PaimonError
from paimon_sql.format.options.operations.changelog import CHANGELOG_PRODUCER
from paimon_sql.format.options.operations.compaction import CLUSTERING_INCREMENTAL, PK_CLUSTERING_OVERRIDE
from paimon_sql.format.options.table.bucket import BUCKET, BUCKET_KEY
from paimon_sql.format.options.table.data_file import DATA_FILE_EXTERNAL_PATHS
from paimon_sql.format.options.table.index import VECTOR_FIELD, VECTOR_FILE_FORMAT
from paimon_sql.format.options.table.merge_engine import SEQUENCE_FIELD
from paimon_sql.format.options.table.row_tracking import (
    BLOB_DESCRIPTOR_FIELD,
    BLOB_FIELD,
    BLOB_VIEW_FIELD,
    DATA_EVOLUTION_ENABLED,
    ROW_TRACKING_ENABLED,
)
from paimon_sql.format.schema import types as t
from paimon_sql.storage.columns.blobs_and_vectors import is_blob, managed_by_key
from paimon_sql.storage.file_formats.registry import file_format, format_names
from paimon_sql.storage.metadata.definition import Definition, conflict, holds, invalid
from paimon_sql.storage.table.changelog_producer import changelog_producer


def row_tracking(table: Definition) -> Iterator[PaimonError]:
    """Row tracking is for append tables without fixed buckets, and data evolution needs it."""
    tracked = table.is_on(ROW_TRACKING_ENABLED)
    if tracked and table.has_key:
        yield conflict(ROW_TRACKING_ENABLED, "is for tables without a primary key.", "Leave one of them out.")
    if tracked and table.bucket != -1:
        yield conflict(ROW_TRACKING_ENABLED, f"needs '{BUCKET.key}' = '-1'.", f"Leave '{BUCKET.key}' out.")
    if table.is_on(DATA_EVOLUTION_ENABLED):
        if not tracked:
            yield conflict(DATA_EVOLUTION_ENABLED, f"needs '{ROW_TRACKING_ENABLED.key}' = 'true'.")
        if table.is_on(CLUSTERING_INCREMENTAL):
            yield conflict(DATA_EVOLUTION_ENABLED, f"cannot be combined with '{CLUSTERING_INCREMENTAL.key}'.")


def blobs(table: Definition) -> Iterator[PaimonError]:
    """Blobs are top-level columns, not the only ones, of tables with data evolution or a primary key."""
    columns = [f for f in table.schema.fields if is_blob(f.type)]
    for field in table.schema.fields:
        if holds(field.type, t.BlobType) and not is_blob(field.type):
            yield invalid(
                f"Column '{field.name}' of type {field.type.sql()}: a BLOB cannot be inside a column like this.",
                "Use BLOB, ARRAY<BLOB> or MAP<.., BLOB>.",
            )
        elif is_blob(field.type):
            try:
                file_format("blob").check_fields([field])
            except PaimonError as error:
                yield invalid(f"Column '{field.name}': {error.message}", "Use keys of another type.")
    for option, test in (
        (BLOB_FIELD, is_blob),
        (BLOB_DESCRIPTOR_FIELD, lambda d: isinstance(d, t.BlobType)),
        (BLOB_VIEW_FIELD, lambda d: isinstance(d, t.BlobType)),
    ):
        for name in table.names_of(option):
            if name in table.columns and not test(table.columns[name].type):
                yield conflict(option, f"names '{name}' of type {table.columns[name].type.sql()}, which is not a blob.")
    for name in table.names_of(BLOB_VIEW_FIELD):
        if name in table.names_of(BLOB_DESCRIPTOR_FIELD):
            yield conflict(BLOB_VIEW_FIELD, f"names '{name}', which '{BLOB_DESCRIPTOR_FIELD.key}' names too.")
    if not columns:
        return
    if not table.has_key and not table.is_on(DATA_EVOLUTION_ENABLED):
        yield invalid(
            f"Column '{columns[0].name}' is a blob, which needs rows with ids.",
            f"Set '{ROW_TRACKING_ENABLED.key}' = 'true' and '{DATA_EVOLUTION_ENABLED.key}' = 'true'.",
        )
    if len(columns) == len(table.schema.fields):
        yield invalid("A table cannot consist of blobs alone.", "Add a column of another type.")
    yield from _blobs_with_primary_key(table)


def vectors(table: Definition) -> Iterator[PaimonError]:
    """Vectors have a fixed length; vector files need data evolution."""
    for name in table.names_of(VECTOR_FIELD):
        if name in table.columns and not isinstance(table.columns[name].type, t.VectorType):
            yield conflict(
                VECTOR_FIELD,
                f"names '{name}' of type {table.columns[name].type.sql()}, which is not a vector.",
                f"Set its length: 'field.{name}.vector-dim' = '128'.",
            )
    own_format = table.options.get(VECTOR_FILE_FORMAT)
    if own_format is None:
        return
    if not table.is_on(DATA_EVOLUTION_ENABLED):
        yield conflict(VECTOR_FILE_FORMAT, f"needs '{DATA_EVOLUTION_ENABLED.key}' = 'true'.")
    if own_format.lower() not in format_names():
        yield conflict(VECTOR_FILE_FORMAT, f"cannot be '{own_format}'.", f"Use one of {', '.join(format_names())}.")
        return
    for field in (f for f in table.schema.fields if isinstance(f.type, t.VectorType)):
        try:
            file_format(own_format).check_fields([field])
        except PaimonError as error:
            yield conflict(VECTOR_FILE_FORMAT, f"cannot be '{own_format}': {error.message}")
    if all(isinstance(f.type, t.VectorType) for f in table.schema.fields):
        yield invalid("A table cannot consist of vectors alone.", "Add a column of another type.")


def _blobs_with_primary_key(table: Definition) -> Iterator[PaimonError]:
    managed = managed_by_key(table.schema)
    if not managed:
        return
    name = min(managed)
    if changelog_producer(table.options).produces:
        yield conflict(CHANGELOG_PRODUCER, f"must be 'none' for a table with the blob '{name}'.")
    for option in (DATA_FILE_EXTERNAL_PATHS, PK_CLUSTERING_OVERRIDE):
        if table.options.get(option):
            yield conflict(option, f"cannot be combined with the blob '{name}'.")
    for names_option in (BUCKET_KEY, SEQUENCE_FIELD):
        for named in table.names_of(names_option):
            if named in managed:
                yield conflict(names_option, f"names '{named}', which is a blob.")
