"""Flink and we work on the same tables at the same time: its streams and batches, our statements and compactions."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from .flink_side import Flink
from .test_java import rows_of

KEYS, MANY = 40, 40_000


def tries() -> Iterator[None]:
    """The turns of a wait, which is given up after two minutes."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        yield
        time.sleep(0.1)
    pytest.fail("Nothing came for two minutes.")


def arriving(flink: Flink, name: str, count: int = MANY) -> None:
    """Let a source have the numbers below ``count``, in order: a few each second, or as ``<name>_at_once``."""
    for source, rate in {name: 100, f"{name}_at_once": MANY}.items():
        flink.prepare(
            f"CREATE TEMPORARY TABLE {source} (id BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '{rate}',"
            f" 'fields.id.kind' = 'sequence', 'fields.id.start' = '0', 'fields.id.end' = '{count - 1}')"
        )


def upserts(source: str, table: str) -> str:
    """The stream that upserts the numbers of a source by their remainders."""
    return (
        f"INSERT INTO {table} /*+ OPTIONS('sink.parallelism' = '2') */"
        f" SELECT CAST(MOD(id, {KEYS}) AS INT), id, CONCAT('ü', CAST(id AS STRING)) FROM {source}"
    )


def a_prefix(rows: Iterable[Row]) -> int:
    """How many numbers are in the table, which must be the first ones, newer ones in the place of older ones."""
    found = {k: v for k, v, _ in rows}
    count = max(found.values(), default=-1) + 1
    assert found == {n % KEYS: n for n in range(count)}
    return count


@pytest.mark.parametrize("mode", ["none", "vectors"])
def test_a_stream_of_flinks_upserts_while_we_read_stream_and_compact(
    mode: str, spark: SparkSession, flink: Flink, tmp_path: Path
) -> None:
    name, copy, source = f"flink_upserts_{mode}", f"flink_copied_{mode}", f"numbers_{mode}"
    keyed = "(k INT NOT NULL, v BIGINT, s STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '2'"
    vectors = f"'deletion-vectors.enabled' = '{str(mode == 'vectors').lower()}'"
    spark.sql(f"CREATE TABLE {name} {keyed}, 'write-only' = 'true', {vectors})")
    spark.sql(f"CREATE TABLE {copy} {keyed})")
    arriving(flink, source)
    stream = flink.start(upserts(source, name))
    writer = spark.readStream.table(name).writeStream.option("checkpointLocation", str(tmp_path / "copying"))
    copying = writer.trigger(processingTime="300 milliseconds").toTable(copy)
    seen, compact = [0], f"CALL sys.compact(table => '{name}', compact_strategy => '{{}}')"
    for _ in tries():
        # With deletion vectors, rows that no compaction has met are not seen.
        spark.sql(compact.format("minor" if len(seen) % 2 else "full"))
        if (count := a_prefix(spark.table(name).collect())) != seen[-1]:
            seen.append(count)
        # Each full compaction between two of them found new rows: there were three.
        if len(seen) == 7:
            break
    assert seen == sorted(seen)
    stream.stop(tmp_path)
    spark.sql(compact.format("full"))
    count = a_prefix(spark.table(name).collect())
    copying.processAllAvailable()
    copying.stop()
    assert sorted(spark.table(copy).collect()) == sorted(spark.table(name).collect())
    assert flink(f"SELECT * FROM {name}") == rows_of(spark, name)
    snapshots = spark.sql(f"SELECT snapshot_id, commit_kind FROM `{name}$snapshots` ORDER BY 1").collect()
    assert Counter(kind for _, kind in snapshots)["COMPACT"] >= 3
    counts = [a_prefix(spark.sql(f"SELECT * FROM {name} VERSION AS OF {s}").collect()) for s, _ in snapshots[-6:]]
    assert counts == sorted(counts) and counts[-1] == count >= seen[-1]


