"""Random statements of the Python API, and a dictionary that holds what they must leave.

``PAIMON_TEST_EXAMPLES=1000 pytest tests/api/test_model.py`` plays that many.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimon_sql.api.catalog import Catalog
from paimon_sql.api.table import Table
from tests.api.test_reads import Row

Key = tuple[int, str]
EXAMPLES = int(os.environ.get("PAIMON_TEST_EXAMPLES", "12"))
KINDS: dict[str, dict[str, str]] = {
    "buckets": {"bucket": "2"},
    "vectors": {"bucket": "1", "deletion-vectors.enabled": "true"},
    "dynamic": {},
    "append": {},
    "append vectors": {"deletion-vectors.enabled": "true"},
    "evolving": {
        "row-tracking.enabled": "true",
        "data-evolution.enabled": "true",
        "deletion-vectors.enabled": "true",
    },
}
STATEMENTS = [
    "upsert",
    "delete",
    "delete keys",
    "update",
    "compute",
    "dynamic",
    "partition",
    "all",
    "compact",
    "add",
    "drop",
    "rename",
]


@dataclass
class Model:
    """A table, and the rows that it must have.

    Attributes:
        table: the table.
        draw: draws random values.
        rows: the rows by key.
        texts: the columns with texts, and the number of the next one.
        added: the number of columns so far.
    """

    table: Table
    draw: st.DataObject
    rows: dict[Key, Row] = field(default_factory=dict)
    texts: list[str] = field(default_factory=lambda: ["note"])
    added: int = 0

    @property
    def is_keyed(self) -> bool:
        """Whether rows with the same key replace each other."""
        return bool(self.table.primary_key)

    def new_rows(self) -> dict[Key, Row]:
        """Random rows by key; in append tables only of keys that are free."""
        keys = st.tuples(st.integers(0, 6), st.sampled_from("ab"))
        drawn = self.draw.draw(st.lists(keys, max_size=5))
        texts = st.none() | st.text(max_size=3)
        return {
            k: {"id": k[0], "day": k[1], "amount": float(k[0])} | {name: self.draw.draw(texts) for name in self.texts}
            for k in drawn
        }

    def run(self, statement: str) -> None:
        """Run a random statement of a kind."""
        getattr(self, f"_{statement.replace(' ', '_')}")()

    def _upsert(self) -> None:
        made = self.new_rows()
        if not self.is_keyed:
            made = {k: row for k, row in made.items() if k not in self.rows}
        self.table.append(list(made.values()))
        self.rows |= made

    def _chosen(self) -> tuple[str, set[Key]]:
        bound = self.draw.draw(st.integers(0, 6))
        if self.draw.draw(st.booleans()):
            return f"id < {bound} AND day = 'a'", {k for k in self.rows if k[0] < bound and k[1] == "a"}
        return f"amount >= {bound}", {k for k, row in self.rows.items() if row["amount"] >= bound}

    def _delete(self) -> None:
        where, keys = self._chosen()
        assert self.table.delete(where) == len(keys)
        self.rows = {k: row for k, row in self.rows.items() if k not in keys}

    def _delete_keys(self) -> None:
        keys = self.new_rows() if self.is_keyed else {}
        if self.is_keyed:
            assert self.table.delete_keys(list(keys.values())) == len(keys.keys() & self.rows.keys())
        self.rows = {k: row for k, row in self.rows.items() if k not in keys}

    def _update(self) -> None:
        (where, keys), name = self._chosen(), self.draw.draw(st.sampled_from(self.texts))
        value = self.draw.draw(st.none() | st.text(max_size=3))
        assert self.table.update({name: value}, where) == len(keys)
        for key in keys:
            self.rows[key] = self.rows[key] | {name: value}

    def _compute(self) -> None:
        where, keys = self._chosen()
        assert self.table.update({"amount": lambda rows: pc.add(rows["amount"], rows["id"])}, where) == len(keys)
        for key in keys:
            self.rows[key] = self.rows[key] | {"amount": self.rows[key]["amount"] + key[0]}

    def _dynamic(self) -> None:
        made = self.new_rows()
        self.table.overwrite(list(made.values()), dynamic=True)
        days = {k[1] for k in made}
        self.rows = {k: row for k, row in self.rows.items() if k[1] not in days} | made

    def _partition(self) -> None:
        made = {k: row for k, row in self.new_rows().items() if k[1] == "b"}
        self.table.overwrite(list(made.values()), "day = 'b'")
        self.rows = {k: row for k, row in self.rows.items() if k[1] != "b"} | made

    def _all(self) -> None:
        made = self.new_rows()
        self.table.overwrite(list(made.values()))
        self.rows = made

    def _compact(self) -> None:
        self.table.call("compact")

    def _add(self) -> None:
        self.added += 1
        name = f"text{self.added}"
        self.table = self.table.alter(add={name: pa.string()})
        self.texts.append(name)
        self.rows = {k: row | {name: None} for k, row in self.rows.items()}

    def _drop(self) -> None:
        if len(self.texts) > 1:
            name = self.draw.draw(st.sampled_from(self.texts))
            self.table = self.table.alter(drop=[name])
            self.texts.remove(name)
            self.rows = {k: {c: v for c, v in row.items() if c != name} for k, row in self.rows.items()}

    def _rename(self) -> None:
        self.added += 1
        old, new = self.draw.draw(st.sampled_from(self.texts)), f"text{self.added}"
        self.table = self.table.alter(rename={old: new})
        self.texts[self.texts.index(old)] = new
        self.rows = {k: {new if c == old else c: v for c, v in row.items()} for k, row in self.rows.items()}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_random_statements_leave_what_a_model_holds(catalog: Catalog, kind: str, data: st.DataObject) -> None:
    keys = [] if kind in ("append", "append vectors", "evolving") else ["id", "day"]
    schema = pa.schema([("id", pa.int64()), ("day", pa.string()), ("amount", pa.float64()), ("note", pa.string())])
    name = f"shop.r{len(catalog.tables('shop'))}"
    table = catalog.create_table(name, schema, primary_key=keys, partition_by=["day"], options=KINDS[kind])
    model = Model(table, data)
    for _ in range(data.draw(st.integers(1, 7))):
        model.run(data.draw(st.sampled_from(STATEMENTS)))
        found = model.table.to_arrow().to_pylist()
        assert sorted(found, key=repr) == sorted(
            ({name: row[name] for name in model.table.schema.names} for row in model.rows.values()), key=repr
        )
        assert model.table.scan().count() == len(model.rows)
