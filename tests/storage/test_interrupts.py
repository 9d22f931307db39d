"""Ctrl-C and failures in the middle of writes and compactions: nothing that was written is left behind."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from paimon_sql.errors import CancelledError, PaimonError
from paimon_sql.storage.compact.compaction import plan_table
from paimon_sql.storage.execution.task_executor import LocalExecutor, Work
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.write.plan import plan_write
from tests.storage import core_tables as core

ROWS = [(i, f"v{i}", f"p{i % 4}") for i in range(40)]


class StoppingFileIO(LocalFileIO):
    """Raises an error when file number ``at`` is to be written."""

    def __init__(self, at: int, error: BaseException) -> None:
        self.at = at
        self.error = error

    def open_output(self, path: str) -> pa.NativeFile:
        self.at -= 1
        if self.at < 0:
            raise self.error
        return super().open_output(path)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), PaimonError("disk on fire")], ids=["interrupt", "failure"])
@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("keyed", [True, False])
def test_a_write_that_is_stopped_leaves_no_file(tmp_path: Path, keyed: bool, at: int, error: BaseException) -> None:
    table = core.make_table(tmp_path / "t", keys=("p", "id") if keyed else (), partitions=("p",))
    before = core.files_below(table, hidden=True)
    stopped = core.again(table, file_io=StoppingFileIO(at, error))
    with pytest.raises(type(error)):
        plan_write(stopped).run([core.batch_of(table, ROWS)])
    assert core.files_below(table, hidden=True) == before


@pytest.mark.parametrize("error", [KeyboardInterrupt(), PaimonError("disk on fire")], ids=["interrupt", "failure"])
@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("threads", [1, 2])
def test_a_compaction_that_is_stopped_leaves_no_file(
    tmp_path: Path, threads: int, at: int, error: BaseException
) -> None:
    table = core.make_table(tmp_path / "t", {"write-only": "true"}, keys=("p", "id"), partitions=("p",))
    core.insert(table, *ROWS)
    core.insert(table, *ROWS)
    before = core.files_below(table, hidden=True)
    stopped = core.again(table, file_io=StoppingFileIO(at, error))
    with pytest.raises(type(error)):
        plan_table(stopped, full=True).run(LocalExecutor(threads))
    assert core.files_below(table, hidden=True) == before


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("threads", [1, 2])
def test_a_compaction_that_is_cancelled_leaves_no_file(tmp_path: Path, threads: int, at: int) -> None:
    table = core.make_table(tmp_path / "t", {"write-only": "true"}, keys=("p", "id"), partitions=("p",))
    core.insert(table, *ROWS)
    core.insert(table, *ROWS)
    before = core.files_below(table, hidden=True)
    asked: list[bool] = []

    def stops() -> bool:
        asked.append(True)
        return len(asked) > at

    work = Work("CALL sys.compact t", stops)
    with pytest.raises(CancelledError, match=r"CALL sys\.compact t was cancelled"):
        plan_table(core.again(table), full=True).run(LocalExecutor(threads).watched(work))
    assert core.files_below(table, hidden=True) == before and work.done < 4 + threads
