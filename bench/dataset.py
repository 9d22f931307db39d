"""The input that all engines read: where its files are and what is in them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from bench.variants import VARIANTS

UPSERTS = 10
UPSERT_SHARE = 0.05
CUSTOMERS = 100_000
STATES = ("new", "paid", "packed", "shipped", "delivered", "returned")

COLUMNS = (
    ("id", "BIGINT"),
    ("customer_id", "INT"),
    ("quantity", "INT"),
    ("price", "DOUBLE"),
    ("amount", "DECIMAL(12,2)"),
    ("order_date", "DATE"),
    ("ordered_at", "TIMESTAMP"),
    ("state", "STRING"),
    ("note", "STRING"),
    ("paid", "BOOLEAN"),
)
KEY = "id"


@dataclass(frozen=True)
class Expected:
    """What the tables must hold: their rows, and the sum of ``quantity`` before and after the upserts."""

    rows: int
    quantity: int
    merged_quantity: int


@dataclass(frozen=True)
class Dataset:
    """A generated data set.

    Attributes:
        folder: where it is; ``orders`` holds the input of the bulk loads, ``changes-<i>`` that of an upsert.
    """

    folder: Path

    @property
    def orders(self) -> Path:
        """The folder of the Parquet files of the bulk loads; ids are 0 to rows - 1, shuffled."""
        return self.folder / "orders"

    def changes(self, upsert: int) -> Path:
        """The folder of the Parquet file of one upsert: distinct ids that exist, with new values."""
        return self.folder / f"changes-{upsert}"

    @property
    def expected_file(self) -> Path:
        """What the tables must hold; it is written last, so a data set that has it is whole."""
        return self.folder / "expected.json"

    def expected(self) -> Expected:
        """What the tables must hold."""
        return Expected(**json.loads(self.expected_file.read_text()))


def one_row(number: int, variant: str = "plain") -> str:
    """The literals of one row, as they stand in ``VALUES (...)``."""
    more = "".join(f", {column.literal}" for column in VARIANTS[variant].columns)
    return (
        f"CAST({number} AS BIGINT), {number % CUSTOMERS}, {number % 50}, {number}.5D, {number}.25BD, "
        f"DATE '2026-03-01', TIMESTAMP '2026-03-01 10:00:00', '{STATES[number % len(STATES)]}', 'row number {number}', "
        f"{'true' if number % 2 else 'false'}{more}"
    )


def column_list(variant: str = "plain") -> str:
    """The data set's columns, as they stand in ``CREATE TABLE``."""
    return ", ".join(
        [f"{name} {kind}" for name, kind in COLUMNS] + [f"{c.name} {c.type}" for c in VARIANTS[variant].columns]
    )
