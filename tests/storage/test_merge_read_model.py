"""Random lives of keyed tables against a dictionary: writes, deletes, compactions, overwrites, reads in between."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from paimon_sql.format.schema.system_fields import RowKind
from paimon_sql.format.schema.types import BigIntType, DataField, IntType, string_type
from paimon_sql.storage.expressions.predicates import Comparison, Predicate, conjuncts_on
from paimon_sql.storage.read.deletion_mask import MaskedSplit
from paimon_sql.storage.read.readers.data_file import DataFileReader
from paimon_sql.storage.read.task import ReadTask
from paimon_sql.storage.scan.split import Split
from paimon_sql.storage.staging.proposal import Overwrite, overwritten
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.write.plan import plan_write
from tests.storage import commits
from tests.storage.core_tables import (
    again,
    compact,
    insert,
    live,
    make_table,
    plan,
    remove,
    rows,
    triggered,
)
from tests.storage.predicate_model import holds, leaves, predicates
from tests.storage.sample_values import KINDS, Kind, key_order
from tests.storage.test_compaction import golden_copy

KEY_KINDS = ["int", "text", "double", "long decimal", "bytes", "date", "boolean", "bigint"]
BIG = np.random.default_rng(0).bytes(20_000).hex()
DEAD = (RowKind.DELETE, RowKind.UPDATE_BEFORE)


class KeyedTable(RuleBasedStateMachine):
    """A table and what it should hold: by key the newest row, its kind with it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp()
        self.model: dict[Any, tuple[int, dict[str, Any]]] = {}

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @initialize(data=st.data())
    def create(self, data: st.DataObject) -> None:
        kind = KINDS[data.draw(st.sampled_from(KEY_KINDS), "key")]
        pool = data.draw(st.lists(kind.values, min_size=1, max_size=6), "keys")
        self.kinds = {
            "k": Kind(kind.type, st.sampled_from(pool)),
            "p": Kind(string_type(), st.sampled_from("xy")),
            "v": Kind(string_type(), st.sampled_from(["", "a", "b" * 40, "é"])),
            "s": Kind(BigIntType(), st.integers(-2, 2)),
        }
        partitioned = data.draw(st.booleans(), "partitioned")
        self.sequence = data.draw(st.sampled_from([None, "ascending", "descending"]), "sequence")
        options = {
            "bucket": data.draw(st.sampled_from(["1", "3"])),
            "file.format": data.draw(st.sampled_from(["parquet", "orc", "avro"])),
            "data-file.thin-mode": data.draw(st.sampled_from(["true", "false"])),
            "num-sorted-run.compaction-trigger": data.draw(st.sampled_from(["2", "3", "5"])),
            "num-levels": data.draw(st.sampled_from(["3", "6"])),
            "compaction.max-size-amplification-percent": data.draw(st.sampled_from(["200", "1000000"])),
            "sort-spill-buffer-size": data.draw(st.sampled_from(["1 b", "200 b", "1 mb"]), "window"),
            "sort-spill-threshold": data.draw(st.sampled_from(["2", "40"]), "open runs"),
            "compaction.size-ratio": data.draw(st.sampled_from(["1", "90"])),
            "target-file-size": data.draw(st.sampled_from(["1 b", "128 mb"])),
            "write-buffer-spillable": data.draw(st.sampled_from(["true", "false"]), "spills"),
            "write-buffer-size": data.draw(st.sampled_from(["1 b", "1 mb"])),
            "manifest.merge-min-count": "4",
        }
        if self.sequence:
            options |= {"sequence.field": "s", "sequence.field.sort-order": self.sequence}
        fields = [DataField(i, name, k.type) for i, (name, k) in enumerate(self.kinds.items())]
        keys, partitions = (["k", "p"], ["p"]) if partitioned else (["k"], [])
        self.keys = keys
        self.table = make_table(Path(self.folder) / "t", options, columns=fields, keys=keys, partitions=partitions)
        if data.draw(st.booleans(), "begun with big rows"):
            # Beside them fresh files are small, and are put together above them.
            given = [{"k": k, "p": p, "v": BIG, "s": None} for k in pool for p in "xy"]
            for row in given:
                self._play(row, RowKind.INSERT)
            commits.append(again(self.table), plan_write(again(self.table)).run([self._batch(given, None)]))
            compact(self.table)

    # ---- what the model knows

    def _key(self, row: dict[str, Any]) -> Any:
        return tuple(key_order(row[k]) for k in self.keys)

    def _wins(self, row: dict[str, Any], other: dict[str, Any]) -> bool:
        """Whether a row that came later is the newer one."""
        if self.sequence is None:
            return True
        new, old = row["s"], other["s"]
        if new is None or old is None:
            return old is None
        return bool(new <= old if self.sequence == "descending" else new >= old)

    def _play(self, row: dict[str, Any], kind: int) -> bool:
        """Take a row in; False for one that comes too late for a key that is gone, which a compaction may forget."""
        key = self._key(row)
        known = self.model.get(key)
        if known is not None and not self._wins(row, known[1]):
            return known[0] not in DEAD
        self.model[key] = (kind, row)
        return True

    def _alive(self) -> list[dict[str, Any]]:
        return [row for kind, row in self.model.values() if kind not in DEAD]

    def _rows(self) -> st.SearchStrategy[dict[str, Any]]:
        values = {c: k.values if c in ("k", "p") else st.none() | k.values for c, k in self.kinds.items()}
        return st.fixed_dictionaries(values)

    def _batch(self, given: list[dict[str, Any]], kinds: list[int] | None) -> pa.RecordBatch:
        columns = {c: k.array([r[c] for r in given]) for c, k in self.kinds.items()}
        if kinds is not None:
            columns["_VALUE_KIND"] = pa.array(kinds, pa.int8())
        return pa.RecordBatch.from_pydict(columns)

    def _write(self, data: st.DataObject, kinds: st.SearchStrategy[int]) -> list[Any]:
        batches = []
        for _ in range(data.draw(st.integers(1, 2), "batches")):
            drawn = data.draw(st.lists(st.tuples(self._rows(), kinds), max_size=8), "rows")
            played = [(row, kind) for row, kind in drawn if self._play(row, kind)]
            batches.append(self._batch([r for r, _ in played], [k for _, k in played]))
        return plan_write(again(self.table)).run(batches)

    # ---- what happens

    @rule(data=st.data())
    def insert(self, data: st.DataObject) -> None:
        commits.append(again(self.table), self._write(data, st.just(int(RowKind.INSERT))))

    @rule(data=st.data())
    def change(self, data: st.DataObject) -> None:
        commits.append(again(self.table), self._write(data, st.integers(0, 3)))

    @rule(data=st.data())
    def change_and_compact_what_is_due(self, data: st.DataObject) -> None:
        messages = self._write(data, st.integers(0, 3))
        commits.append(again(self.table), [*messages, *triggered(self.table, messages)])

    @rule(full=st.booleans())
    def compact(self, full: bool) -> None:
        compact(self.table, full=full)

    @rule(data=st.data(), dynamic=st.booleans())
    def overwrite(self, data: st.DataObject, dynamic: bool) -> None:
        given = data.draw(st.lists(self._rows(), min_size=1, max_size=4), "rows")
        table, partitioned = again(self.table), len(self.keys) > 1
        what = Overwrite(dynamic=dynamic and partitioned)
        touched = {r["p"] for r in given}
        self.model = {key: held for key, held in self.model.items() if what.dynamic and held[1]["p"] not in touched}
        for row in given:
            self._play(row, RowKind.INSERT)
        messages = plan_write(table, Overwrite()).run([self._batch(given, None)])
        commits.overwrite(table, messages, lambda latest: overwritten(table, latest, what, messages))

    @rule(data=st.data())
    def read_some(self, data: st.DataObject) -> None:
        predicate = data.draw(predicates(self.kinds), "predicate")
        columns = data.draw(
            st.permutations(sorted(self.kinds)).flatmap(lambda c: st.integers(0, 4).map(lambda n: c[:n]))
        )
        self._check(predicate, columns)

    @rule(data=st.data())
    def look_up_a_key(self, data: st.DataObject) -> None:
        key = self.kinds["k"].scalar(data.draw(self.kinds["k"].values))
        self._check(Comparison("k", "=", key), ["v", "k"])

    @rule(data=st.data())
    def read_some_keys(self, data: st.DataObject) -> None:
        self._check(data.draw(leaves({"k": self.kinds["k"]})), ["k", "s"])

    @invariant()
    def all_rows_are_there(self) -> None:
        self._check(None, list(self.kinds))
        latest = again(self.table).snapshots.latest()
        if latest is not None:
            assert latest.total_record_count == sum(e.file.row_count for e in live(self.table))

    def _check(self, predicate: Predicate | None, columns: list[str]) -> None:
        wanted = [r for r in self._alive() if predicate is None or holds(predicate, r, self.kinds) is True]
        found, marked = [], []
        for split in plan(self.table, predicate).splits:
            for batch in ReadTask(again(self.table), split, tuple(columns), predicate).batches():
                assert batch.schema.names == columns
                found += [self._shown(batch, i, columns) for i in range(batch.num_rows)]
            for batch in self._marked(split, predicate):
                marked += [self._shown(batch, i, columns) for i in range(batch.num_rows)]
        expected = [tuple(key_order(r[c]) for c in columns) for r in wanted]
        assert sorted(found, key=repr) == sorted(expected, key=repr)
        assert sorted(marked, key=repr) == sorted(expected, key=repr)

    def _marked(self, split: Split, predicate: Predicate | None) -> Iterator[pa.RecordBatch]:
        """The rows of a split as somebody finds them who reads each file for itself and leaves dead rows out."""
        table = again(self.table)
        merging = (
            None if split.raw else MaskedSplit(table, split, conjuncts_on(predicate, table.schema.trimmed_primary_keys))
        )
        bits = merging.masks() if merging else {}
        for file in split.files:
            dead = np.unpackbits(np.frombuffer(bits.get(file.file_name, b""), np.uint8), bitorder="little")
            reader = DataFileReader(table, split.partition, split.bucket, file, list(self.kinds))
            for places, batch in reader.with_positions():
                alive = np.array([place >= len(dead) or not dead[place] for place in places], np.bool_)
                left = batch.filter(pa.array(alive))
                yield left.filter(predicate.holds(left)) if predicate else left

    def _shown(self, batch: pa.RecordBatch, row: int, columns: list[str]) -> tuple[Any, ...]:
        return tuple(key_order(_plain(batch.column(c)[row])) for c in columns)


