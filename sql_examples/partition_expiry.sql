-- Partitions that expire by the day in their value, and partitions that are marked as done.
DROP TABLE IF EXISTS logs;
CREATE TABLE logs (message STRING, dt STRING, hour INT) PARTITIONED BY (dt, hour) WITH (
    'partition.expiration-time' = '30 d',
    'partition.timestamp-pattern' = '$dt $hour',
    'partition.timestamp-formatter' = 'yyyyMMdd H'
);
INSERT INTO logs VALUES ('old', '20200101', 7), ('older', '20191231', 23), ('new', '29990101', 0);

-- What would go, one partition of it, and the rest.
CALL sys.expire_partitions(table => 'logs', dry_run => true);
CALL sys.expire_partitions(table => 'logs', max_expires => 1);
CALL sys.expire_partitions(table => 'logs');
SELECT `partition`, record_count FROM logs$partitions;
SELECT count(*) AS before FROM logs VERSION AS OF 1;

-- Each batch write looks for old partitions.
ALTER TABLE logs SET ('end-input.check-partition-expire' = 'true');
INSERT INTO logs VALUES ('late', '20200101', 8), ('next', '29990101', 1);
SELECT message FROM logs ORDER BY message;

-- Done: a file _SUCCESS in the partition's folder.
CALL sys.mark_partition_done(table => 'logs', partitions => 'dt=29990101,hour=0;dt=29990101,hour=1');
ALTER TABLE logs SET ('partition.end-input-to-done' = 'true');
INSERT INTO logs VALUES ('last', '29990102', 0);

-- By the time of the last change.
CALL sys.expire_partitions('logs', '1 h', null, null, 'update-time');
