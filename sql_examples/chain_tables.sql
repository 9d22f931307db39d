-- Whole partitions now and then, and between them what changed: a day is read as the last whole one and the changes since.
DROP TABLE IF EXISTS stock;
CREATE TABLE stock (item STRING, day STRING, n BIGINT, at INT, PRIMARY KEY (day, item) NOT ENFORCED) PARTITIONED BY (day)
WITH ('chain-table.enabled' = 'true', 'sequence.field' = 'at', 'bucket-key' = 'item', 'bucket' = '2',
      'partition.timestamp-pattern' = '$day', 'partition.timestamp-formatter' = 'yyyyMMdd');
CALL sys.create_branch(table => 'stock', branch => 'whole');
CALL sys.create_branch(table => 'stock', branch => 'changed');
ALTER TABLE stock SET ('scan.fallback-snapshot-branch' = 'whole', 'scan.fallback-delta-branch' = 'changed');
ALTER TABLE stock$branch_whole SET ('scan.fallback-snapshot-branch' = 'whole', 'scan.fallback-delta-branch' = 'changed');
ALTER TABLE stock$branch_changed SET ('scan.fallback-snapshot-branch' = 'whole', 'scan.fallback-delta-branch' = 'changed');

INSERT OVERWRITE stock$branch_whole PARTITION (day = '20250601') VALUES ('lamp', 5, 1), ('desk', 2, 1);
INSERT OVERWRITE stock$branch_changed PARTITION (day = '20250602') VALUES ('lamp', 4, 2);
INSERT OVERWRITE stock$branch_changed PARTITION (day = '20250603') VALUES ('chair', 8, 3);
SELECT * FROM stock WHERE day = '20250603' ORDER BY item;
SHOW PARTITIONS stock;

-- The day becomes a whole partition, from which later ones are read on.
CALL sys.compact_chain_table(table => 'stock', partition => 'day="20250603"', dry_run => true);
CALL sys.compact_chain_table(table => 'stock', partition => 'day="20250603"');
SELECT * FROM stock$branch_whole WHERE day = '20250603' ORDER BY item;

-- Old days expire together with the changes behind them.
CALL sys.expire_partitions(table => 'stock', expiration_time => '1 d');
SELECT DISTINCT day FROM stock;
