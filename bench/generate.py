"""Make the input: ten columns of mixed types and those of a variant, the same each time, made once and kept."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench.dataset import CUSTOMERS, STATES, UPSERT_SHARE, UPSERTS, Dataset, Expected
from bench.variants import VARIANTS, Int64s, Variant

_VERSION = 1
_SEED = 20_260_301
_FILES = 8
_FILE_ROWS = 1_000_000
_START = np.datetime64("2025-01-01T00:00:00", "us").astype(np.int64).item()
_MICROS_PER_ROW = 7_000_000
_WORDS = np.array([a + b for a in "bdfgklmnprstvz" for b in ("arel", "enko", "isto", "oran", "ulba", "yver", "amit")])
_NULL_NOTES = 0.03


def dataset(folder: Path, rows: int, variant: str = "plain") -> Dataset:
    """The data set of so many rows of a variant under a folder, which is made unless it is there."""
    made = Dataset(folder / f"orders-{rows}-v{_VERSION}{'' if variant == 'plain' else '-' + variant}")
    if not made.expected_file.exists():
        shutil.rmtree(made.folder, ignore_errors=True)
        _write(made, rows, VARIANTS[variant])
    return made


def _write(made: Dataset, rows: int, variant: Variant) -> None:
    random = np.random.default_rng(_SEED)
    ids = np.arange(rows) if variant.is_sorted else random.permutation(rows)
    quantities = np.zeros(rows, np.int64)
    for number, part in enumerate(np.array_split(ids, max(min(_FILES, rows), rows // _FILE_ROWS))):
        table, made_quantities = _orders(random, part, _START + number * len(part) * _MICROS_PER_ROW, variant)
        quantities[part] = made_quantities
        _write_file(table, made.orders / f"part-{number}.parquet")
    before = int(quantities.sum())
    later = _START + rows * _MICROS_PER_ROW
    for upsert in range(UPSERTS):
        changed = _changed(random, rows, variant)
        table, quantities[changed] = _orders(random, changed, later, variant)
        _write_file(table, made.changes(upsert) / "part-0.parquet")
    expected = Expected(rows, before, int(quantities.sum()))
    made.expected_file.write_text(json.dumps(asdict(expected)))


def _changed(random: np.random.Generator, rows: int, variant: Variant) -> Int64s:
    """Distinct ids of an upsert."""
    count = max(1, int(rows * UPSERT_SHARE))
    if variant.skew == 1.0:
        return random.choice(rows, count, replace=False)
    hot = max(count, int(rows * variant.skew))
    often = random.choice(hot, count * 9 // 10, replace=False)
    return np.concatenate([often, hot + random.choice(rows - hot, count - len(often), replace=False)])


def _write_file(table: pa.Table, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, compression="zstd", row_group_size=250_000)


def _orders(random: np.random.Generator, ids: Int64s, start: int, variant: Variant) -> tuple[pa.Table, Int64s]:
    """Orders with these ids, arriving one after the other from an instant on, and their quantities."""
    n = len(ids)
    quantities = random.integers(1, 50, n)
    price = np.round(random.gamma(2.0, 40.0, n), 2)
    micros = start + np.cumsum(random.integers(1, 2 * _MICROS_PER_ROW, n))
    columns: dict[str, Any] = {
        "id": pa.array(ids, pa.int64()),
        "customer_id": pa.array(random.integers(0, CUSTOMERS, n).astype(np.int32)),
        "quantity": pa.array(quantities.astype(np.int32)),
        "price": pa.array(price),
        "amount": _decimals(np.round(price * quantities * 100).astype(np.int64)),
        "order_date": pa.array((micros // 86_400_000_000).astype(np.int32)).cast(pa.date32()),
        "ordered_at": pa.array(micros).cast(pa.timestamp("us", "UTC")),
        "state": pa.array(STATES).take(pa.array(random.integers(0, len(STATES), n))),
        "note": _notes(random, n),
        "paid": pa.array(random.random(n) < 0.7),
        **{column.name: column.make(random, ids) for column in variant.columns},
    }
    return pa.table(columns), quantities


def _decimals(cents: Int64s) -> pa.Array:
    # A decimal128 is 16 bytes, low half first; these are not negative, so the high half is 0.
    halves = np.zeros((len(cents), 2), np.int64)
    halves[:, 0] = cents
    return pa.Array.from_buffers(pa.decimal128(12, 2), len(cents), [None, pa.py_buffer(halves.tobytes())])


def _notes(random: np.random.Generator, n: int) -> pa.Array:
    words = pa.array(_WORDS.tolist())
    picked = [words.take(pa.array(random.integers(0, len(_WORDS), n))) for _ in range(5)]
    numbers = pa.array(random.integers(0, 1_000_000, n)).cast(pa.string())
    joined = pc.binary_join_element_wise(*picked, numbers, " ")
    return pc.if_else(pa.array(random.random(n) < _NULL_NOTES), pa.scalar(None, pa.string()), joined)
