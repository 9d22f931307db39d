-- Replace rows: a partition by its name, the partitions that the new rows belong to, or the whole table.
DROP TABLE IF EXISTS revenue;
CREATE TABLE revenue (shop STRING, amount DECIMAL(12, 2), day DATE) PARTITIONED BY (day);
INSERT INTO revenue VALUES ('north', 10, DATE '2024-06-01'), ('south', 20, DATE '2024-06-01'), ('north', 30, DATE '2024-06-02');

-- Static: this partition, and no other.
INSERT OVERWRITE revenue PARTITION (day = DATE '2024-06-01') VALUES ('north', 11), ('south', 21);
SELECT * FROM revenue ORDER BY day, shop;

-- Dynamic: whatever partitions the rows have.
SET spark.sql.sources.partitionOverwriteMode = dynamic;
INSERT OVERWRITE revenue VALUES ('north', 31, DATE '2024-06-02'), ('north', 40, DATE '2024-06-03');
SET spark.sql.sources.partitionOverwriteMode = static;
SELECT day, sum(amount) AS amount FROM revenue GROUP BY day ORDER BY day;

-- Everything; what was there before stays in the history.
TRUNCATE TABLE revenue;
SELECT count(*) AS rows FROM revenue;
SELECT snapshot_id, commit_kind, total_record_count FROM revenue$snapshots ORDER BY snapshot_id;
