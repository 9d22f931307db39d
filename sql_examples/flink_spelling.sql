-- Statements in Flink's spelling run as they are.
DROP TABLE IF EXISTS readings;
CREATE TABLE readings (
    sensor BIGINT,
    at TIMESTAMP(3),
    celsius DOUBLE,
    dt STRING,
    PRIMARY KEY (dt, sensor) NOT ENFORCED
) PARTITIONED BY (dt) WITH ('bucket' = '2', 'file.format' = 'orc');
INSERT INTO readings VALUES (1, TIMESTAMP_NTZ '2024-05-14 10:00:00.123', 21.5, '2024-05-14');
ALTER TABLE readings SET ('snapshot.num-retained.min' = '2');
ALTER TABLE readings ADD (note STRING);
INSERT INTO readings VALUES (1, TIMESTAMP_NTZ '2024-05-14 10:05:00', 22.0, '2024-05-14', 'mended');
SELECT * FROM readings;
SELECT celsius FROM readings /*+ OPTIONS('scan.snapshot-id' = '1') */;
SELECT file_format, level, record_count FROM readings$files;
CALL sys.compact(`table` => 'default.readings');
-- What becomes of a statement:
EXPLAIN REWRITE ALTER TABLE readings ADD (raw BYTES);
EXPLAIN REWRITE SELECT * FROM readings$files /*+ OPTIONS('scan.snapshot-id' = '1') */;
