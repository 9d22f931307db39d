"""Tables of all kinds, and what becomes of them: rows, changes, compactions, alterations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from tests.spark.answers.queries import Asker, Columns
from tests.spark.answers.story import Change, Check, Statement, Step
from tests.spark.answers.values import KINDS, Kind

Do = Callable[[Step], bool]
"""Does a step; whether the table took it."""

_KEY_KINDS = [kind for kind in KINDS.values() if kind.is_key and kind.name != "BOOLEAN"]
_PARTITION_KINDS = [kind for kind in KINDS.values() if kind.is_key]
_STATS = ["none", "counts", "truncate(1)", "truncate(16)", "full"]
_TRACKED = ("_ROW_ID",)
_PLACES = ("__paimon_bucket", "__paimon_row_index")

_APPEND: dict[str, dict[str, str]] = {
    "append": {},
    "append, fixed buckets": {"bucket": "2", "bucket-key": "{column}"},
    "append, vectors": {"deletion-vectors.enabled": "true"},
    "append, fixed buckets, vectors": {
        "bucket": "2",
        "bucket-key": "{column}",
        "deletion-vectors.enabled": "true",
    },
    "append, tracked": {"row-tracking.enabled": "true"},
    "append, clustered": {
        "clustering.incremental": "true",
        "clustering.columns": "{column}",
        "num-sorted-run.compaction-trigger": "2",
    },
    "append, evolving": {"row-tracking.enabled": "true", "data-evolution.enabled": "true"},
    "append, evolving, vectors": {
        "row-tracking.enabled": "true",
        "data-evolution.enabled": "true",
        "deletion-vectors.enabled": "true",
    },
}
_BUCKETS: dict[str, dict[str, str]] = {
    "one bucket": {"bucket": "1"},
    "fixed": {"bucket": "2"},
    "dynamic": {"bucket": "-1", "dynamic-bucket.target-row-num": "12"},
    "crossing": {"bucket": "-1", "dynamic-bucket.target-row-num": "12"},
    "postponed": {"bucket": "-2", "postpone.default-bucket-num": "2"},
}
_ENGINES: dict[str, dict[str, str]] = {
    "deduplicate": {},
    "deduplicate, vectors": {"deletion-vectors.enabled": "true"},
    "deduplicate, merged vectors": {
        "deletion-vectors.enabled": "true",
        "deletion-vectors.merge-on-read": "true",
    },
    "deduplicate, lookup": {"changelog-producer": "lookup"},
    "deduplicate, full": {"changelog-producer": "full-compaction"},
    "deduplicate, sequence": {"sequence.field": "{column}"},
    "deduplicate, deletes ignored": {"ignore-delete": "true"},
    "partial-update": {"merge-engine": "partial-update"},
    "partial-update, removes": {
        "merge-engine": "partial-update",
        "partial-update.remove-record-on-delete": "true",
    },
    "aggregation": {"merge-engine": "aggregation", "fields.default-aggregate-function": "last_non_null_value"},
    "first-row": {"merge-engine": "first-row"},
}
_TOLD = {
    "files": {
        "partition": "STRING",
        "bucket": "INT",
        "file_path": "STRING",
        "level": "INT",
        "record_count": "BIGINT",
        "schema_id": "BIGINT",
    },
    "partitions": {"partition": "STRING", "record_count": "BIGINT", "file_count": "BIGINT"},
    "snapshots": {
        "snapshot_id": "BIGINT",
        "schema_id": "BIGINT",
        "commit_kind": "STRING",
        "total_record_count": "BIGINT",
    },
    "manifests": {"file_name": "STRING", "num_added_files": "BIGINT", "schema_id": "BIGINT"},
    "buckets": {"partition": "STRING", "bucket": "INT", "record_count": "BIGINT"},
}
"""Columns of system tables."""
_SEVERAL_OF_A_KEY = (
    "`t$audit_log`",
    "`t$ro`",
    "t /*+ OPTIONS('incremental-between'",
    "t /*+ OPTIONS('scan.fallback-branch'",
    "t /*+ OPTIONS('scan.primary-branch'",
)
"""Sources in which a key may have several rows: histories, files before they are merged, partitions of two branches."""
_OFTEN_UPDATED = ("append", "deduplicate")


@dataclass
class Table:
    """A table as the story knows it.

    Attributes:
        kind: what it is called in reports.
        columns: its columns by name.
        keys: its primary key.
        partitions: its partition columns.
        options: its options.
        hidden: the hidden columns that queries may name.
        format: the format of plain files that it consists of; empty for an ordinary table.
        required: further columns that hold no null.
    """

    kind: str
    columns: Columns
    keys: list[str] = field(default_factory=list)
    partitions: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    format: str = ""
    required: list[str] = field(default_factory=list)

    def create(self, name: str = "t") -> str:
        """The statement that makes it."""
        valued = {*self.keys, *self.required}
        columns = ", ".join(
            f"{column} {kind.name}{' NOT NULL' if column in valued else ''}" for column, kind in self.columns.items()
        )
        parts = f" PARTITIONED BY ({', '.join(self.partitions)})" if self.partitions else ""
        options = {**({"primary-key": ",".join(self.keys)} if self.keys else {}), **self.options}
        given = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
        using = f" USING {self.format}" if self.format else ""
        return f"CREATE TABLE {name} ({columns}){using}{parts} TBLPROPERTIES ({given})"

    @property
    def others(self) -> list[str]:
        """The columns that are neither of the key nor of the partition."""
        return [name for name in self.columns if name not in self.keys and name not in self.partitions]


def some_table(chance: Random) -> Table:
    """A table of some kind."""
    columns: Columns = {}
    is_keyed = chance.random() < 0.55
    keys: list[str] = []
    if is_keyed:
        for number in range(chance.choice([1, 1, 2])):
            kind = chance.choice([KINDS["INT"], KINDS["INT"], KINDS["STRING"], *_KEY_KINDS])
            columns[f"k{number}"] = replace(kind, literals=[kind.some(chance) for _ in range(7)], is_fixed=True)
            keys.append(f"k{number}")
    else:
        columns["id"] = KINDS["INT"]
    for number in range(chance.randint(2, 5)):
        columns[f"c{number}"] = chance.choice(list(KINDS.values()))
    partitions = []
    for number in range(chance.choice([0, 0, 1, 1, 2])):
        kind = chance.choice([KINDS["STRING"], KINDS["INT"], *_PARTITION_KINDS])
        # Each partition and bucket is a task, so let there be few.
        columns[f"p{number}"] = replace(kind, literals=[kind.some(chance) for _ in range(2)], is_fixed=True)
        partitions.append(f"p{number}")
    table = _keyed(chance, columns, keys, partitions) if is_keyed else _append(chance, columns, partitions)
    if not is_keyed and chance.random() < 0.06:
        return Table("files", columns, partitions=partitions, format=chance.choice(["parquet", "orc", "json"]))
    _some_options(chance, table)
    table.required = [name for name in table.others if chance.random() < 0.15]
    return table


def _append(chance: Random, columns: Columns, partitions: list[str]) -> Table:
    kind = chance.choice(list(_APPEND))
    table = Table(kind, columns, partitions=partitions, options=_filled(chance, _APPEND[kind], columns, partitions))
    tracked = _TRACKED if "row-tracking.enabled" in table.options else ()
    table.hidden = (*_PLACES, *tracked)
    return table


def _keyed(chance: Random, columns: Columns, keys: list[str], partitions: list[str]) -> Table:
    buckets, engine = chance.choice(list(_BUCKETS)), chance.choice(list(_ENGINES))
    if buckets == "crossing" and not partitions:
        buckets = "dynamic"
    crosses = partitions[:1] if buckets == "crossing" and len(partitions) > 1 and chance.random() < 0.5 else []
    key = [*keys, *(crosses if buckets == "crossing" else partitions)]
    chance.shuffle(key)
    options = {**_BUCKETS[buckets], **_filled(chance, _ENGINES[engine], columns, [*partitions, *keys])}
    return Table(f"{engine}, {buckets}", columns, key, partitions, options, ("__paimon_bucket",))


def _filled(chance: Random, options: dict[str, str], columns: Columns, without: Sequence[str]) -> dict[str, str]:
    """The options with some column's name where they want one."""
    fit = [name for name, kind in columns.items() if name not in without and kind.is_ordered]
    column = chance.choice(fit or ["id"])
    return {key: value.replace("{column}", column) for key, value in options.items()}


