"""Each table that the real connector wrote: whatever read once passed keeps passing."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from .runners import golden_cases, golden_failures, known_gaps


@pytest.mark.parametrize("case", golden_cases())
def test_every_read_passes_but_the_known_gaps(case: str, spark: SparkSession, warehouse: Path) -> None:
    failures = golden_failures(spark, case, str(warehouse))
    gaps = known_gaps("golden").get(case, set())
    new = [text for name, text in failures.items() if name not in gaps]
    assert not new, "\n".join(new)
