"""How reads are divided: by the table's options, the engine's settings, and the number of readers."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_sql.format.options import TableOptions
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.scan.split import SplitSize, divide
from paimon_sql.storage.streams.source import StreamSource
from paimon_sql.storage.table.table import Table
from tests.storage.small_tables import fresh, insert, make_table

MB = 1024 * 1024


def filled(path: Path, files: int = 6, **options: str) -> Table:
    table = make_table(path, options)
    for number in range(files):
        insert(table, (number, "v", "p"))
    return table


def sizes_of(table: Table, parallelism: int = 1) -> list[int]:
    return [len(split.files) for split in plan_scan(table, parallelism=parallelism).splits]


def under(table: Table, target: str, open_cost: str) -> Table:
    return table.with_options({"source.split.target-size": target, "source.split.open-file-cost": open_cost})


def test_small_files_share_a_split_until_the_cost_of_opening_them_fills_it(tmp_path: Path) -> None:
    table = filled(tmp_path)
    assert sizes_of(table) == [6]
    assert sizes_of(under(table, "8 mb", "4 mb")) == [2, 2, 2]
    assert sizes_of(under(table, "1 mb", "4 mb")) == [1] * 6
    assert sizes_of(under(table, "1 mb", "0 b")) == [6]
    assert sizes_of(under(table, "0 b", "0 b")) == [1] * 6


def test_splits_of_a_keyed_table_keep_sections_whole(tmp_path: Path) -> None:
    table = make_table(tmp_path, primary_keys=("id",))
    for low in (0, 100):
        for _ in range(2):
            insert(table, *((low + i, "v", "p") for i in range(3)))
    small = under(table, "1 b", "0 b")
    assert sizes_of(table) == [4]
    assert sizes_of(small) == [2, 2]


def test_more_readers_make_splits_smaller_but_never_larger_than_asked_for(tmp_path: Path) -> None:
    table = filled(tmp_path)
    assert len(sizes_of(table, parallelism=3)) == 3
    assert sizes_of(under(table, "4 mb", "4 mb"), parallelism=2) == [1] * 6


def test_every_file_is_in_exactly_one_split_whatever_the_size(tmp_path: Path) -> None:
    table = filled(tmp_path)
    whole = sorted(f.file_name for split in plan_scan(table).splits for f in split.files)
    for target in ("0 b", "1 b", "5 mb", "1 gb"):
        found = plan_scan(under(table, target, "4 mb")).splits
        assert sorted(f.file_name for split in found for f in split.files) == whole


def test_ranges_of_a_large_file_cover_it_once_and_are_not_tiny(tmp_path: Path) -> None:
    plan = plan_scan(under(filled(tmp_path, files=1), "1 b", "0 b"))
    assert plan.split_size.range_size == MB
    (ranges,) = plan.file_ranges(1)
    assert [(r.start, r.length) for r in ranges] == [(0, ranges[0].file_size)]


@pytest.mark.parametrize(
    ("given", "size"),
    [
        ({}, SplitSize(7, 3)),
        ({"source.split.target-size": "5 b"}, SplitSize(5, 3)),
        ({"source.split.open-file-cost": "2 b"}, SplitSize(7, 2)),
    ],
)
def test_options_win_over_the_settings_of_the_engine(given: dict[str, str], size: SplitSize) -> None:
    assert SplitSize.of(TableOptions(given), SplitSize(7, 3)) == size


def test_without_anything_said_a_split_has_128_mb_and_a_file_counts_4(tmp_path: Path) -> None:
    assert SplitSize.of(TableOptions({})) == SplitSize(128 * MB, 4 * MB)


def test_positions_of_a_stream_mean_the_same_under_other_sizes_of_splits(tmp_path: Path) -> None:
    table = filled(tmp_path)
    small = under(fresh(table), "1 b", "0 b")
    whole, other = (StreamSource(t, None)._whole(6) for t in (table, small))
    assert [s.files for s in whole] == [s.files for s in other]
    assert [s.files for s in StreamSource(table, None)._changed(3)] == [
        s.files for s in StreamSource(small, None)._changed(3)
    ]


@pytest.mark.parametrize("readers", [1, 2, 3, 8])
@pytest.mark.parametrize("sizes", [[], [5], [4, 4, 4, 4], [1] * 50, [40, 1, 1, 1], [0, 0], list(range(1, 30))])
def test_readers_get_groups_that_differ_by_less_than_an_item(sizes: list[int], readers: int) -> None:
    groups = divide(sizes, lambda size: size, 10_000, readers)
    assert [size for group in groups for size in group] == sizes
    assert len(groups) <= readers
    assert all(sum(group) <= sum(sizes) / readers + max(sizes) for group in groups)


def test_groups_beyond_the_target_are_divided_into_as_many_for_each_reader() -> None:
    assert divide([4, 4, 4, 4], lambda size: size, 8, 2) == [[4, 4], [4, 4]]
    assert divide([4, 4, 4, 4], lambda size: size, 7, 2) == [[4], [4], [4], [4]]
    assert divide([30], lambda size: size, 7, 2) == [[30]]
