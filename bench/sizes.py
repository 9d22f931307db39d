"""``python -m bench.sizes``: whether the cost of a row stays the same as tables grow, and memory stays flat.

The works on tables with a primary key, one size after the other, with 2 GB of heap. A row of the table is a work: the
nanoseconds for each row of the table at the first size, and for each larger size their ratio to that. Look-ups are not
among the works, as they should not grow at all.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from bench.command import add_arguments, names, out_folder, positive, run_as_asked, sayer
from bench.engines import BASE, ENVIRONMENTS
from bench.generate import dataset
from bench.results import Contestant, Results
from bench.settings import Settings
from bench.table import aligned, notes
from bench.works import WORKS

_SIZES = (4_000_000, 16_000_000, 64_000_000)
_WORKS = "insert,load,upsert,merged-scan,merged-group-by,merged-count,compact,compacted-scan,update,delete"


def table(found: Sequence[Results]) -> str:
    """Return a row for each work of each engine, and one for its peak memory."""
    first = found[0]
    sizes = [results.settings.rows for results in found]
    rows = [["work", f"{sizes[0]:,}: ns/row", *(f"{size:,}: ratio" for size in sizes[1:])]]
    for who in first.contestants():
        if who in first.versions:
            rows += [row for work in first.works() if (row := _row(who, work, found))]
            memory = [results.peak_memory(who) for results in found]
            rows.append([f"{who.title}: peak memory, GiB", *(f"{(peak or 0) / 2**30:.1f}" for peak in memory)])
    return "\n".join([*aligned(rows), "", *notes(first, f"{len(found)} sizes, rows of 10 columns")])


def _row(who: Contestant, work: str, found: Sequence[Results]) -> list[str]:
    each = []
    for results in found:
        took = results.seconds(who, work)
        each.append(None if took is None else took / results.settings.rows * 1e9)
    if each[0] is None:
        return []
    ratios = ["-" if cost is None else f"{cost / each[0]:.2f}" for cost in each[1:]]
    return [f"{who.title}: {found[0].suite[work].title}", f"{each[0]:.0f}", *ratios]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run each size, and print the table; 1 if an engine failed or engines disagreed."""
    parser = argparse.ArgumentParser(prog="python -m bench.sizes", description=__doc__)
    sizes = ",".join(map(str, _SIZES))
    parser.add_argument("--rows", default=sizes, help=f"sizes of the tables, comma-separated ({sizes})")
    parser.add_argument("--works", type=names(WORKS), default=_WORKS.split(","), help=f"works ({_WORKS})")
    add_arguments(parser, ENVIRONMENTS)
    parser.set_defaults(memory="2g", engines=["paimon", BASE], repetitions=2)
    asked = parser.parse_args(arguments)
    say, out = sayer(), out_folder(asked)
    found = []
    for rows in map(positive, asked.rows.split(",")):
        say(f"{rows:,} rows")
        settings = Settings(rows=rows, data=dataset(asked.data.absolute(), rows).folder)
        logs = out / str(rows)
        logs.mkdir(exist_ok=True)
        results = run_as_asked(asked, settings, asked.works, logs, say)
        results.write(logs / "results.json")
        found.append(results)
        text = table(found)
        out.joinpath("table.md").write_text(text + "\n")
    print(text)
    return 1 if any(results.failures or results.disagreements() for results in found) else 0


if __name__ == "__main__":
    sys.exit(main())
