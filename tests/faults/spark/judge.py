"""Judges a round with Spark: the round's table as ever, and the tables beside it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paimon_sql.errors import PaimonError
from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.metadata.schemas import SchemaManager
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.table.table import Table
from tests.faults.history import Operation, Outcome
from tests.faults.model import Row
from tests.faults.processes.journal import Event
from tests.faults.processes.judge import judge
from tests.faults.processes.recorded import RecordedHistory
from tests.faults.spark.model import empty_state
from tests.faults.spark.plan import SparkPlan
from tests.faults.spark.statements.beside import FILES, SINK
from tests.faults.tables import place


@dataclass
class Made:
    """A table that an operation was to make."""

    operation: Operation
    table: str
    rows: list[Row]


class SparkHistory(RecordedHistory):
    """A history with what was done to tables beside that of the round."""

    def __init__(self, plan: SparkPlan, folder: Path) -> None:
        super().__init__(place(folder), empty_state(plan.kind))
        self.made: list[Made] = []
        self.is_stream_finished = False

    def _on_made(self, event: Event) -> None:
        rows = [Row(*row) for row in event["rows"]]
        self.made.append(Made(self.operations[event["token"]], event["table"], rows))

    def _on_finished(self, event: Event) -> None:
        self.is_stream_finished = True


def judge_with_spark(plan: SparkPlan, folder: Path) -> dict[str, Any]:
    """What happened in a round, and what is wrong: parts of a `Round`."""
    history = SparkHistory(plan, folder)
    verdict = judge(plan, folder, history)
    beside = place(folder).parent
    in_sink = _check_sink(history, beside)
    verdict["violations"] += [*_check_made(history, beside), *in_sink]
    if in_sink:
        verdict["log"] += _story_of_sink(folder, beside / SINK)
    return verdict


def _story_of_sink(folder: Path, sink: Path) -> list[str]:
    """What the stream's checkpoints planned, and what its sink's snapshots say of their micro-batches."""
    logs = [path for path in sorted(folder.glob("checkpoint-*/*/**/[0-9]*")) if path.is_file()]
    found = [f"{path.relative_to(folder)}: {path.read_text(errors='replace')[:400]}" for path in logs]
    for path in sorted((sink / "snapshot").glob("snapshot-*")):
        stored = json.loads(path.read_bytes())
        told = {key: stored.get(key) for key in ("commitUser", "commitIdentifier", "deltaRecordCount", "properties")}
        found.append(f"sink {path.name}: {told}")
    return found


def _check_made(history: SparkHistory, folder: Path) -> list[str]:
    """Tables that were made by queries hold their rows, all or none."""
    by_table: dict[str, list[Made]] = {}
    for made in history.made:
        by_table.setdefault(made.table, []).append(made)
    found = []
    for table, tries in by_table.items():
        possible: list[Counter[Row] | None] = [None]
        for one in tries:
            if one.operation.outcome is Outcome.ACKNOWLEDGED:
                possible = [Counter(one.rows)]
            elif one.operation.outcome is Outcome.UNKNOWN:
                possible.append(Counter(one.rows))
        try:
            shown = _rows(folder / table)
        except PaimonError as error:
            found.append(f"table {table} cannot be read: {type(error).__name__}: {error}")
            continue
        # A table that was being made when its process was killed may stand without rows.
        is_begun = shown == Counter() and any(one.operation.outcome is Outcome.UNKNOWN for one in tries)
        if shown not in possible and not (is_begun and None in possible):
            story = "; ".join(
                f"{m.operation.token} {m.operation.outcome.value} {m.operation.error[:100]}" for m in tries
            )
            found.append(f"table {table} holds {shown}, instead of one of {possible} ({story})")
    return found


def _check_sink(history: SparkHistory, folder: Path) -> list[str]:
    """Each row of the stream's source is in its sink once, those of the last files perhaps not yet."""
    shown = _rows(folder / SINK)
    source = [stream_rows(file) for file in range(FILES)]
    assert shown is not None
    found = [f"the stream's sink holds {row} {n} times" for row, n in shown.items() if n > 1]
    known = {row for rows in source for row in rows}
    found += [f"the stream's sink holds {row}, which is invented" for row in shown if row not in known]
    whole = [sum(row in shown for row in rows) for rows in source]
    if any(0 < n < len(rows) for n, rows in zip(whole, source, strict=True)):
        found.append(f"the stream's sink holds parts of micro-batches: {whole}")
    if sorted(whole, reverse=True) != whole:
        found.append(f"the stream's sink lacks a micro-batch: {whole}")
    if history.is_stream_finished and not all(whole):
        found.append(f"the stream has finished, and its sink lacks micro-batches: {whole}")
    return found


def stream_rows(file: int) -> list[Row]:
    """The rows of a file of the stream's source."""
    return [Row(file * 10 + i, f"file-{file}", i, "xy"[i % 2]) for i in range(3)]


def _rows(path: Path) -> Counter[Row] | None:
    """The rows of a table; None if there is none."""
    file_io = LocalFileIO()
    schema = SchemaManager(file_io, str(path)).latest()
    if schema is None:
        return None
    table = Table(path.name, str(path), file_io, schema)
    latest = table.snapshots.latest()
    shown: Counter[Row] = Counter()
    for split in plan_scan(table, None, snapshot=latest).splits if latest is not None else ():
        for batch in ReadTask(table, split, Row._fields, None).batches():
            shown.update(map(Row, *(batch.column(name).to_pylist() for name in Row._fields)))
    return shown
