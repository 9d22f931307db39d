-- Operations: a look at the table's health, compaction, expiry, and consumers that hold on to snapshots.
DROP TABLE IF EXISTS clicks;
CREATE TABLE clicks (id BIGINT, page STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '2', 'write-only' = 'true');
INSERT INTO clicks SELECT id, 'home' FROM range(1000);
INSERT INTO clicks SELECT id, 'about' FROM range(0, 1000, 10);
INSERT INTO clicks SELECT id, 'help' FROM range(0, 1000, 100);

-- How many files must be merged, how much they hold, how many records are out of date.
SELECT bucket, count(*) AS files, sum(if(level = 0, 1, 0)) AS fresh, sum(record_count) AS records
FROM clicks$files GROUP BY bucket ORDER BY bucket;
SELECT total_record_count - (SELECT count(*) FROM clicks) AS out_of_date
FROM clicks$snapshots ORDER BY snapshot_id DESC LIMIT 1;

EXPLAIN CALL sys.compact(table => 'clicks');
CALL sys.compact(table => 'clicks', dry_run => true);
CALL sys.compact(table => 'clicks');

-- A consumer that reads on from snapshot 2 keeps it.
CALL sys.reset_consumer(table => 'clicks', consumerId => 'dashboard', nextSnapshotId => 2);
SELECT * FROM clicks$consumers;
CALL sys.expire_snapshots(table => 'clicks', retain_max => 1, retain_min => 1);
SELECT min(snapshot_id) AS earliest FROM clicks$snapshots;
CALL sys.clear_consumers(table => 'clicks', includingConsumers => 'dash.*');
CALL sys.expire_snapshots(table => 'clicks', retain_max => 1, retain_min => 1);
SELECT count(*) AS snapshots FROM clicks$snapshots;

-- All tables of some databases; a copy of one, file by file.
CALL sys.compact_database(including_tables => '.*clicks', options => 'num-sorted-run.compaction-trigger=3');
DROP TABLE IF EXISTS clicks_copy;
CALL sys.copy(source_table => 'clicks', target_table => 'clicks_copy');
SELECT count(*) FROM clicks_copy;

-- What was done, and what can be done.
SELECT procedure, table_name, dry_run, snapshot_before, snapshot_after, counts['compacted_files'] AS compacted
FROM sys.maintenance_runs WHERE procedure LIKE 'comp%' ORDER BY started_at;
SELECT name, summary FROM sys.procedures WHERE name LIKE 'expire%';
SHOW PROCEDURES IN sys;
