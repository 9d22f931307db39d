-- What a table consists of, asked in SQL.
DROP TABLE IF EXISTS facts;
CREATE TABLE facts (k INT, v STRING) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '2');
INSERT INTO facts SELECT CAST(id AS INT), 'v' FROM range(100);
INSERT INTO facts VALUES (1, 'changed');
SELECT snapshot_id, commit_kind, total_record_count, delta_record_count FROM facts$snapshots ORDER BY snapshot_id;
SELECT bucket, level, record_count, min_key, max_key FROM facts$files ORDER BY bucket, record_count;
SELECT bucket, record_count, file_count FROM facts$buckets ORDER BY bucket;
SELECT num_added_files, num_deleted_files FROM facts$manifests;
SELECT key, value FROM facts$options ORDER BY key;
-- Is the table well, and what could be done?
SELECT metric, value, advice FROM facts$summary;
SELECT sum(number) AS bytes FROM facts$summary WHERE metric IN ('older_snapshots_size', 'tags_size');
-- All tables of the catalog at once.
SELECT table_name, table_type, partitioned, primary_key FROM sys.tables WHERE database_name = current_database();
SELECT table_name, partition_name, record_count FROM sys.partitions ORDER BY ALL;
SELECT table_name, key, value FROM sys.all_table_options WHERE table_name = 'facts' AND key = 'bucket';
SELECT table_name, count(*) AS snapshots, max(commit_time) AS newest FROM sys.snapshots WHERE table_name = 'facts' GROUP BY ALL;
SELECT * FROM sys.tags;
SELECT * FROM sys.consumers;
