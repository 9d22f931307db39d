"""Tables driven through random statements, each compared with a plain model of the table.

A run of the tests makes a few hundred; the variable PAIMON_TEST_OPERATIONS says how many each kind of table goes
through, PAIMON_TEST_SEED with which beginning.
"""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from tests.spark.table_model import Condition, TableModel, Value

Sql = Callable[[str], list[tuple[Any, ...]]]
OPERATIONS = int(os.environ.get("PAIMON_TEST_OPERATIONS", "10"))
SEED = int(os.environ.get("PAIMON_TEST_SEED", "0"))

_PARTIAL = "'bucket' = '2', 'merge-engine' = 'partial-update'"
_SUMS = "'bucket' = '2', 'merge-engine' = 'aggregation', 'fields.v.aggregate-function' = 'sum'"
_REMOVES = "remove-record-on-delete' = 'true'"
KINDS = {
    "keyed": ("g, k", "'bucket' = '2', 'num-sorted-run.compaction-trigger' = '3'"),
    "keyed, merged on write": ("k", "'bucket' = '1', 'deletion-vectors.enabled' = 'true'"),
    "keyed, changes looked up": ("g, k", "'bucket' = '2', 'changelog-producer' = 'lookup', 'file.format' = 'orc'"),
    "keyed, dynamic": ("g, k", "'bucket' = '-1', 'dynamic-bucket.target-row-num' = '5', 'file.format' = 'avro'"),
    "keyed, write only": ("k", "'bucket' = '3', 'write-only' = 'true', 'data-file.thin-mode' = 'true'"),
    "partial update": ("g, k", f"{_PARTIAL}, 'partial-update.{_REMOVES}, 'changelog-producer' = 'lookup'"),
    "partial update, no deletes": ("k", f"{_PARTIAL}, 'file.format' = 'avro', 'write-only' = 'true'"),
    "aggregation": ("g, k", f"{_SUMS}, 'file.format' = 'orc'"),
    "aggregation, merged on write": ("k", f"{_SUMS}, 'aggregation.{_REMOVES}, 'deletion-vectors.enabled' = 'true'"),
    "first row": ("g, k", "'bucket' = '2', 'merge-engine' = 'first-row'"),
    "append": ("", "'compaction.min.file-num' = '3', 'file.format' = 'orc'"),
    "append, deletion vectors": ("", "'deletion-vectors.enabled' = 'true'"),
    "append, buckets": ("", "'bucket' = '2', 'bucket-key' = 'k', 'file.format' = 'avro'"),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_is_what_its_statements_made_it(sql: Sql, kind: str) -> None:
    driver = _Driver(sql, Random(f"{SEED} {kind}"), *KINDS[kind])
    for _ in range(OPERATIONS):
        assert driver.step() == [], driver.story()


class _Driver:
    """Makes statements, runs them and looks at the table after each.

    Args:
        sql: runs a statement.
        random: decides.
        keys: the primary key; with the partition column ``g`` in it the table is partitioned.
        options: the table's options.
    """

    def __init__(self, sql: Sql, random: Random, keys: str, options: str) -> None:
        self._run = sql
        self._random = random
        self._names = iter(f"c{n}" for n in range(1, 1_000_000))
        self._keys = tuple(keys.split(", ")) if keys else ()
        engine = re.search(r"'merge-engine' = '([a-z-]+)'", options)
        self._model = TableModel(self._keys, engine=engine[1] if engine else "deduplicate")
        self._changeable = self._model.engine in ("deduplicate", "partial-update")
        self._merge_deletes = self._model.engine == "deduplicate" or "remove-record-on-delete" in options
        # The values of a deleted row come back with a later one, unless a compaction has taken the delete away.
        self._seeds = "partial-update.remove-record-on-delete" in options
        self._history: dict[int, TableModel] = {}
        self._said: list[str] = []
        self._wide = False
        key = f", PRIMARY KEY ({keys}) NOT ENFORCED" if keys else ""
        parts = " PARTITIONED BY (g)" if "g" in self._keys or not keys else ""
        self._partitioned = bool(parts)
        self._sql(f"CREATE TABLE t (k INT, g INT, v INT, s STRING{key}){parts} WITH ({options})")
        for name in ("k", "g", "v", "s"):
            self._model.add_column(name)

    def step(self) -> list[str]:
        """One statement, and what is wrong after it."""
        steps = {
            self._insert: 8, self._insert_many: 1, self._overwrite: 1, self._delete: 4,
            self._update: 4 * self._changeable, self._merge: 4 * self._changeable,
            self._compact: 3, self._add: 1, self._drop: 1, self._rename: 1, self._widen: 1, self._roll_back: 1,
            self._expire: 1,
        }  # fmt: skip
        (step,) = self._random.choices(list(steps), list(steps.values()))
        self._wrong: list[str] = []
        step()
        self._look()
        return self._wrong

    def story(self) -> str:
        """What was done."""
        return ";\n".join(self._said)

    def _insert(self) -> None:
        rows = self._rows(self._random.choice([0, 1, 1, 3, 8]))
        if rows:
            names = list(rows[0])
            self._sql(f"INSERT INTO t ({', '.join(names)}) VALUES {', '.join(map(_tuple, rows))}")
            self._model.insert(rows)

    def _insert_many(self) -> None:
        first = self._random.randrange(30)
        self._sql(
            "INSERT INTO t (k, g, v) SELECT /*+ REPARTITION(2) */ CAST(id AS INT), CAST(id % 2 AS INT), 7"
            f" FROM range({first}, {first + 20})"
        )
        self._model.insert({"k": i, "g": i % 2, "v": 7} for i in range(first, first + 20))

    def _overwrite(self) -> None:
        rows = self._rows(2)
        self._sql(f"INSERT OVERWRITE t ({', '.join(rows[0])}) VALUES {', '.join(map(_tuple, rows))}")
        self._model.records = []
        self._model.insert(rows)

    def _update(self) -> None:
        condition, n = self._condition(), self._random.randrange(100)
        told = self._sql(f"UPDATE t SET v = v + {n}, s = concat(s, '!') WHERE {condition.text}")
        self._expect("num_affected_rows", told, [(self._model.update(condition, lambda row: _bumped(row, n)),)])

    def _delete(self) -> None:
        condition = self._condition()
        told = self._sql(f"DELETE FROM t WHERE {condition.text}")
        self._expect("num_affected_rows", told, [(self._model.delete(condition),)])
        self._forget_deletes()

    def _merge(self) -> None:
        source = list({(r["k"], r["g"]): r for r in self._rows(5, whole=True)}.values())
        on = ["k", "g"]
        if self._keys == ("k",):
            source, on = list({r["k"]: r for r in source}.values()), ["k"]
        met = " AND ".join(f"t.{name} = q.{name}" for name in on)
        doomed = " WHEN MATCHED AND q.v % 3 = 0 THEN DELETE" if self._merge_deletes else ""
        self._sql(
            f"MERGE INTO t USING (SELECT * FROM VALUES {', '.join(map(_tuple, source))} AS r(k, g, v, s)) AS q ON {met}"
            f"{doomed} WHEN MATCHED THEN UPDATE SET t.v = q.v, t.s = q.s"
            " WHEN NOT MATCHED THEN INSERT (k, g, v, s) VALUES (q.k, q.g, q.v, q.s)"
        )
        self._model.merge(
            source,
            on,
            lambda s: self._merge_deletes and isinstance(s["v"], int) and s["v"] % 3 == 0,
            lambda _, s: {"v": s["v"], "s": s["s"]},
        )
        self._forget_deletes()

    def _forget_deletes(self) -> None:
        if self._seeds:
            self._sql("CALL sys.compact(table => 't', compact_strategy => 'full')")

    def _compact(self) -> None:
        self._sql(f"CALL sys.compact(table => 't', compact_strategy => '{self._random.choice(['full', 'minor'])}')")

    def _add(self) -> None:
        name = next(self._names)
        self._sql(f"ALTER TABLE t ADD COLUMN {name} INT")
        self._model.add_column(name)

    def _drop(self) -> None:
        if extra := self._extra():
            self._sql(f"ALTER TABLE t DROP COLUMN {extra[0]}")
            self._model.drop(extra[0])

    def _rename(self) -> None:
        if extra := self._extra():
            name = next(self._names)
            self._sql(f"ALTER TABLE t RENAME COLUMN {extra[-1]} TO {name}")
            self._model.rename(extra[-1], name)

    def _widen(self) -> None:
        if not self._wide:
            self._sql("ALTER TABLE t ALTER COLUMN v TYPE BIGINT")
            self._wide = True

    def _roll_back(self) -> None:
        if self._history:
            version = self._random.choice(sorted(self._history))
            self._sql(f"CALL sys.rollback(table => 't', version => '{version}')")
            self._model.records = copy.deepcopy(self._history[version].records)
            self._history = {n: model for n, model in self._history.items() if n <= version}

    def _expire(self) -> None:
        self._sql("CALL sys.expire_snapshots(table => 't', retain_max => 6, retain_min => 3)")
        there = {int(str(n)) for (n,) in self._run("SELECT snapshot_id FROM t$snapshots")}
        self._history = {n: model for n, model in self._history.items() if n in there}

    def _look(self) -> None:
        if self._keys and ("deletion-vectors" in self._said[0] or self._model.engine == "first-row"):
            self._run("CALL sys.compact(table => 't', compact_strategy => 'minor')")
        self._same("SELECT * FROM t", self._model)
        condition = self._condition()
        self._same(f"SELECT * FROM t WHERE {condition.text}", self._model, condition)
        count = f"SELECT count(*) FROM t WHERE {condition.text}"
        self._expect(count, self._run(count), [(len(self._model.rows(condition)),)])
        newest = self._run("SELECT max(snapshot_id), max_by(schema_id, snapshot_id) FROM t$snapshots")[0]
        if newest[0] is not None and newest[0] not in self._history and newest[1] == self._schema():
            self._history[int(str(newest[0]))] = copy.deepcopy(self._model)
        if self._history:
            version = self._random.choice(sorted(self._history))
            self._same(f"SELECT * FROM t VERSION AS OF {version}", self._history[version])

    def _schema(self) -> object:
        return self._run("SELECT max(schema_id) FROM t$schemas")[0][0]

    def _same(self, query: str, model: TableModel, condition: Condition | None = None) -> None:
        self._expect(query, sorted(self._run(query), key=repr), sorted(model.rows(condition), key=repr))

    def _expect(self, what: str, given: object, wanted: object) -> None:
        if given != wanted:
            self._wrong.append(f"{what}: {given} instead of {wanted}")

    def _sql(self, statement: str) -> list[tuple[Any, ...]]:
        self._said.append(statement)
        return self._run(statement)

    def _extra(self) -> list[str]:
        return [name for name in self._model.columns if name.startswith("c")]

    def _rows(self, count: int, *, whole: bool = False) -> list[dict[str, Value]]:
        names = ["k", "g", "v", "s", *([] if whole else self._extra())]
        return [{name: self._value(name) for name in names} for _ in range(count)]

    def _value(self, name: str) -> Value:
        draw = self._random
        if name == "k":
            return draw.randrange(16)
        if name == "g":
            return draw.randrange(2)
        if name == "s":
            return draw.choice([None, "", "a", "b", "ä'\"", "長い" * 20])
        return draw.choice([None, 0, -5, draw.randrange(1000)])

    def _condition(self) -> Condition:
        n, g = self._random.randrange(16), self._random.randrange(2)
        return self._random.choice(
            [
                Condition(f"k = {n}", lambda row: row["k"] == n),
                Condition(f"k > {n} AND g = {g}", lambda row: _int(row["k"]) > n and row["g"] == g),
                Condition(f"g = {g}", lambda row: row["g"] == g),
                Condition("v IS NULL", lambda row: row["v"] is None),
                Condition(f"v > {n} OR s = 'a'", lambda row: _int(row["v"]) > n or row["s"] == "a"),
                Condition(f"k IN ({n}, {g}, 99)", lambda row: row["k"] in (n, g)),
                Condition(f"k = {n} AND g = {g}", lambda row: row["k"] == n and row["g"] == g),
            ]
        )


def _int(value: Value) -> int:
    return value if isinstance(value, int) else -(10**9)


def _bumped(row: dict[str, Value], n: int) -> dict[str, Value]:
    v, s = row["v"], row["s"]
    return {"v": v + n if isinstance(v, int) else None, "s": f"{s}!" if s is not None else None}


def _tuple(row: dict[str, Value]) -> str:
    return f"({', '.join(map(_literal, row.values()))})"


def _literal(value: Value) -> str:
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, int) else "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
