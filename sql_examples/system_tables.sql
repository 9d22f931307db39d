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
