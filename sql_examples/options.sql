-- Options of a table, of a session and of one read; the nearest wins.
DROP TABLE IF EXISTS logs;
CREATE TABLE logs (line STRING) WITH ('file.format' = 'orc', 'target-file-size' = '64 mb');
INSERT INTO logs VALUES ('one');
INSERT INTO logs VALUES ('two');
SELECT key, value FROM logs$options ORDER BY key;
SELECT DISTINCT file_format FROM logs$files;

-- From now on Parquet; files that are there stay as they are, and are read as ever.
ALTER TABLE logs SET TBLPROPERTIES ('file.format' = 'parquet');
INSERT INTO logs VALUES ('three');
SELECT file_format, count(*) AS files FROM logs$files GROUP BY file_format ORDER BY file_format;

-- For this session, and for one table of one query.
SET `spark.paimon.scan.snapshot-id` = 2;
SELECT count(*) AS lines FROM logs;
SELECT count(*) AS lines FROM logs /*+ OPTIONS('scan.snapshot-id' = '1') */;
RESET `spark.paimon.scan.snapshot-id`;

-- How much one task reads, for one query.
SELECT count(*) AS lines FROM logs /*+ OPTIONS('source.split.target-size' = '16 mb') */ WHERE line LIKE 't%';
SELECT count(*) AS lines FROM logs;
ALTER TABLE logs UNSET TBLPROPERTIES ('target-file-size');
SHOW TBLPROPERTIES logs ('file.format');