@pytest.mark.parametrize("producer", ["none", "lookup"])
def test_a_stream_stopped_with_a_savepoint_goes_on_behind_our_changes(
    producer: str, spark: SparkSession, flink: Flink, tmp_path: Path
) -> None:
    name, source = f"flink_savepoint_{producer}", f"saved_{producer}"
    spark.sql(
        f"CREATE TABLE {name} (k INT NOT NULL, v BIGINT, s STRING) TBLPROPERTIES"
        f" ('primary-key' = 'k', 'bucket' = '2', 'changelog-producer' = '{producer}')"
    )
    arriving(flink, source)
    stream = flink.start(upserts(source, name))
    for _ in tries():
        if spark.table(name).count():
            break
    savepoint = stream.stop(tmp_path)
    assert 0 < a_prefix(spark.table(name).collect()) < MANY
    spark.sql(f"INSERT INTO {name} VALUES (1000, -1, 'ours'), (1001, -2, 'ours')")
    spark.sql(f"UPDATE {name} SET s = 'changed' WHERE k < 3")
    spark.sql(f"DELETE FROM {name} WHERE k = 1001")
    spark.sql(f"CALL sys.compact(table => '{name}')")
    flink.start(upserts(f"{source}_at_once", name), savepoint).wait()
    rows = spark.table(name).collect()
    assert a_prefix(r for r in rows if r.k < KEYS) == MANY
    assert [tuple(r) for r in rows if r.k >= KEYS] == [(1000, -1, "ours")]
    assert flink(f"SELECT * FROM {name}") == rows_of(spark, name)
    if producer == "lookup":
        assert_changes_lead_to_rows(spark, name)


def assert_changes_lead_to_rows(spark: SparkSession, name: str) -> None:
    """All changes of a table together must be its rows, whoever told which of them."""
    row = spark.sql(f"SELECT min(snapshot_id) - 1, max(snapshot_id) FROM `{name}$snapshots`").head()
    assert row is not None
    told = spark.sql(f"SELECT * FROM paimon_incremental_query('{name}$audit_log', '{row[0]}', '{row[1]}')").collect()
    assert {kind for kind, *_ in told} >= {"+I", "-U", "+U"}
    left: Counter[tuple[Any, ...]] = Counter()
    for kind, *values in told:
        left[tuple(values)] += 1 if kind.startswith("+") else -1
    assert {values: n for values, n in left.items() if n} == dict.fromkeys(map(tuple, spark.table(name).collect()), 1)


def test_retractions_of_a_stream_of_flinks_are_changes_here(spark: SparkSession, flink: Flink, tmp_path: Path) -> None:
    spark.sql(
        "CREATE TABLE flink_counts (k INT NOT NULL, n BIGINT NOT NULL, top BIGINT) TBLPROPERTIES"
        " ('primary-key' = 'k', 'bucket' = '1', 'changelog-producer' = 'input')"
    )
    arriving(flink, "counted", 103)
    # What a condition lets go is told by a retraction alone.
    flink.start(
        "INSERT INTO flink_counts SELECT CAST(MOD(id, 10) AS INT) AS k, COUNT(*), MAX(id) FROM counted"
        " GROUP BY MOD(id, 10) HAVING MOD(COUNT(*), 5) <> 0"
    ).wait()
    assert sorted(map(tuple, spark.table("flink_counts").collect())) == [(k, 11, 100 + k) for k in range(3)]
    assert_changes_lead_to_rows(spark, "flink_counts")
    seen: list[Row] = []
    changes = spark.readStream.option("scan.snapshot-id", "1").table("`flink_counts$audit_log`")
    query = changes.writeStream.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True)
    query.foreachBatch(lambda rows, _: seen.extend(rows.collect())).start().awaitTermination()
    assert {row[0] for row in seen} == {"+I", "-U", "+U"}


