-- What a query need not read: EXPLAIN says how many files and manifests are left of how many.
DROP TABLE IF EXISTS measurements;
CREATE TABLE measurements (id BIGINT, celsius DOUBLE, day DATE) PARTITIONED BY (day);
INSERT INTO measurements SELECT id, id % 40, DATE '2024-06-01' FROM range(0, 5000);
INSERT INTO measurements SELECT id, id % 40, DATE '2024-06-02' FROM range(5000, 10000);

-- A partition, and the statistics of a column in each file.
EXPLAIN SELECT avg(celsius) FROM measurements WHERE day = DATE '2024-06-02';
EXPLAIN SELECT celsius FROM measurements WHERE id = 4999;
-- A count over whole files reads none of them.
EXPLAIN SELECT count(*) FROM measurements;
-- The newest rows: only the file that ends behind all others is read.
EXPLAIN SELECT * FROM measurements ORDER BY id DESC LIMIT 3;
SELECT id, celsius FROM measurements ORDER BY id DESC LIMIT 3;
SELECT min_value_stats, max_value_stats FROM measurements$files ORDER BY file_path;

-- A fixed number of buckets: rows of one sensor stand in one of them.
DROP TABLE IF EXISTS sensors;
CREATE TABLE sensors (sensor STRING, celsius DOUBLE) TBLPROPERTIES ('bucket' = '4', 'bucket-key' = 'sensor');
INSERT INTO sensors SELECT concat('s', id % 20), id FROM range(1000);
EXPLAIN SELECT max(celsius) FROM sensors WHERE sensor = 's7';

-- A join with a small table leaves out the days that this does not have.
DROP TABLE IF EXISTS heat;
CREATE TABLE heat (day DATE, warning STRING);
INSERT INTO heat VALUES (DATE '2024-06-02', 'red'), (DATE '2024-06-03', 'none');
SELECT count(*) FROM measurements JOIN heat ON measurements.day = heat.day WHERE warning = 'red';

-- What Spark's optimizer should know of rows and columns.
ANALYZE TABLE measurements COMPUTE STATISTICS FOR ALL COLUMNS;
SELECT mergedRecordCount, snapshot_id FROM measurements$statistics;
