-- The files of a table with a primary key: levels, compaction within writes, by hand, and by a job of its own.
DROP TABLE IF EXISTS stock;
CREATE TABLE stock (item STRING, n INT, PRIMARY KEY (item) NOT ENFORCED)
WITH ('bucket' = '1', 'num-sorted-run.compaction-trigger' = '3');

INSERT INTO stock VALUES ('lamp', 1), ('desk', 1);
INSERT INTO stock VALUES ('lamp', 2);
SELECT level, record_count FROM stock$files;
-- The third sorted run makes a compaction due, which is a snapshot of its own.
INSERT INTO stock VALUES ('lamp', 3);
SELECT level, record_count FROM stock$files;
SELECT snapshot_id, commit_kind FROM stock$snapshots ORDER BY snapshot_id;

-- Writers that only write, and one that compacts.
ALTER TABLE stock SET TBLPROPERTIES ('write-only' = 'true');
INSERT INTO stock VALUES ('desk', 4);
INSERT INTO stock VALUES ('sofa', 5);
CALL sys.compact(table => 'stock');
SELECT level, record_count FROM stock$files;
SELECT * FROM stock ORDER BY item;

-- Only the buckets that are named, or the partitions to which nothing has come for a while.
INSERT INTO stock VALUES ('lamp', 6);
CALL sys.compact(table => 'stock', buckets => '0', partition_idle_time => '1 d');

-- An append table has no order of its own: it can be given one, so that filters on any of the columns read few files.
DROP TABLE IF EXISTS places;
CREATE TABLE places (x INT, y INT, name STRING) PARTITIONED BY (country STRING);
INSERT INTO places PARTITION (country = 'no') VALUES (7, 3, 'a'), (1, 1, 'b'), (2, 7, 'c'), (NULL, 2, 'd');
CALL sys.compact(table => 'places', order_strategy => 'zorder', order_by => 'x,y', where => "country = 'no'");
CALL sys.compact(table => 'places', order_strategy => 'order', order_by => 'name');
SELECT * FROM places;

-- A table that is kept in an order as it grows: runs of files are sorted when they are due, a second call finds nothing.
DROP TABLE IF EXISTS readings;
CREATE TABLE readings (sensor INT, at TIMESTAMP(3), celsius DOUBLE)
WITH ('clustering.incremental' = 'true', 'clustering.columns' = 'sensor,at', 'num-sorted-run.compaction-trigger' = '2');
INSERT INTO readings SELECT id % 50, timestamp_millis(id * 60000), id % 40 FROM range(0, 2000);
INSERT INTO readings SELECT id % 50, timestamp_millis(id * 60000), id % 40 FROM range(2000, 4000);
CALL sys.compact(table => 'readings', dry_run => true);
CALL sys.compact(table => 'readings');
CALL sys.compact(table => 'readings');
INSERT INTO readings VALUES (7, TIMESTAMP_NTZ '2024-06-01 10:00:00', 21.5);
CALL sys.compact(table => 'readings', compact_strategy => 'full', options => 'clustering.incremental.mode=local-sort');
SELECT level, record_count FROM readings$files ORDER BY ALL;

-- Rows that have outlived their time go with the next compaction.
DROP TABLE IF EXISTS visits;
CREATE TABLE visits (id INT, at TIMESTAMP(3), PRIMARY KEY (id) NOT ENFORCED)
WITH ('bucket' = '1', 'record-level.expire-time' = '30 d', 'record-level.time-field' = 'at');
INSERT INTO visits VALUES (1, TIMESTAMP_NTZ '2020-01-01 10:00:00'), (2, NULL);
CALL sys.compact(table => 'visits');
SELECT * FROM visits;

-- Rows with ids keep them when they are updated, and when their files are put together.
DROP TABLE IF EXISTS people;
CREATE TABLE people (id INT, name STRING)
WITH ('row-tracking.enabled' = 'true', 'compaction.min.file-num' = '2');
INSERT INTO people VALUES (1, 'Ada');
INSERT INTO people VALUES (2, 'Bo');
UPDATE people SET name = 'Eva' WHERE _ROW_ID = 0;
CALL sys.compact(table => 'people');
SELECT *, _ROW_ID, _SEQUENCE_NUMBER FROM people ORDER BY id;