def _plain(value: pa.Scalar) -> Any:
    return value.value if pa.types.is_temporal(value.type) else value.as_py()


KeyedTable.TestCase.settings = settings(max_examples=50, stateful_step_count=12)
test_a_keyed_table_holds_what_its_statements_say = KeyedTable.TestCase


# ---- ties of sequence fields -----------------------------------------------------------------------------------------


def test_equal_and_null_sequences_are_resolved_as_java_resolves_them(golden: Path, tmp_path: Path) -> None:
    table = golden_copy(golden, "merge_dedup_sequence_field", tmp_path / "t")
    expected = [(1, "a", 10), (2, "same", 10), (3, "c", 10), (4, "now", -1), (5, "y", 3)]
    assert sorted(rows(table)) == expected
    compact(table)
    assert sorted(rows(table)) == expected


def sequenced(path: Path, order: str) -> Table:
    columns = [DataField(0, "id", IntType()), DataField(1, "v", string_type()), DataField(2, "s", IntType())]
    return make_table(path, {"sequence.field": "s", "sequence.field.sort-order": order}, columns=columns, keys=["id"])


@pytest.mark.parametrize(("order", "left"), [("ascending", (1, "big", 9)), ("descending", (1, "small", 1))])
@pytest.mark.parametrize("together", [False, True])
def test_a_sequence_field_decides_which_row_is_newer(
    tmp_path: Path, order: str, left: tuple[Any, ...], together: bool
) -> None:
    table = sequenced(tmp_path / "t", order)
    given = [(1, "middle", 5), (1, "big", 9), (1, "small", 1), (1, "none", None)]
    for chunk in [given] if together else [[r] for r in given]:
        insert(table, *chunk)
    assert rows(table) == [left]
    insert(table, (1, "tie", left[2]))
    assert rows(table) == [(1, "tie", left[2])]
    compact(table)
    assert rows(table) == [(1, "tie", left[2])]


