"""Random statements and maintenance on tables of every kind: what is retained reads as before, no file is left over.

``PAIMON_TEST_OPERATIONS`` says how many things are done to each table, ``PAIMON_TEST_SEED`` by which chance.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.storage.maintenance_world import KINDS, play

OPERATIONS = int(os.environ.get("PAIMON_TEST_OPERATIONS", "30"))
SEED = int(os.environ.get("PAIMON_TEST_SEED", "0"))
TABLE = 100
"""How many things are done to one table before another is begun."""


@pytest.mark.parametrize("kind", KINDS)
def test_tables_hold_what_they_should_and_nothing_is_left_over(tmp_path: Path, kind: str) -> None:
    for part, first in enumerate(range(0, OPERATIONS, TABLE)):
        done = play(tmp_path / str(part), kind, SEED + part, min(TABLE, OPERATIONS - first))
        assert done.total() > 0
