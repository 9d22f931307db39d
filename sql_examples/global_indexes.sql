-- Global indexes: which rows of a table hold a value, whatever file they lie in.
DROP TABLE IF EXISTS parcels;
CREATE TABLE parcels (id BIGINT, code STRING, state STRING, day STRING) PARTITIONED BY (day)
TBLPROPERTIES ('row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true');
INSERT INTO parcels SELECT id, concat('c', id * 7919 % 5000), concat('s', id % 4), 'mon' FROM range(0, 5000);
INSERT INTO parcels SELECT id, concat('c', id * 7919 % 10000), NULL, 'tue' FROM range(5000, 10000);

-- Sorted keys for a column of many values, bitmaps for one of few; dry runs tell how many rows that is.
CALL sys.create_global_index(table => 'parcels', index_column => 'code', index_type => 'btree', dry_run => true);
CALL sys.create_global_index(table => 'parcels', index_column => 'code', index_type => 'btree');
CALL sys.create_global_index(table => 'parcels', index_column => 'state', index_type => 'bitmap', partitions => 'day=mon');
SELECT `partition`, index_type, index_field_name, row_range_start, row_range_end FROM parcels$table_indexes ORDER BY ALL;

-- Only the rows that the indexes name are read.
SELECT * FROM parcels WHERE code = 'c4242';
SELECT count(*) FROM parcels WHERE code LIKE 'c42%' AND state IN ('s1', 's2');
EXPLAIN SELECT * FROM parcels WHERE code = 'c4242';

-- So are the first rows in the order of sorted keys.
SELECT code, id FROM parcels ORDER BY code DESC LIMIT 3;

-- New rows are found although no index knows them; another call indexes them alone.
INSERT INTO parcels VALUES (10000, 'new', 's1', 'tue');
SELECT * FROM parcels WHERE code = 'new';
CALL sys.create_global_index(table => 'parcels', index_column => 'code', index_type => 'btree');

-- A changed column: refused by default; here reads see it and the next call builds the index anew.
ALTER TABLE parcels SET TBLPROPERTIES ('global-index.column-update-action' = 'IGNORE');
UPDATE parcels SET code = 'changed' WHERE id = 17;
SELECT * FROM parcels WHERE code = 'changed';
CALL sys.create_global_index(table => 'parcels', index_column => 'code', index_type => 'btree');

CALL sys.drop_global_index(table => 'parcels', index_column => 'state', index_type => 'bitmap');
SELECT count(*) FROM parcels$table_indexes;

-- Elements of arrays: which rows hold one of them.
DROP TABLE IF EXISTS posts;
CREATE TABLE posts (id INT, tags ARRAY<STRING>)
TBLPROPERTIES ('row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true');
INSERT INTO posts SELECT id, array(concat('t', id % 100), concat('u', id % 7)) FROM range(0, 1000);
CALL sys.create_global_index(table => 'posts', index_column => 'tags', index_type => 'multivalue');
SELECT count(*) FROM posts WHERE array_contains(tags, 't42');
SELECT id FROM posts WHERE arrays_overlap(tags, array('t42', 't43')) AND array_contains(tags, 'u0') ORDER BY id;