def test_a_late_delete_does_not_delete_a_newer_row(tmp_path: Path) -> None:
    table = sequenced(tmp_path / "t", "ascending")
    insert(table, (1, "new", 5))
    remove(table, (1, "old", 4))
    assert rows(table) == [(1, "new", 5)]
    remove(table, (1, "new", 5))
    assert rows(table) == []


def test_negative_zero_and_zero_are_two_keys_that_one_look_up_finds(tmp_path: Path) -> None:
    columns = [DataField(0, "k", KINDS["double"].type), DataField(1, "v", string_type())]
    table = make_table(tmp_path / "t", {"bucket": "7"}, columns=columns, keys=["k"])
    insert(table, (0.0, "plus"), (-0.0, "minus"))
    insert(table, (0.0, "plus again"), (1.0, "one"))
    found = rows(table, Comparison("k", "=", pa.scalar(-0.0)))
    assert sorted(found, key=lambda r: r[1]) == [(-0.0, "minus"), (0.0, "plus again")]
    compact(table)
    assert len(rows(table)) == 3


def test_rivals_with_the_same_sequence_numbers_give_one_answer_always(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", keys=["id"])
    first, second = (plan_write(again(table)) for _ in range(2))
    from tests.storage.core_tables import batch_of

    for task, value in ((first, "a"), (second, "b")):
        commits.append(again(table), task.run([batch_of(table, [(1, value, "x")])]))
    seen = rows(table)
    assert seen in ([(1, "a", "x")], [(1, "b", "x")])
    insert(table, (2, "c", "x"))
    assert rows(table, Comparison("id", "=", pa.scalar(1, pa.int32()))) == seen
    compact(table)
    assert sorted(rows(table)) == [*seen, (2, "c", "x")]