def _some_options(chance: Random, table: Table) -> None:
    options = table.options
    options["file.format"] = chance.choice(["parquet", "parquet", "parquet", "orc", "avro"])
    options["metadata.stats-mode"] = chance.choice(["truncate(16)", *_STATS])
    if chance.random() < 0.2:
        options["metadata.stats-dense-store"] = "false"
    if chance.random() < 0.4:
        options["write-only"] = "true"
    if table.keys and chance.random() < 0.3:
        options["data-file.thin-mode"] = "true"
    if table.keys and chance.random() < 0.4:
        options["num-sorted-run.compaction-trigger"] = "2"
    if chance.random() < 0.15:
        options["parquet.block.size"] = options["orc.stripe.size"] = "1024"
    for index in ("bloom-filter", "bitmap", "bsi", "range-bitmap"):
        if chance.random() < 0.2:
            options[f"file-index.{index}.columns"] = chance.choice(table.others)


class Teller:
    """Tells a story: makes a table, does things to it, and asks it in between.

    Args:
        chance: what decides.
        do: does each step.
        queries: how many queries each check has.
    """

    def __init__(self, chance: Random, do: Do, queries: int = 10) -> None:
        self._chance = chance
        self._do = do
        self._queries = queries
        self._numbers = 0
        self._writes_only = False
        self.table = some_table(chance)

    def tell(self) -> None:
        """The whole story."""
        if self._chance.random() < 0.06:
            self._tell_of_a_chain()
            return
        for _ in range(30):
            if self._do(Statement(self.table.create())):
                break
            self.table = some_table(self._chance)
        else:
            return
        self._writes_only = "write-only" in self.table.options
        self._insert()
        for _ in range(self._chance.randint(2, 6)):
            self._chance.choice(self._deeds())()
            if self._chance.random() < 0.3:
                self._check()
        self._check()
        self._check_the_past()

    def _tell_of_a_chain(self) -> None:
        """A table whose partitions are the last whole one and the changes since."""
        chance = self._chance
        days = [f"2025060{n}" for n in range(1, 6)]
        columns = {
            "k": replace(KINDS["INT"], literals=["1", "2", "3", "4"], is_fixed=True),
            "day": replace(KINDS["STRING"], literals=[f"'{day}'" for day in days], is_fixed=True),
            "v": chance.choice([KINDS["STRING"], KINDS["DOUBLE"], KINDS["TIMESTAMP"]]),
            "at": KINDS["INT"],
        }
        options = {
            "chain-table.enabled": "true",
            "sequence.field": "at",
            "bucket-key": "k",
            "bucket": "2",
            "partition.timestamp-pattern": "$day",
            "partition.timestamp-formatter": "yyyyMMdd",
            "file.format": chance.choice(["parquet", "orc"]),
        }
        self.table = Table("chain", columns, ["day", "k"], ["day"], options, ("__paimon_bucket",))
        self._statement(self.table.create())
        named = "'scan.fallback-snapshot-branch' = 'whole', 'scan.fallback-delta-branch' = 'changed'"
        for branch in ("whole", "changed"):
            self._statement(f"CALL sys.create_branch(table => 't', branch => '{branch}')")
        for name in ("t", "`t$branch_whole`", "`t$branch_changed`"):
            self._statement(f"ALTER TABLE {name} SET TBLPROPERTIES ({named})")
        for at in range(chance.randint(3, 8)):
            branch, day = chance.choice(["whole", "changed", "changed"]), chance.choice(days)
            rows = ", ".join(
                f"({k}, {self._value('v', columns['v'])}, {at})"
                for k in chance.sample(range(1, 5), chance.randint(1, 4))
            )
            if branch == "whole":
                self._statement(f"INSERT OVERWRITE `t$branch_whole` PARTITION (day = '{day}') VALUES {rows}")
            else:
                self._statement(f"INSERT INTO `t$branch_changed` PARTITION (day = '{day}') VALUES {rows}")
                if chance.random() < 0.4:
                    self._statement(f"DELETE FROM `t$branch_changed` WHERE {self._condition()}")
        for source in ("t", "`t$branch_changed`", "t"):
            self._check(source)
            self._statement("CALL sys.compact(table => 't$branch_changed')")

    def _deeds(self) -> list[Callable[[], None]]:
        deeds = [self._insert] * 4 + [self._delete] * 2 + [self._update] * 2
        deeds += [self._compact, self._compact, self._overwrite, self._alter, self._alter, self._set, self._tag]
        deeds += [self._branch, self._analyze]
        if self.table.kind.startswith("append, evolving"):
            deeds += [self._index] * 3
        return deeds

    def _statement(self, text: str) -> bool:
        return self._do(Statement(text))

    def _insert(self) -> None:
        self._statement(f"INSERT INTO t ({', '.join(self.table.columns)}) {self._rows()}")

    def _rows(self, fixed: Sequence[str] = ()) -> str:
        chance, columns = self._chance, {n: k for n, k in self.table.columns.items() if n not in fixed}
        if chance.random() < 0.25:
            return self._many(columns)
        rows = [
            "(" + ", ".join(self._value(name, kind) for name, kind in columns.items()) + ")"
            for _ in range(chance.randint(1, 12))
        ]
        return f"VALUES {', '.join(rows)}"

    def _many(self, columns: Columns) -> str:
        """Many rows, some columns of which grow."""
        chance, parts = self._chance, []
        for name, kind in columns.items():
            few = [self._value(name, kind) for _ in range(chance.choice([1, 3, 5]))]
            grows = kind.is_whole and kind.name not in ("TINYINT", "SMALLINT") and name not in self.table.partitions
            if grows and chance.random() < 0.6:
                parts.append(f"CAST(id + {chance.randint(-50, 50)} AS {kind.name}) {name}")
            else:
                parts.append(f"element_at(array({', '.join(few)}), CAST(id % {len(few)} AS INT) + 1) {name}")
        return f"SELECT {', '.join(parts)} FROM range({chance.choice([20, 60])})"

    def _value(self, name: str, kind: Kind) -> str:
        if name in (*self.table.keys, *self.table.required):
            return kind.some(self._chance)
        return kind.some(self._chance, 0.25)

    def _overwrite(self) -> None:
        chance, table = self._chance, self.table
        if table.partitions and chance.random() < 0.6:
            name = table.partitions[0]
            value = self._value(name, table.columns[name])
            columns = ", ".join(c for c in table.columns if c != name)
            self._statement(f"INSERT OVERWRITE t PARTITION ({name} = {value}) ({columns}) {self._rows([name])}")
        else:
            self._statement(f"INSERT OVERWRITE t ({', '.join(table.columns)}) {self._rows()}")

    def _condition(self) -> str:
        return Asker(self._chance, self.table.columns, self.table.keys, self.table.partitions).condition()

    def _delete(self) -> None:
        condition = self._condition()
        columns = ", ".join(self.table.columns)
        kept = f"SELECT {columns} FROM {{source}} WHERE NOT (({condition}) <=> true)"
        exact = "deletes ignored" not in self.table.kind and not self._waits()
        step = Change(f"DELETE FROM t WHERE {condition}", kept)
        self._do(step if exact else Statement(step.text))

    def _update(self) -> None:
        chance, table = self._chance, self.table
        names = [n for n in table.columns if n not in table.keys]
        if not names:
            return
        name, condition = chance.choice(names), self._condition()
        value = self._value(name, table.columns[name])
        shown = (f"IF({condition}, {value}, {n}) {n}" if n == name else n for n in table.columns)
        step = Change(f"UPDATE t SET {name} = {value} WHERE {condition}", f"SELECT {', '.join(shown)} FROM {{source}}")
        exact = table.kind.startswith(_OFTEN_UPDATED) and "sequence" not in table.kind and "ignored" not in table.kind
        self._do(step if exact and not self._waits() else Statement(step.text))

    def _waits(self) -> bool:
        """Whether rows are not seen before a compaction."""
        kind = self.table.kind
        return kind.startswith(("deduplicate, vectors", "first-row")) and self._writes_only

    def _compact(self) -> None:
        chance, table = self._chance, self.table
        how = chance.choice(["", ", compact_strategy => 'full'", ", compact_strategy => 'minor'"])
        fit = [name for name in table.others if table.columns[name].is_ordered]
        if not table.keys and fit and chance.random() < 0.3:
            how = f", order_strategy => '{chance.choice(['order', 'zorder'])}', order_by => '{chance.choice(fit)}'"
        self._statement(f"CALL sys.compact(table => 't'{how})")

    def _alter(self) -> None:
        chance, table = self._chance, self.table
        free = list(table.others)
        if not free:
            return
        name = chance.choice(free)
        deed = chance.choice(["add", "rename", "again", "drop", "widen"])
        if deed == "add":
            self._add(f"n{self._next()}")
        elif deed == "rename":
            name = chance.choice([*free, *(n for n in table.keys if n not in table.partitions)])
            new = f"r{self._next()}"
            if self._statement(f"ALTER TABLE t RENAME COLUMN {name} TO {new}"):
                table.columns = {new if n == name else n: k for n, k in table.columns.items()}
                table.keys = [new if n == name else n for n in table.keys]
                table.required = [new if n == name else n for n in table.required]
        elif deed in ("drop", "again") and len(free) > 1:
            if self._statement(f"ALTER TABLE t DROP COLUMN {name}"):
                kind = table.columns.pop(name)
                if deed == "again":
                    self._add(name, kind if chance.random() < 0.6 else None)
        elif wider := table.columns[name].wider:
            wide = chance.choice(list(wider))
            if self._statement(f"ALTER TABLE t ALTER COLUMN {name} TYPE {wide}"):
                literals = [f"CAST({v} AS {wide})" for v in table.columns[name].literals]
                table.columns[name] = KINDS.get(wide) or Kind(wide, literals)

    def _add(self, name: str, kind: Kind | None = None) -> None:
        kind = kind or self._chance.choice(list(KINDS.values()))
        default = f" DEFAULT {kind.some(self._chance)}" if self._chance.random() < 0.3 else ""
        if self._statement(f"ALTER TABLE t ADD COLUMN {name} {kind.name}{default}"):
            self.table.columns[name] = kind

    def _next(self) -> int:
        self._numbers += 1
        return self._numbers

    def _set(self) -> None:
        chance = self._chance
        key, value = chance.choice(
            [
                ("metadata.stats-mode", chance.choice(_STATS)),
                ("file.format", chance.choice(["parquet", "orc", "avro"])),
                ("metadata.stats-keep-first-n-columns", chance.choice(["0", "1", "2"])),
                (f"file-index.{chance.choice(['bitmap', 'bsi', 'range-bitmap'])}.columns", self._other()),
            ]
        )
        self._statement(f"ALTER TABLE t SET TBLPROPERTIES ('{key}' = '{value}')")

    def _other(self) -> str:
        return self._chance.choice(self.table.others or list(self.table.columns))

    def _tag(self) -> None:
        self._statement(f"CALL sys.create_tag(table => 't', tag => 'tag{self._next()}')")

    def _index(self) -> None:
        kind = self._chance.choice(["btree", "bitmap"])
        self._statement(
            f"CALL sys.create_global_index(table => 't', index_column => '{self._other()}', index_type => '{kind}')"
        )

    def _branch(self) -> None:
        """Make a branch and write to it."""
        columns = ", ".join(self.table.columns)
        self._statement("CALL sys.create_branch(table => 't', branch => 'side')")
        self._statement(f"INSERT INTO `t$branch_side` ({columns}) {self._rows()}")

    def _analyze(self) -> None:
        self._statement("SET spark.sql.cbo.enabled = true")
        self._statement("ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS")

    def _check(self, source: str = "t", hidden: tuple[str, ...] | None = None) -> None:
        shown = self.table.hidden if hidden is None else hidden
        asker = Asker(self._chance, self.table.columns, self.table.keys, self.table.partitions, shown)
        queries = tuple(asker.query() for _ in range(self._queries))
        are_unique = not source.startswith(_SEVERAL_OF_A_KEY) and not self._waits()
        keys = tuple(self.table.keys) if are_unique else ()
        self._do(Check(source, shown, queries, keys))

    def _views(self) -> list[str]:
        """Views of the table, of an older state of it, and of a branch."""
        sources = ("t", "t VERSION AS OF 'tag1'", "`t$branch_side`")
        kinds = (("stored", "VIEW"), ("passing", "TEMPORARY VIEW"))
        made = []
        for name, kind in kinds:
            source = self._chance.choice(sources)
            if self._statement(f"CREATE OR REPLACE {kind} {name} AS SELECT * FROM {source}"):
                made.append(name)
        return made

    def _check_the_past(self) -> None:
        """Ask an older state, changes since one, a branch or a view."""
        chance = self._chance
        told = chance.choice([None, None, None, *_TOLD])
        if told is not None:
            asker = Asker(chance, {n: KINDS[k] for n, k in _TOLD[told].items()})
            self._do(Check(f"`t${told}`", (), tuple(asker.query() for _ in range(self._queries))))
        source = chance.choice(
            [
                "`t$branch_side`",
                "t /*+ OPTIONS('scan.fallback-branch' = 'side') */",
                "t /*+ OPTIONS('scan.fallback-branch' = 'side') */",
                "t /*+ OPTIONS('scan.primary-branch' = 'side') */",
                *self._views(),
                "t VERSION AS OF 'tag1'",
                f"t VERSION AS OF {chance.randint(1, 4)}",
                f"t /*+ OPTIONS('incremental-between' = '{chance.randint(1, 2)},{chance.randint(2, 4)}') */",
                "`t$ro`",
                "`t$audit_log`",
                f"t /*+ OPTIONS('scan.bucket' = '{chance.randint(0, 2)}') */",
            ]
        )
        self._check(source, ())
