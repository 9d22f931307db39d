"""pypaimon as a third reader and writer of the tables of the tests, in an environment of its own.

It needs a pyarrow older than the one that this project needs, so the two never meet in one interpreter.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.environments import environment

PROGRAM = Path(__file__).with_name("pypaimon_program.py")


class PyPaimon:
    """A running pypaimon that works on tables of a warehouse.

    Args:
        warehouse: the warehouse's folder.
        scratch: an empty folder for the rows that travel.
    """

    def __init__(self, warehouse: Path, scratch: Path) -> None:
        self._warehouse = warehouse
        self._file = scratch / "rows.arrow"
        self._said = scratch / "stderr.txt"
        with self._said.open("w") as stderr:
            self._process = subprocess.Popen(
                [str(environment("pypaimon")), str(PROGRAM)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                cwd=scratch,
                text=True,
            )

    def read(self, table: str, columns: Sequence[str] = (), **options: str) -> pa.Table:
        """The table's rows as pypaimon reads them; the options are the read's."""
        self._ask("read", table, options, columns=list(columns))
        with pa.OSFile(str(self._file), "rb") as source:
            return pa.ipc.open_file(source).read_all()

    def write(self, table: str, rows: pa.Table, overwrite: Mapping[str, Any] | None = None) -> None:
        """Append or upsert rows in one commit, or overwrite the table or one partition of it."""
        self._send(rows)
        self._ask("write", table, {}, overwrite=overwrite)

    def create(
        self, table: str, rows: pa.Table, keys: Sequence[str], partitions: Sequence[str], options: Mapping[str, str]
    ) -> None:
        """Make an empty table that can hold these rows."""
        self._send(rows.slice(0, 0))
        self._ask("create", table, options, keys=list(keys), partitions=list(partitions))

    def close(self) -> None:
        """End it."""
        self._process.communicate(timeout=30)

    def _send(self, rows: pa.Table) -> None:
        with pa.OSFile(str(self._file), "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
            writer.write_table(rows)

    def _ask(self, verb: str, table: str, options: Mapping[str, str], **more: Any) -> None:
        request = {
            "verb": verb,
            "table": table,
            "warehouse": str(self._warehouse),
            "file": str(self._file),
            "options": dict(options),
            **more,
        }
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"pypaimon ended: {self._said.read_text()}"
        error = json.loads(line)
        assert not error, f"pypaimon could not {verb} {table}: {error}"
