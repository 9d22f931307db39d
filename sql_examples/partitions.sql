-- Partitions: written statically, overwritten one by one or as they come, listed, dropped, and made by another column.
DROP TABLE IF EXISTS visits;
CREATE TABLE visits (page STRING, hits INT, dt STRING) PARTITIONED BY (dt);
INSERT INTO visits VALUES ('home', 10, '2024-06-01'), ('about', 2, '2024-06-01'), ('home', 7, '2024-06-02');
INSERT INTO visits PARTITION (dt = '2024-06-03') VALUES ('home', 1);
SHOW PARTITIONS visits;

INSERT OVERWRITE visits PARTITION (dt = '2024-06-01') VALUES ('home', 11);
SET spark.sql.sources.partitionOverwriteMode = dynamic;
INSERT OVERWRITE visits VALUES ('home', 8, '2024-06-02');
SET spark.sql.sources.partitionOverwriteMode = static;
SELECT dt, sum(hits) AS hits FROM visits GROUP BY dt ORDER BY dt;

ALTER TABLE visits DROP PARTITION (dt = '2024-06-03');
SELECT `partition`, record_count FROM visits$partitions ORDER BY `partition`;

-- Other partition columns: the table is made anew beside the old one, filled from it, and takes its name.
CREATE OR REPLACE TABLE visits PARTITIONED BY (page) AS SELECT * FROM visits;
SHOW PARTITIONS visits;
SELECT * FROM visits WHERE page = 'home' ORDER BY dt;
