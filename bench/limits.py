"""``python -m bench.limits RESULTS``: how far each work of a run is from what the machine could do at best.

`RESULTS` is the `results.json` of a run of ``python -m bench``. Primitives are measured on its input: decoding and
encoding Parquet by Arrow on all cores, sorting by the key, copying memory, writing to the disk. The limit of a work is
the sum of the primitives that it cannot do without, where Spark, planning and commits cost nothing; writing to the disk
overlaps with the rest, so the longer of both counts.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.dataset import KEY, UPSERT_SHARE, UPSERTS, Dataset
from bench.table import aligned

_SAMPLES = 3


@dataclass(frozen=True)
class Primitives:
    """Seconds for the whole input.

    Attributes:
        decode: decode all columns.
        decode_query: decode the columns of the group-by.
        encode: encode all columns as Spark does by default (snappy).
        write: write the encoded bytes to the disk, and flush them.
        sort: order the rows by the key and bring all columns into this order.
        copy: copy the decoded bytes once.
    """

    decode: float
    decode_query: float
    encode: float
    write: float
    sort: float
    copy: float


_UPSERTED = UPSERTS * UPSERT_SHARE
LIMITS: dict[str, Callable[[Primitives], float]] = {
    "insert": lambda p: max(p.decode + p.encode, p.write),
    "scan": lambda p: p.decode,
    "group-by": lambda p: p.decode_query,
    "load": lambda p: max(p.decode + p.sort + p.encode, p.write),
    "upsert": lambda p: _UPSERTED * max(p.decode + p.sort + p.encode, p.write),
    "merged-scan": lambda p: (1 + _UPSERTED) * p.decode + p.copy,
    "merged-group-by": lambda p: (1 + _UPSERTED) * p.decode_query,
    "compact": lambda p: max((1 + _UPSERTED) * p.decode + p.copy + p.encode, p.write),
    "compacted-scan": lambda p: p.decode,
    "aggregation-scan": lambda p: p.decode * 1.15 + p.copy,
    "partial-update-scan": lambda p: p.decode * 1.15 + p.copy,
    "vectors-scan": lambda p: p.decode * 1.15,
}


def measure(files: Sequence[Path], scratch: Path) -> Primitives:
    """Measure the primitives on Parquet files, as many at once as there are cores; the best of three samples."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:

        def best(action: Callable[[Path], object]) -> float:
            took = []
            for _ in range(_SAMPLES):
                started = time.perf_counter()
                list(threads.map(action, files))
                took.append(time.perf_counter() - started)
            return min(took)

        tables = {path: pq.read_table(path, use_threads=False) for path in files}

        def encode(path: Path) -> None:
            pq.write_table(tables[path], scratch / path.name, compression="snappy")

        def sort(path: Path) -> pa.Table:
            table = tables[path]
            return table.take(pa.array(np.argsort(table[KEY].to_numpy(), kind="stable")))

        def write(path: Path) -> None:
            data = (scratch / path.name).read_bytes()
            with (scratch / f"{path.name}.copy").open("wb") as file:
                file.write(data)
                os.fsync(file.fileno())

        def copy(path: Path) -> None:
            for column in tables[path].columns:
                for chunk in column.chunks:
                    for buffer in chunk.buffers():
                        if buffer is not None:
                            np.frombuffer(buffer, np.uint8).copy()

        columns = ["state", "amount", "quantity", "price"]
        return Primitives(
            decode=best(lambda path: pq.read_table(path, use_threads=False)),
            decode_query=best(lambda path: pq.read_table(path, columns=columns, use_threads=False)),
            encode=best(encode),
            write=best(write),
            sort=best(sort),
            copy=best(copy),
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print a row for each work."""
    parser = argparse.ArgumentParser(prog="python -m bench.limits", description=__doc__)
    parser.add_argument("results", type=Path, help="results.json of a run")
    given = parser.parse_args(arguments)
    results = json.loads(given.results.read_text())
    files = sorted(Dataset(Path(results["settings"]["data"])).orders.glob("*.parquet"))
    with tempfile.TemporaryDirectory() as scratch:
        found = measure(files, Path(scratch))
    rows = [["work", "limit s", "paimon-sql s", "of the limit"]]
    (ours,) = (who for who in results["contestants"] if who["engine"] == "paimon")
    for name, limit in LIMITS.items():
        took = ours["works"].get(name, {}).get("seconds")
        if took is not None:
            rows.append([name, f"{limit(found):.2f}", f"{took:.2f}", f"{took / limit(found):.1f}"])
    parts = (f"{name.replace('_', ' ')} {seconds:.2f} s" for name, seconds in vars(found).items())
    print("\n".join([*aligned(rows), "", f"The whole input: {', '.join(parts)}."]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
