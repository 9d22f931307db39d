"""Estimates of the number of groups come from the dictionaries of the largest file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import paimon_sql
from paimon_sql.errors import CorruptFileError, MissingFileError
from paimon_sql.storage.file_formats.registry import file_format
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.read.group_counts import has_few_groups
from paimon_sql.storage.scan.plan import ScanPlan, plan_scan

ROWS = 50_000
IO = LocalFileIO()


def _plan(warehouse: Path, file_format: str) -> ScanPlan:
    catalog = paimon_sql.open_catalog(warehouse)
    catalog.create_database("d")
    numbers = np.arange(ROWS)
    rows = pa.table(
        {
            "id": numbers,
            "state": pa.array([f"state {i % 9}" for i in numbers]),
            "day": pa.array((numbers % 400).astype(np.int32)).cast(pa.date32()),
            "hour": pa.array((numbers % 5000).astype(np.int32)),
            "paid": pa.array(numbers % 2 == 0),
            "p": pa.array([f"p{i % 3}" for i in numbers]),
        }
    )
    table = catalog.create_table(
        f"d.{file_format}", rows.schema, partition_by=["p"], options={"file.format": file_format}
    )
    table.append(rows)
    return plan_scan(catalog.table(f"d.{file_format}")._stored)


def test_columns_of_few_values_make_few_groups(tmp_path: Path) -> None:
    plan = _plan(tmp_path, "parquet")
    for few in ([], ["p"], ["paid"], ["state"], ["state", "p", "paid"], ["day"]):
        assert has_few_groups(plan, few), few
    for many in (["id"], ["state", "id"], ["day", "hour"]):
        assert not has_few_groups(plan, many), many


def test_formats_that_do_not_tell_may_have_many(tmp_path: Path) -> None:
    plan = _plan(tmp_path, "avro")
    assert has_few_groups(plan, ["p", "paid"])
    assert not has_few_groups(plan, ["state"])


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    with pytest.raises(MissingFileError, match=r"data\.parquet"):
        file_format("parquet").distinct_values(IO, str(path))
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(CorruptFileError, match="cannot be read as Parquet"):
        file_format("parquet").distinct_values(IO, str(path))