@pytest.mark.parametrize("producer", ["none", "lookup", "full-compaction"])
def test_a_stream_of_flinks_is_told_of_our_changes(producer: str, spark: SparkSession, flink: Flink) -> None:
    name = f"flink_told_{producer.split('-')[0]}"
    spark.sql(
        f"CREATE TABLE {name} (k INT NOT NULL, v STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '2',"
        f" 'changelog-producer' = '{producer}', 'continuous.discovery-interval' = '100ms')"
    )
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b')")
    spark.sql(f"CALL sys.compact(table => '{name}')")
    with flink.watching(f"SELECT * FROM {name}") as changes:
        assert changes(2) == [["+I", 1, "a"], ["+I", 2, "b"]]
        spark.sql(
            f"MERGE INTO {name} t USING (SELECT 1 AS k UNION ALL SELECT 3) s ON t.k = s.k"
            " WHEN MATCHED THEN UPDATE SET v = 'a2' WHEN NOT MATCHED THEN INSERT (k, v) VALUES (3, 'c')"
        )
        spark.sql(f"DELETE FROM {name} WHERE k = 2")
        spark.sql(f"CALL sys.compact(table => '{name}')")
        assert changes(4) == [["+I", 3, "c"], ["+U", 1, "a2"], ["-D", 2, "b"], ["-U", 1, "a"]]
        spark.sql(f"ALTER TABLE {name} ADD COLUMN n INT")
        spark.sql(f"INSERT INTO {name} VALUES (4, 'ä😀', 7)")
        spark.sql(f"CALL sys.compact(table => '{name}')")
        assert changes(1) == [["+I", 4, "ä😀"]]
        assert changes(1, seconds=1) == []


def test_a_batch_of_flinks_reads_what_we_wrote_and_when(spark: SparkSession, flink: Flink) -> None:
    spark.sql(
        "CREATE TABLE flink_reads (k INT NOT NULL, v STRING, p STRING NOT NULL) PARTITIONED BY (p) TBLPROPERTIES"
        " ('primary-key' = 'k,p', 'bucket' = '2', 'deletion-vectors.enabled' = 'true', 'file.format' = 'orc')"
    )
    spark.sql("INSERT INTO flink_reads SELECT id, concat('v', id), if(id < 50, 'a', 'ü=/b') FROM range(100)")
    spark.sql("CALL sys.create_tag(table => 'flink_reads', tag => 'first')")
    spark.sql("DELETE FROM flink_reads WHERE k % 3 = 0")
    spark.sql("UPDATE flink_reads SET v = NULL WHERE k = 1")
    spark.sql("ALTER TABLE flink_reads ADD COLUMN m MAP<STRING, ARRAY<DECIMAL(9, 2)>> AFTER k")
    spark.sql("INSERT INTO flink_reads VALUES (500, map('x', array(1.5, NULL)), 'new', 'a')")
    assert flink("SELECT m FROM flink_reads WHERE k = 500 AND p = 'a'") == [[[["x", ["1.50", None]]]]]
    assert flink("SELECT COUNT(*), MIN(k) FROM flink_reads /*+ OPTIONS('scan.tag-name' = 'first') */") == [[100, 0]]
    ours = spark.sql("SELECT count(*) FROM flink_reads VERSION AS OF 3").head()
    assert ours and flink("SELECT COUNT(*) FROM flink_reads /*+ OPTIONS('scan.snapshot-id' = '3') */") == [list(ours)]
    for query in (
        "SELECT k, v, p FROM flink_reads",
        "SELECT COUNT(*) FROM flink_reads WHERE p = 'ü=/b'",
        "SELECT commit_kind, total_record_count FROM flink_reads$snapshots",
        "SELECT rowkind, k FROM flink_reads$audit_log WHERE p = 'a'",
    ):
        assert flink(query) == rows_of_query(spark, query)


def rows_of_query(spark: SparkSession, query: str) -> list[list[Any]]:
    spark.sql(query).createOrReplaceTempView("asked")
    return rows_of(spark, "asked")


