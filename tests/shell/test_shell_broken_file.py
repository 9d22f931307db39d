"""The command over a table with a truncated data file: one line on the error stream, and nothing of the JVM's."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.command import COMMAND
from tests.storage import core_tables as core


def test_a_truncated_file_is_told_in_one_line(tmp_path: Path) -> None:
    table = core.make_table(tmp_path / "default.db" / "t", {"write-only": "true"}, keys=("id",))
    core.insert(table, (1, "a", "p"))
    (path,) = (Path(table.path) / "bucket-0").iterdir()
    core.insert(table, (1, "b", "p"))  # so that a worker must merge both
    os.truncate(path, 300)
    ended = subprocess.run(
        [*COMMAND, "--warehouse", str(tmp_path), "-e", "SELECT * FROM t"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode != 0 and not ended.stdout.strip()
    (said,) = ended.stderr.splitlines()
    assert said.startswith(f"Error: {path}: cannot be read as Parquet") and "Restore the file" in said
