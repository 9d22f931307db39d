"""Whole files of deletion vectors; the product reads single vectors of them (`read_deletion_vector`)."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_sql.format.bytes.bounded import check_range, decoding
from paimon_sql.format.metadata.index_files import DeletionVector, read_deletion_vector
from paimon_sql.format.metadata.index_manifest import DeletionVectorRange


def read_deletion_vectors(data: bytes, path: str, ranges: Iterable[DeletionVectorRange]) -> dict[str, DeletionVector]:
    """The vectors of these ranges of a file, by the name of their data file."""
    found = {}
    for r in ranges:
        with decoding("a file of deletion vectors", path):
            check_range(r.offset, 0, len(data), f"the deletion vector of {r.data_file_name}")
        found[r.data_file_name] = read_deletion_vector(data[r.offset :], path, r)
    return found
