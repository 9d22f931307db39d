"""Random queries of a table, made so that their answers do not hang on the order of its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from tests.spark.answers.story import Order, Query
from tests.spark.answers.values import KINDS, Kind

Columns = dict[str, Kind]

_COMPARISONS = ["=", "=", "=", "<>", "<", "<=", ">", ">=", "<=>"]
_HIDDEN = dict.fromkeys(("_ROW_ID", "__paimon_row_index"), KINDS["BIGINT"]) | {"__paimon_bucket": KINDS["INT"]}


class Asker:
    """Asks one table.

    Args:
        chance: what decides.
        columns: the table's columns.
        keys: its primary key.
        partitions: its partition columns.
        hidden: hidden columns that may be named.
    """

    def __init__(
        self,
        chance: Random,
        columns: Columns,
        keys: Sequence[str] = (),
        partitions: Sequence[str] = (),
        hidden: Sequence[str] = (),
    ) -> None:
        self._chance = chance
        self._columns = {**columns, **{name: _HIDDEN[name] for name in hidden}}
        self._keys = list(keys)
        self._partitions = list(partitions)
        self._ordered = {n: k for n, k in self._columns.items() if k.is_ordered}

    def query(self) -> Query:
        """Some query."""
        shapes = [self._rows] * 3 + [self._aggregates] * 4 + [self._groups] * 3
        shapes += [self._first] * 3 + [self._limited] * 2 + [self._distinct, self._nested, self._looked_up, self._join]
        return self._chance.choice(shapes)()

    # Conditions

    def condition(self, depth: int = 2) -> str:
        """A condition on some columns."""
        chance = self._chance
        if depth and chance.random() < 0.35:
            parts = [self.condition(depth - 1) for _ in range(chance.choice([2, 2, 3]))]
            return "(" + f" {chance.choice(['AND', 'AND', 'OR'])} ".join(parts) + ")"
        if depth and chance.random() < 0.1:
            return f"NOT ({self.condition(depth - 1)})"
        name = self._some_column()
        return self._on(name, self._columns[name])

    def _some_column(self) -> str:
        chance = self._chance
        if self._partitions and chance.random() < 0.3:
            return chance.choice(self._partitions)
        if self._keys and chance.random() < 0.3:
            return chance.choice(self._keys)
        return chance.choice(list(self._columns))

    def _on(self, name: str, kind: Kind) -> str:
        chance = self._chance
        if chance.random() < 0.12:
            return f"{name} IS {chance.choice(['', 'NOT '])}NULL"
        if not kind.is_ordered:
            return self._inside(name, kind)
        choices: list[Callable[[str, Kind], str]] = [*[self._comparison] * 6, *[self._in] * 2, self._between]
        if kind.is_text or kind.name == "BINARY":
            choices += [self._like] * 2
        if kind.is_whole:
            choices += [self._computed] * 2
        if kind.near:
            choices += [self._of_another_type] * 2
        if kind.name == "BOOLEAN":
            choices += [lambda n, k: chance.choice([n, f"NOT {n}"])] * 2
        return chance.choice(choices)(name, kind)

    def _inside(self, name: str, kind: Kind) -> str:
        chance = self._chance
        if kind.name.startswith("MAP"):
            value = chance.choice([f"{name}['a']", f"{name}['b']", f"element_at({name}, 'a')"])
            return chance.choice([f"{value} = {chance.randint(0, 2)}", f"{value} IS NULL", f"{value} > 0"])
        if kind.name.startswith("STRUCT"):
            return chance.choice([f"{name}.x = 1", f"{name}.y = 'a'", f"{name}.x IS NULL", f"{name}.y > 'a'"])
        return f"size({name}) {chance.choice(['=', '>'])} 1"

    def _comparison(self, name: str, kind: Kind) -> str:
        value = kind.any(self._chance, 0.03)
        operator = self._chance.choice(_COMPARISONS)
        return f"{name} {operator} {value}" if self._chance.random() < 0.9 else f"{value} {operator} {name}"

    def _in(self, name: str, kind: Kind) -> str:
        values = [kind.any(self._chance, 0.05) for _ in range(self._chance.choice([1, 2, 3, 12]))]
        return f"{name} {self._chance.choice(['', '', 'NOT '])}IN ({', '.join(values)})"

    def _between(self, name: str, kind: Kind) -> str:
        return f"{name} BETWEEN {kind.any(self._chance)} AND {kind.any(self._chance)}"

    def _like(self, name: str, kind: Kind) -> str:
        if kind.name == "BINARY":
            return f"startswith({name}, {kind.any(self._chance)})"
        prefix = self._chance.choice(["", "a", "x", "x" * 16, "xxxxxxxxxxxxxxxxxy", "é", "\uffff", "日", "\U0010ffff"])
        shapes = [f"{name} LIKE '{prefix}%'", f"startswith({name}, '{prefix}')", f"{name} LIKE '%{prefix}'"]
        return self._chance.choice([*shapes, f"length({name}) > 1", f"substr({name}, 1, 1) = '{prefix[:1]}'"])

    def _computed(self, name: str, kind: Kind) -> str:
        chance = self._chance
        whole = [n for n, k in self._columns.items() if k.is_whole]
        near = f"CAST({chance.choice(whole)} AS DECIMAL(20, 0))"
        return chance.choice(
            [
                f"CAST({name} AS DECIMAL(20, 0)) > {near}",
                f"{name} % 3 = {chance.randint(-1, 2)}",
                f"pmod({name}, 4) = 1",
                f"CAST({name} AS BIGINT) {chance.choice(_COMPARISONS)} {chance.randint(-5, 300)}",
                f"try_add({name}, {name}) > 5",
                f"try_multiply(CAST({name} AS BIGINT), 2L) = 2L",
                f"{name} > {chance.choice(whole)}",
            ]
        )

    def _of_another_type(self, name: str, kind: Kind) -> str:
        value = KINDS[self._chance.choice(list(kind.near))].some(self._chance)
        return f"{name} {self._chance.choice(_COMPARISONS)} {value}"

    def _where(self, share: float = 0.7) -> str:
        if self._chance.random() > share:
            return ""
        if self._partitions and self._chance.random() < 0.3:
            name = self._chance.choice(self._partitions)
            return f" WHERE {self._on(name, self._columns[name])}"
        return f" WHERE {self.condition()}"

    # Queries

    def _some(self, columns: Columns, least: int = 1) -> list[str]:
        names = list(columns)
        return self._chance.sample(names, self._chance.randint(min(least, len(names)), len(names)))

    def _rows(self) -> Query:
        return Query(f"SELECT {', '.join(self._some(self._columns))} FROM {{source}}{self._where(0.9)}")

    def _aggregate(self) -> str:
        chance = self._chance
        if chance.random() < 0.25:
            return "count(*)"
        name = chance.choice(list(self._ordered))
        kind = self._columns[name]
        functions = ["count", "min", "max", "min", "max"]
        if kind.is_whole or kind.name.startswith("DECIMAL"):
            functions += ["sum", "avg"]
        function = chance.choice(functions)
        distinct = "DISTINCT " if function == "count" and chance.random() < 0.2 else ""
        only = f" FILTER (WHERE {self.condition(0)})" if chance.random() < 0.08 else ""
        return f"{function}({distinct}{name}){only}"

    def _aggregates(self) -> Query:
        wanted = ", ".join(self._aggregate() for _ in range(self._chance.choice([1, 1, 2, 4])))
        having = " HAVING count(*) > 2" if self._chance.random() < 0.1 else ""
        return Query(f"SELECT {wanted} FROM {{source}}{self._where(0.5)}{having}")

    def _groups(self) -> Query:
        chance = self._chance
        names = self._partitions if self._partitions and chance.random() < 0.4 else list(self._ordered)
        groups = ", ".join(chance.sample(names, min(len(names), chance.choice([1, 1, 2]))))
        wanted = "".join(f", {self._aggregate()}" for _ in range(chance.choice([0, 1, 2])))
        having = " HAVING count(*) > 1" if chance.random() < 0.1 else ""
        return Query(f"SELECT {groups}{wanted} FROM {{source}}{self._where(0.4)} GROUP BY {groups}{having}")

    def _distinct(self) -> Query:
        return Query(f"SELECT DISTINCT {', '.join(self._some(self._ordered))} FROM {{source}}{self._where(0.3)}")

    def _first(self) -> Query:
        chance = self._chance
        keys = chance.sample(list(self._ordered), min(len(self._ordered), chance.choice([1, 1, 2])))
        orders = ", ".join(
            f"{name}{chance.choice(['', ' DESC'])}{chance.choice(['', '', ' NULLS FIRST', ' NULLS LAST'])}"
            for name in keys
        )
        others = [name for name in self._some(self._columns) if name not in keys]
        limit = f" LIMIT {chance.choice([1, 2, 5, 30])}"
        where = self._where(0.35)
        text = f"SELECT {', '.join([*keys, *others])} FROM {{source}}{where} ORDER BY {orders}{{limit}}"
        return Query(text, Order.FIRST, limit, len(keys))

    def _limited(self) -> Query:
        chance = self._chance
        limit = f" LIMIT {chance.choice([0, 1, 3, 7, 100])}{chance.choice(['', '', ' OFFSET 2'])}"
        text = f"SELECT {', '.join(self._some(self._columns))} FROM {{source}}{self._where(0.4)}{{limit}}"
        return Query(text, Order.SOME, limit)

    def _nested(self) -> Query:
        inner = f"SELECT {self._aggregate()} x, {self._aggregate()} y FROM {{source}}{self._where(0.4)}"
        outer = [
            f"SELECT count(*) FROM ({inner})",
            f"SELECT EXISTS ({inner})",
            f"SELECT count(*) FROM VALUES (1), (2) AS v(a) CROSS JOIN ({inner})",
            f"SELECT 1 FROM {{source}}{self._where(0.4)} HAVING true",
            f"SELECT count(*) FROM (SELECT 1 FROM {{source}}{self._where(0.4)} LIMIT 3)",
            f"SELECT EXISTS (SELECT 1 FROM {{source}}{self._where(0.9)})",
            f"SELECT max(n) FROM (SELECT count(*) n FROM {{source}}{self._where(0.4)} GROUP BY {self._keyish()})",
        ]
        return Query(self._chance.choice(outer))

    def _keyish(self) -> str:
        return self._chance.choice([*self._partitions, *self._keys, next(iter(self._ordered))])

    def _looked_up(self) -> Query:
        """Rows by their whole key, or by all partition columns."""
        names = self._keys or self._partitions or [next(iter(self._ordered))]
        parts = [self._chance.choice([self._equal, self._equal, self._in])(name, self._columns[name]) for name in names]
        wanted = self._chance.choice([", ".join(self._some(self._columns)), "count(*)", self._aggregate()])
        return Query(f"SELECT {wanted} FROM {{source}} WHERE {' AND '.join(parts)}")

    def _equal(self, name: str, kind: Kind) -> str:
        return f"{name} = {kind.any(self._chance)}"

    def _join(self) -> Query:
        name = self._keyish()
        if self._chance.random() < 0.4:
            inner = f"SELECT {name} FROM {{source}}{self._where(0.9)}"
            return Query(f"SELECT {name}, count(*) FROM {{source}} WHERE {name} IN ({inner}) GROUP BY {name}")
        return Query(
            f"SELECT count(*) FROM {{source}} a JOIN (SELECT {name} j, count(*) n FROM {{source}}{self._where(0.5)}"
            f" GROUP BY {name}) b ON a.{name} = b.j"
        )
