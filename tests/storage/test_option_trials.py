"""Options that no other test tries: each changes what it says, against the same statement without it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from paimon_sql.catalog.iceberg.hive import HiveRegistration
from paimon_sql.catalog.registry import open_catalog
from paimon_sql.catalog.rest.environment import Token, TokenFileIO
from paimon_sql.errors import InvalidOptionError
from paimon_sql.format.global_index.blocks import Compression, encode_block
from paimon_sql.format.metadata.data_file import DataFileMeta
from paimon_sql.format.options import TableOptions, check_changes
from paimon_sql.format.schema.types import BlobType, DataField, IntType
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.compact import strategy
from paimon_sql.storage.compact.compaction import EVERYTHING
from paimon_sql.storage.compact.layouts.append import plan_append_compaction
from paimon_sql.storage.data_files.lsm_tree import LevelRun
from paimon_sql.storage.execution.task_executor import LocalExecutor
from paimon_sql.storage.file_formats.blob.fetch import BlobFetcher
from paimon_sql.storage.file_io import LocalFileIO, file_io_of
from paimon_sql.storage.file_io.external.locations import ExternalAccess
from paimon_sql.storage.iceberg import metadata_folder
from paimon_sql.storage.merge import windows
from paimon_sql.storage.metadata.refs.tags import TagManager
from paimon_sql.storage.operations import operations
from paimon_sql.storage.repair import lost_files
from paimon_sql.storage.scan.changes.plan import plan_changes
from paimon_sql.storage.scan.plan import plan_scan
from paimon_sql.storage.scan.split import SplitSize
from paimon_sql.storage.streams.source import Limits, Position, StreamSource
from paimon_sql.storage.table.index_files import index_entries, index_path
from paimon_sql.storage.table.table import Table
from paimon_sql.storage.table.time_travel.change_range import change_range_to_read
from paimon_sql.storage.write.buckets.assignment.postponed import Amount, numbers_for_batch
from paimon_sql.storage.write.buckets.modes import cross_partition
from paimon_sql.storage.write.clustering.clustering import clustering_of
from paimon_sql.storage.write.plan import plan_write
from tests.storage.core_tables import (
    again,
    batch_of,
    data_files,
    files_below,
    insert,
    live,
    make_table,
    overwrite,
    rows,
)

Values = tuple[Any, ...]


def names(table: Table, prefix: str = "data-") -> list[str]:
    return sorted(name for name in data_files(table) if name.startswith(prefix))


def test_changelogs_have_a_format_and_compression_of_their_own(tmp_path: Path) -> None:
    given = {"changelog-producer": "input", "file.suffix.include.compression": "true"}
    plain = make_table(tmp_path / "a", given, keys=["id"])
    other = {"changelog-file.format": "orc", "changelog-file.compression": "snappy"}
    apart = make_table(tmp_path / "b", given | other, keys=["id"])
    for table in (plain, apart):
        insert(table, (1, "a", "x"))
        assert names(table)[0].endswith(".zst.parquet")
    assert names(plain, "changelog-")[0].endswith(".zst.parquet")
    assert names(apart, "changelog-")[0].endswith(".snappy.orc")


def test_names_of_files_tell_their_compression_where_asked_for(tmp_path: Path) -> None:
    for told in ("true", "false"):
        options = {"file.suffix.include.compression": told, "file.compression": "gzip"}
        table = make_table(tmp_path / told, options)
        insert(table, (1, "a", "x"))
        assert names(table)[0].endswith(".gz.parquet") is (told == "true")
        assert rows(table) == [(1, "a", "x")]


@pytest.mark.parametrize(
    ("codec", "stored"), [("zstd", b"zstandard"), ("snappy", b"snappy"), ("null", b"null"), ("deflate", b"deflate")]
)
def test_manifests_are_compressed_as_asked_for(tmp_path: Path, codec: str, stored: bytes) -> None:
    table = make_table(tmp_path / "t", {"manifest.compression": codec})
    insert(table, (1, "a", "x"))
    for path in files_below(table):
        if "manifest/" in path:
            assert stored in (tmp_path / "t" / path).read_bytes()[:8000], path
    assert rows(table) == [(1, "a", "x")]


def test_a_bound_on_different_values_decides_on_dictionaries_of_orc(tmp_path: Path) -> None:
    sizes = {}
    for threshold in ("0", "1"):
        table = make_table(tmp_path / threshold, {"file.format": "orc", "orc.dictionary.key.threshold": threshold})
        insert(table, *((i, f"a rather long text {i * 7919 % 50}", "x") for i in range(5000)))
        ((entry),) = live(table)
        sizes[threshold] = entry.file.file_size
        assert len(rows(table)) == 5000
    assert sizes["0"] != sizes["1"]


@pytest.mark.parametrize("beside", ["true", "false"])
def test_index_files_stand_where_the_option_says(tmp_path: Path, beside: str) -> None:
    table = make_table(tmp_path / "t", {"bucket": "-1", "index-file-in-data-file-dir": beside}, keys=["id"])
    insert(table, (1, "a", "x"))
    table = again(table)
    (entry,) = index_entries(table, table.snapshots.latest())
    assert ("/bucket-0/" in index_path(table, entry)) is (beside == "true")
    assert Path(index_path(table, entry)).exists()
    insert(table, (1, "b", "x"))
    assert rows(table) == [(1, "b", "x")]


@pytest.mark.parametrize(("together", "starts"), [("true", [0, 1, 2, 3]), ("false", [0, 2, 1, 3])])
def test_row_ids_of_a_partition_follow_each_other_where_asked_for(
    tmp_path: Path, together: str, starts: list[int]
) -> None:
    options = {
        "row-tracking.enabled": "true",
        "row-tracking.partition-group-on-commit": together,
        "target-file-row-num": "1",
    }
    table = make_table(tmp_path / "t", options, partitions=["p"])

    def message(row: Values) -> Any:
        (made,) = plan_write(table).run([batch_of(table, [row])])
        return made

    with Transaction(again(table)) as transaction:
        operations.append(
            transaction,
            [message((1, "a", "x")), message((2, "a", "y")), message((3, "a", "x")), message((4, "a", "y"))],
        )
    found = {e.file.first_row_id: e.partition for e in live(table)}
    partitions = [found[i] for i in range(4)]
    assert [partitions.index(p) for p in partitions] == ([0, 0, 2, 2] if together == "true" else [0, 1, 0, 1])
    assert set(starts) == found.keys()


def test_only_snapshots_or_files_since_a_time_are_read(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    first = insert(table, (1, "a", "x"))
    millis = max(e.file.creation_epoch_millis() or 0 for e in live(table))
    later = again(table, {"scan.file-creation-time-millis": str(millis + 1)})
    assert rows(later) == []
    while True:
        insert(table, (2, "b", "x"))
        if max(e.file.creation_epoch_millis() or 0 for e in live(table)) > millis + 1:
            break
    assert {i for i, _, _ in rows(later)} == {2}
    second = again(table).snapshots.get(2)
    since = {"scan.creation-time-millis": str(second.time_millis)}
    assert len(rows(again(table, since))) == (2 if second.time_millis > first.time_millis else len(rows(later)))
    assert {i for i, _, _ in rows(again(table, {"scan.creation-time-millis": str(millis + 10**9)}))} == set()


def test_tags_stand_for_their_snapshots_where_asked_for(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", keys=["id"])
    for number, name in enumerate(("one", "two", "three"), 1):
        insert(table, (1, name, "x"))
        opened = again(table)
        opened.tags.create(name, opened.snapshots.get(number))
    for by_snapshot, mode in (("true", "delta"), ("false", "diff")):
        options = {"incremental-between": "one,three", "incremental-between-tag-to-snapshot": by_snapshot}
        span = change_range_to_read(again(table, options))
        assert span is not None and span.mode == mode
        told, _ = plan_changes(again(table, options), span, None, 10**9)
        assert len(told) == (2 if by_snapshot == "true" else 1)


def test_a_stream_reads_what_overwrites_add_where_asked_for(tmp_path: Path) -> None:
    for option, expected in (("true", 2), ("false", 1)):
        table = make_table(tmp_path / option, {"streaming-read-append-overwrite": option})
        insert(table, (1, "a", "x"))
        overwrite(table, (2, "b", "x"))
        source = StreamSource(again(table))
        end = source.end(Position(1))
        assert end is not None and len(source.splits(Position(1), end)) == expected


def test_deletion_vectors_are_switched_where_that_is_allowed() -> None:
    change = {"deletion-vectors.enabled": "true"}
    check_changes({"deletion-vectors.modifiable": "true"}, change, has_snapshots=True)
    check_changes({}, change, has_snapshots=False)
    with pytest.raises(InvalidOptionError, match=r"deletion-vectors"):
        check_changes({}, change, has_snapshots=True)


def test_a_batch_chooses_no_more_buckets_than_its_option_says() -> None:
    asked = {"postpone.target-row-num-per-bucket": "10"}
    few = {"postpone.batch-write-fixed-bucket.max-parallelism": "3"}
    amount = {b"": Amount(1000, 10**6)}
    assert numbers_for_batch(TableOptions(asked), amount, {})[b""] == 128
    assert numbers_for_batch(TableOptions(asked | few), amount, {})[b""] == 3


def test_so_many_threads_look_for_keys_and_lost_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []

    class Counting(LocalExecutor):
        def __init__(self, count: int) -> None:
            threads.append(count)
            super().__init__(count)

    monkeypatch.setattr(cross_partition, "LocalExecutor", Counting)
    options = {"bucket": "-1", "cross-partition-upsert.bootstrap-parallelism": "3", "file-operation.thread-num": "5"}
    table = make_table(tmp_path / "t", options, keys=["id"], partitions=["p"])
    insert(table, (1, "a", "x"))
    insert(table, (1, "b", "y"))
    assert rows(table) == [(1, "b", "y")]
    assert set(threads) == {3}
    asked: list[int] = []

    def spread(run: Callable[[Any], Any], items: Any, count: int) -> list[Any]:
        asked.append(count)
        return [run(item) for item in items]

    monkeypatch.setattr(lost_files, "map_in_threads", spread)
    opened, latest = again(table), again(table).snapshots.latest()
    assert latest is not None
    assert lost_files.find_lost(opened, latest, LocalExecutor(1)) == []
    assert asked == [5]


def test_levels_of_compressions_are_obeyed() -> None:
    data = bytes(i * i % 251 for i in range(20_000)) * 3 + b"".join(str(i * 7919).encode() for i in range(5000))
    for name in ("zstd",):
        sizes = {level: encode_block(data, Compression(name, level))[1] for level in (1, 19)}
        assert sizes[19] < sizes[1]
    for level in ("1", "19"):
        options = TableOptions({"spill-compression": "zstd", "spill-compression.zstd-level": level})
        assert windows._compressed(options).compression is not None


def test_iceberg_entries_say_what_a_metastore_is_to_leave_out(tmp_path: Path) -> None:
    for skips in ("true", "false"):
        table = make_table(tmp_path / skips, {"metadata.iceberg.hive-skip-update-stats": skips})
        entry = SimpleNamespace(parameters={}, sd=SimpleNamespace(cols=[]))
        registration: Any = SimpleNamespace(_table=table, _columns=list)
        HiveRegistration._describe(registration, entry, "/metadata")
        assert entry.parameters["DO_NOT_UPDATE_STATS"] == skips


def test_files_of_a_server_are_reached_where_the_catalog_says() -> None:
    lent = Token({"fs.oss.endpoint": "theirs"}, 10**12)
    lender: Any = SimpleNamespace(token=lambda: lent)
    for options, endpoint in (({}, "theirs"), ({"dlf.oss-endpoint": "ours"}, "ours")):
        files = TokenFileIO(lender, options)
        files.of("/tmp/x")
        assert files._files.options["fs.oss.endpoint"] == endpoint


def test_a_compaction_is_due_when_the_last_full_one_is_so_long_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    def held(level: int, name: str) -> LevelRun:
        made = DataFileMeta(name, 10, 1, level=level, creation_time_millis=0)
        return LevelRun(level, (made,))

    options = TableOptions({"compaction.optimization-interval": "1 h"})
    for hours, due in ((0.5, False), (24.0, True)):
        monkeypatch.setattr(strategy, "time", SimpleNamespace(time=lambda hours=hours: hours * 3600))
        assert (strategy.pick_due([held(0, "new"), held(5, "old")], options) is not None) is due


def test_a_file_counts_as_small_below_that_part_of_the_target(tmp_path: Path) -> None:
    planned = {}
    for ratio in ("0.7", "0.0001"):
        options = {"compaction.small-file-ratio": ratio, "target-file-size": "100 kb", "compaction.min.file-num": "2"}
        table = make_table(tmp_path / ratio, options)
        for number in range(4):
            insert(table, (number, "a", "x"))
        planned[ratio] = len(
            plan_append_compaction(again(table), table.snapshots.latest(), full=False, scope=EVERYTHING)
        )
    assert planned["0.7"] > planned["0.0001"] == 0


def test_so_many_bytes_of_a_text_take_part_in_a_curve(tmp_path: Path) -> None:
    options = {"clustering.columns": "v,p", "clustering.strategy": "zorder"}
    for given, expected in (({}, 8), ({"zorder.var-length-contribution": "3"}, 3)):
        found = clustering_of(make_table(tmp_path / str(expected), options | given))
        assert found is not None and found.text_bytes == expected


def test_a_watermark_names_its_first_snapshot(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t")
    for number, watermark in enumerate((1000, 2000, 3000)):
        insert(again(table, {"end-input.watermark": str(watermark)}), (number, "a", "x"))
    assert sorted(i for i, _, _ in rows(again(table, {"scan.watermark": "1500"}))) == [0, 1]


def test_changes_up_to_a_tag_are_those_since_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make_table(tmp_path / "t", keys=["id"])
    for number, name in enumerate(("2024-01-01", "2024-01-02", "2024-01-04"), 1):
        insert(table, (number, name, "x"))
        opened = again(table)
        opened.tags.create(name, opened.snapshots.get(number))
    read = again(table, {"incremental-to-auto-tag": "2024-01-04"})
    span = change_range_to_read(read)
    assert span is not None and span.end is not None
    assert (span.start, span.end.id, span.mode) == (2, 3, "diff")
    # The tag expires after it was read.
    monkeypatch.setattr(TagManager, "names", lambda _: ["2024-01-01", "2024-01-02"])
    assert change_range_to_read(read) == span


def test_a_step_of_a_stream_waits_for_rows_but_not_for_ever(tmp_path: Path) -> None:
    asked = {"read.stream.minRowsPerTrigger": "5", "read.stream.maxTriggerDelayMs": "2000"}
    limits = Limits.of(make_table(tmp_path / "t", asked))
    assert (limits.min_rows, limits.max_wait) == (5, 2.0)
    assert [limits.waits(4, 1.9), limits.waits(5, 0), limits.waits(4, 2.1)] == [True, False, False]


def test_a_catalog_remembers_so_many_runs(tmp_path: Path) -> None:
    for given, retained in (({}, 500), ({"maintenance-runs.retained": "3"}, 3)):
        catalog = open_catalog("c", {"warehouse": str(tmp_path), **given})
        assert catalog.run_log is not None and catalog.run_log.retained == retained


def test_local_files_reach_the_disk_unless_the_catalog_says_otherwise(tmp_path: Path) -> None:
    usual, quick = (file_io_of(str(tmp_path), given) for given in ({}, {"file-io.sync": "false"}))
    assert isinstance(usual, LocalFileIO) and usual.durable
    assert isinstance(quick, LocalFileIO) and not quick.durable


def test_blobs_are_fetched_within_the_bounds_of_the_catalog() -> None:
    access = ExternalAccess.of({"blob.fetch.max-size": "3 b", "blob.fetch.timeout": "7 s"}, "/w")
    assert (access.blob_bytes, access.blob_seconds) == (3, 7.0)


def test_blobs_are_copied_in_pieces_of_that_size(tmp_path: Path) -> None:
    own = BlobFetcher.own(make_table(tmp_path / "t", {"blob.copy-buffer-size": "3 mb"}))
    assert own.piece == 3 * 1024 * 1024


def test_avro_files_may_have_a_codec_of_their_own(tmp_path: Path) -> None:
    for codec in ("snappy", "deflate"):
        table = make_table(tmp_path / codec, {"file.format": "avro", "avro.codec": codec})
        insert(table, (1, "a", "x"))
        (name,) = names(table)
        (path,) = (tmp_path / codec).rglob(name)
        assert codec.encode() in path.read_bytes()
        assert rows(table) == [(1, "a", "x")]


def test_the_size_of_blobs_counts_for_splits_where_asked_for(tmp_path: Path) -> None:
    columns = (DataField(0, "id", IntType()), DataField(1, "b", BlobType()))
    evolving = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "blob-field": "b"}
    counts = {}
    for counted in ("true", "false"):
        table = make_table(tmp_path / counted, {**evolving, "blob.split-by-file-size": counted}, columns=columns)
        for number in range(4):
            insert(table, (number, b"x" * 100_000))
        counts[counted] = len(plan_scan(again(table), split_size=SplitSize(50_000, 0)).splits)
    assert counts == {"true": 4, "false": 1}


def test_metadata_for_iceberg_stand_and_stay_as_the_options_say(tmp_path: Path) -> None:
    on = {"metadata.iceberg.storage": "table-location"}
    here = make_table(tmp_path / "db.db/here", on)
    there = make_table(tmp_path / "db.db/there", {**on, "metadata.iceberg.storage-location": "catalog-location"})
    assert metadata_folder(here).startswith(here.path)
    assert not metadata_folder(there).startswith(there.path)
    left = {}
    for deletes in ("true", "false"):
        table = make_table(
            tmp_path / f"db.db/t{deletes}", {**on, "metadata.iceberg.delete-after-commit.enabled": deletes}
        )
        for number in range(3):
            insert(table, (number, "a", "x"))
        left[deletes] = len(list(Path(metadata_folder(table)).glob("v*.metadata.json")))
    assert left["true"] < left["false"] == 3