def test_batches_of_flinks_change_our_tables_and_we_theirs(spark: SparkSession, flink: Flink) -> None:
    flink(
        "CREATE TABLE flink_made (k INT COMMENT 'the key', v STRING, t TIMESTAMP(3), p DATE, d AS EXTRACT(YEAR FROM p),"
        " WATERMARK FOR t AS t - INTERVAL '5' SECOND, PRIMARY KEY (k, p) NOT ENFORCED) PARTITIONED BY (p)"
        " WITH ('bucket' = '-1', 'file.format' = 'avro')"
    )
    spark.sql(
        "INSERT INTO flink_made VALUES (1, 'a', TIMESTAMP_NTZ'2024-01-01 00:00:00', DATE'2024-01-01'),"
        " (2, 'bb', NULL, DATE'2024-01-01'), (3, NULL, NULL, DATE'2024-02-01')"
    )
    flink("INSERT INTO flink_made VALUES (4, 'dddd', TIMESTAMP '2024-05-05 05:05:05.123', DATE '2023-02-01')")
    flink("UPDATE flink_made SET v = 'updated' WHERE k = 2 AND p = DATE '2024-01-01'")
    flink("DELETE FROM flink_made WHERE k = 3")
    assert rows_of(spark, "flink_made") == [
        [1, "a", "2024-01-01 00:00:00", "2024-01-01"],
        [2, "updated", None, "2024-01-01"],
        [4, "dddd", "2024-05-05 05:05:05.123000", "2023-02-01"],
    ]
    spark.sql("ALTER TABLE flink_made RENAME COLUMN v TO w")
    assert flink("SELECT k, w, d FROM flink_made") == [[1, "a", 2024], [2, "updated", 2024], [4, "dddd", 2023]]
    flink("ALTER TABLE flink_made ADD (n INT)")
    flink("INSERT OVERWRITE flink_made PARTITION (p = '2023-02-01') VALUES (9, 'over', CAST(NULL AS TIMESTAMP(3)), 9)")
    spark.sql("CALL sys.compact(table => 'flink_made')")
    flink("CALL sys.compact(`table` => 'default.flink_made')")
    assert flink("SELECT k, w, n FROM flink_made") == [[1, "a", None], [2, "updated", None], [9, "over", 9]]
    assert rows_of_query(spark, "SELECT k, w, n FROM flink_made") == flink("SELECT k, w, n FROM flink_made")


def test_an_append_stream_is_compacted_by_both(spark: SparkSession, flink: Flink, tmp_path: Path) -> None:
    flink("CREATE TABLE flink_appended (id BIGINT, s STRING) WITH ('compaction.min.file-num' = '3')")
    arriving(flink, "appended")
    stream = flink.start("INSERT INTO flink_appended SELECT id, CAST(id AS STRING) FROM appended")
    counts = [0]
    for _ in tries():
        if (count := first_numbers(spark, "flink_appended")) > counts[-1]:
            spark.sql("CALL sys.compact(table => 'flink_appended')")
            counts.append(count)
        if len(counts) == 5:
            break
    stream.stop(tmp_path)
    assert first_numbers(spark, "flink_appended") >= counts[-1]
    assert flink("SELECT * FROM flink_appended") == rows_of(spark, "flink_appended")


def first_numbers(spark: SparkSession, name: str) -> int:
    """How many of the numbers are in the table, once each."""
    found = sorted(r.id for r in spark.table(name).collect())
    assert found == list(range(len(found)))
    return len(found)


def test_snapshots_that_a_consumer_of_flinks_needs_stay(spark: SparkSession, flink: Flink) -> None:
    spark.sql(
        "CREATE TABLE flink_consumed (id INT) TBLPROPERTIES"
        " ('continuous.discovery-interval' = '100ms', 'consumer.expiration-time' = '1 d')"
    )
    spark.sql("INSERT INTO flink_consumed VALUES (1)")
    query = "SELECT * FROM flink_consumed /*+ OPTIONS('consumer-id' = 'reader') */"
    with flink.watching(query) as rows:
        assert rows(1) == [["+I", 1]]
        for _ in tries():
            if rows_of_query(spark, "SELECT * FROM flink_consumed$consumers") == [["reader", 2]]:
                break
    for i in range(2, 6):
        spark.sql(f"INSERT INTO flink_consumed VALUES ({i})")
    spark.sql("CALL sys.expire_snapshots(table => 'flink_consumed', retain_max => 1, retain_min => 1)")
    with flink.watching(query) as rows:
        assert rows(4) == [["+I", i] for i in range(2, 6)]


