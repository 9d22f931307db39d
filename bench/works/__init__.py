"""The works, one module each kind, in the order in which they are done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby

from bench.tpc.benchmarks import BENCHMARKS
from bench.works.base import Work
from bench.works.compact import COMPACT
from bench.works.count import COUNT, MERGED_COUNT
from bench.works.expire import EXPIRE
from bench.works.filter import COMPACTED_FILTER, FILTER, MERGED_FILTER
from bench.works.group_by import GROUP_BY, MERGED_GROUP_BY
from bench.works.insert import INSERT, LOAD
from bench.works.kinds import KIND_WORKS
from bench.works.lookup import COMPACTED_LOOKUP, LOOKUP, MERGED_LOOKUP
from bench.works.row_changes import DELETE, UPDATE
from bench.works.scan import COMPACTED_SCAN, MERGED_SCAN, SCAN
from bench.works.small_inserts import SMALL_INSERTS
from bench.works.tpc import tpc_works
from bench.works.upsert import UPSERT

WORKS: dict[str, Work] = {
    work.name: work
    for work in (
        INSERT,
        SCAN,
        GROUP_BY,
        FILTER,
        COUNT,
        LOOKUP,
        LOAD,
        UPSERT,
        MERGED_SCAN,
        MERGED_GROUP_BY,
        MERGED_FILTER,
        MERGED_COUNT,
        MERGED_LOOKUP,
        COMPACT,
        COMPACTED_SCAN,
        COMPACTED_FILTER,
        COMPACTED_LOOKUP,
        SMALL_INSERTS,
        EXPIRE,
        UPDATE,
        DELETE,
        *KIND_WORKS,
    )
}

SUITES: dict[str, dict[str, Work]] = {
    "": WORKS,
    **{name: tpc_works(benchmark) for name, benchmark in BENCHMARKS.items()},
}
"""All works that a run may be about, by the name of their suite."""


def with_needs(names: Iterable[str], works: Mapping[str, Work] = WORKS) -> list[str]:
    """The works of these names and all that must be done before them, in their order."""
    wanted = set(names)
    while more := {need for name in wanted for need in works[name].needs} - wanted:
        wanted |= more
    return [name for name in works if name in wanted]


def with_bases(names: Iterable[str], works: Mapping[str, Work] = WORKS) -> list[str]:
    """The works that Parquet must do, so that each of these has something to be measured against."""
    return with_needs({works[name].measured_against for name in names}, works)


def in_turns(names: Iterable[str], works: Mapping[str, Work]) -> list[list[str]]:
    """Works in their order, those together that are measured together."""
    return [list(turn) for _, turn in groupby(names, lambda name: works[name].turn or name)]
