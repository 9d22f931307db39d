-- Format tables: folders of plain files, which other programs may write and read as well.
DROP TABLE IF EXISTS visits;
CREATE TABLE visits (page STRING, hits INT, day DATE)
PARTITIONED BY (day)
WITH ('type' = 'format-table', 'file.format' = 'csv', 'csv.include-header' = 'true');
INSERT INTO visits VALUES ('home', 10, DATE'2024-01-01'), ('about', 2, DATE'2024-01-01'), ('home', 7, DATE'2024-01-02');
SELECT * FROM visits WHERE day = DATE'2024-01-02';

-- One partition is replaced; the others stay.
INSERT OVERWRITE visits PARTITION (day = '2024-01-02') VALUES ('home', 8), ('team', 1);
SHOW PARTITIONS visits;
SELECT day, sum(hits) AS hits FROM visits GROUP BY day ORDER BY day;

-- USING is Spark's way to say it.
DROP TABLE IF EXISTS pages;
CREATE TABLE pages USING parquet AS SELECT page, sum(hits) AS hits FROM visits GROUP BY page;
SELECT * FROM pages ORDER BY page;

-- Partitions come and go by themselves, too.
ALTER TABLE visits ADD PARTITION (day = '2024-01-03');
TRUNCATE TABLE visits PARTITION (day = '2024-01-01');
ALTER TABLE visits DROP PARTITION (day = '2024-01-01');
SHOW PARTITIONS visits;

-- From plain files into an ordinary table, where rows can be changed.
DROP TABLE IF EXISTS counts;
CREATE TABLE counts (page STRING NOT NULL, hits BIGINT, PRIMARY KEY (page) NOT ENFORCED) WITH ('bucket' = '1');
INSERT INTO counts SELECT * FROM pages;
UPDATE counts SET hits = hits + 1 WHERE page = 'home';
SELECT * FROM counts ORDER BY page;

-- A format table is replaced with its files, also by a query over itself.
CREATE TABLE readings (value INT, day STRING, hour INT) USING json PARTITIONED BY (day, hour);
INSERT INTO readings VALUES (1, '2024-01-01', 7), (2, '2024-01-01', 8), (3, '2024-01-02', 7);
ALTER TABLE readings DROP PARTITION (day = '2024-01-01');
CREATE OR REPLACE TABLE readings USING csv PARTITIONED BY (day) AS SELECT value, day FROM readings;
SELECT * FROM readings;