def test_a_stream_of_flinks_goes_on_behind_our_rollback(spark: SparkSession, flink: Flink, tmp_path: Path) -> None:
    spark.sql(
        "CREATE TABLE flink_rolled (k INT NOT NULL, v BIGINT, s STRING) TBLPROPERTIES"
        " ('primary-key' = 'k', 'bucket' = '2', 'write-only' = 'true')"
    )
    arriving(flink, "rolled")
    stream = flink.start(upserts("rolled", "flink_rolled"))
    latest = "SELECT coalesce(max(snapshot_id), 0) FROM flink_rolled$snapshots"

    def wait_for(snapshots: int) -> None:
        for _ in tries():
            if newest() >= snapshots:
                return

    def newest() -> int:
        return int(rows_of_query(spark, latest)[0][0])

    wait_for(4)
    spark.sql("CALL sys.rollback(table => 'flink_rolled', version => '1')")
    spark.sql("INSERT INTO flink_rolled VALUES (1000, -1, 'ours')")
    wait_for(newest() + 2)
    stream.stop(tmp_path)
    rows = rows_of(spark, "flink_rolled")
    assert [1000, -1, "ours"] in rows and len(rows) > 20
    assert flink("SELECT * FROM flink_rolled") == rows
    for (snapshot,) in rows_of_query(spark, "SELECT snapshot_id FROM flink_rolled$snapshots"):
        then = f"SELECT * FROM flink_rolled /*+ OPTIONS('scan.snapshot-id' = '{snapshot}') */"
        assert rows_of_query(spark, then) == flink(then)


def test_keys_stay_in_their_buckets_whoever_spreads_them(spark: SparkSession, flink: Flink) -> None:
    spark.sql(
        "CREATE TABLE flink_spread (k INT NOT NULL, v STRING) TBLPROPERTIES"
        " ('primary-key' = 'k', 'bucket' = '-1', 'dynamic-bucket.target-row-num' = '20')"
    )
    spark.sql("INSERT INTO flink_spread SELECT id, 'ours' FROM range(30)")
    flink("INSERT INTO flink_spread VALUES (1, 'flink'), (100, 'flink')")
    spark.sql("INSERT INTO flink_spread SELECT id, 'again' FROM range(95, 150)")
    flink("INSERT INTO flink_spread VALUES (2, 'flink'), (101, 'flink'), (200, 'flink')")
    spark.sql("CALL sys.compact(table => 'flink_spread')")
    expected = dict.fromkeys(range(30), "ours") | dict.fromkeys(range(95, 150), "again")
    expected |= dict.fromkeys((1, 2, 101, 200), "flink")
    rows = rows_of(spark, "flink_spread")
    assert sorted(rows) == [[k, v] for k, v in sorted(expected.items())]
    assert flink("SELECT * FROM flink_spread") == rows


def test_procedures_of_flinks_and_ours_know_of_each_other(spark: SparkSession, flink: Flink) -> None:
    spark.sql(
        "CREATE TABLE flink_called (k INT NOT NULL, v STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '2')"
    )
    for k in range(6):
        spark.sql(f"INSERT INTO flink_called VALUES ({k}, 'a')")

    def call(procedure: str, arguments: str) -> None:
        flink(f"CALL sys.{procedure}(`table` => 'default.flink_called', {arguments})")

    call("create_tag", "tag => 'kept', snapshot_id => CAST(3 AS BIGINT)")
    assert len(rows_of_query(spark, "SELECT * FROM flink_called VERSION AS OF 'kept'")) == 3
    call("rollback_to", "snapshot_id => CAST(4 AS BIGINT)")
    assert len(rows_of(spark, "flink_called")) == 4
    spark.sql("INSERT INTO flink_called VALUES (50, 'b')")
    spark.sql("CALL sys.rollback(table => 'flink_called', version => '3')")
    flink("INSERT INTO flink_called VALUES (60, 'f')")
    assert (
        rows_of(spark, "flink_called")
        == flink("SELECT * FROM flink_called")
        == [*([k, "a"] for k in range(3)), [60, "f"]]
    )
    call("create_branch", "branch => 'side', tag => 'kept'")
    call("expire_snapshots", "retain_max => 1, options => 'snapshot.num-retained.min=1'")
    flink("INSERT INTO flink_called$branch_side VALUES (70, 'f')")
    spark.sql("INSERT INTO `flink_called$branch_side` VALUES (71, 'o')")
    side = rows_of(spark, "`flink_called$branch_side`")
    assert side == [*([k, "a"] for k in range(3)), [70, "f"], [71, "o"]]
    call("fast_forward", "branch => 'side'")
    assert rows_of(spark, "flink_called") == flink("SELECT * FROM flink_called") == side
