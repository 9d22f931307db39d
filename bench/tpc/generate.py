"""Make the input with DuckDB's extensions for TPC-H and TPC-DS, which hold their generators and their queries.

The packages from PyPI (the extra ``bench``) bring the extensions as files; DuckDB checks their signatures.
"""

from __future__ import annotations

import importlib
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import sqlglot

from bench.tpc.benchmarks import Benchmark
from bench.tpc.input import UPSERT_PERCENT, UPSERTS, Input, InputTable

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_VERSION = 1
_SPARK_TYPES = {"VARCHAR": "STRING", "INTEGER": "INT"}


class MissingGeneratorError(Exception):
    """DuckDB or its extension is not installed; the message says what to do."""


def tpc_input(folder: Path, benchmark: Benchmark, scale: float) -> Input:
    """The data set of a scale under a folder, which is made unless it is there.

    Raises:
        MissingGeneratorError: it must be made and cannot be.
    """
    made = Input(folder / f"{benchmark.name}-{scale:g}-v{_VERSION}")
    if not made.tables_file.exists():
        shutil.rmtree(made.folder, ignore_errors=True)
        _write(made, benchmark, scale)
    return made


def _write(made: Input, benchmark: Benchmark, scale: float) -> None:
    with _connection(benchmark) as duck:
        duck.execute(f"CALL {benchmark.generator}(sf = {scale})")
        tables = [_write_table(duck, made, name, key) for name, key in benchmark.keys.items()]
        for number, text in duck.execute(f"SELECT query_nr, query FROM {benchmark.name}_queries()").fetchall():
            (statement,) = sqlglot.transpile(text, read="duckdb", write="spark", pretty=True)
            made.write_query(number, statement)
    made.write_tables(tables)


def _connection(benchmark: Benchmark) -> DuckDBPyConnection:
    try:
        import duckdb

        package = importlib.import_module(f"duckdb_extension_{benchmark.name}")
    except ImportError as error:
        raise MissingGeneratorError(
            f"{benchmark.title} is made by DuckDB and its extension, of which {error.name} is not installed: "
            "pip install -e '.[bench]'"
        ) from error
    places = [Path(place) / "extensions" / f"v{duckdb.__version__}" for place in package.__path__]
    found = [file for place in places for file in place.glob("*.duckdb_extension")]
    if not found:
        raise MissingGeneratorError(
            f"duckdb_extension_{benchmark.name} is of another version than DuckDB {duckdb.__version__}: "
            "pip install -e '.[bench]'"
        )
    connection = duckdb.connect()
    connection.load_extension(str(found[0]))
    return connection


def _write_table(duck: DuckDBPyConnection, made: Input, name: str, key: tuple[str, ...]) -> InputTable:
    columns = [(column, kind) for column, kind, *_ in duck.execute(f"DESCRIBE {name}").fetchall()]
    (rows,) = duck.execute(f"SELECT count(*) FROM {name}").fetchall()[0]
    order = ", ".join(key)
    # The place of a row by its key, and the last upsert that brings it: row 7 of upsert 1 is known to all of them.
    brought = [f"hash({order}, {upsert}) % 100 < {UPSERT_PERCENT}" for upsert in range(UPSERTS)]
    last = " ".join(f"WHEN {brought[upsert]} THEN {upsert}" for upsert in reversed(range(UPSERTS)))
    duck.execute(
        f"CREATE TEMP VIEW placed AS SELECT *, CASE {last} ELSE -1 END AS last_upsert FROM {name} ORDER BY {order}"
    )
    _copy(duck, f"SELECT * FROM {name}", made.rows(name))
    for upsert in range(-1, UPSERTS):
        # Until its last upsert a row has the values of its neighbour.
        values = ", ".join(
            column
            if column in key
            else f"CASE WHEN last_upsert > {upsert} THEN lead({column}) OVER () ELSE {column} END AS {column}"
            for column, _ in columns
        )
        wanted = brought[upsert] if upsert >= 0 else "true"
        target = made.changes(name, upsert) if upsert >= 0 else made.stale(name)
        _copy(duck, f"SELECT {values} FROM placed QUALIFY {wanted}", target)
    duck.execute("DROP VIEW placed")
    kinds = ", ".join(f"{column} {_SPARK_TYPES.get(kind, kind)}" for column, kind in columns)
    return InputTable(name, kinds, key, rows)


def _copy(duck: DuckDBPyConnection, query: str, folder: Path) -> None:
    folder.mkdir(parents=True)
    duck.execute(f"COPY ({query}) TO '{folder / 'part-0.parquet'}' (FORMAT parquet, COMPRESSION zstd)")
