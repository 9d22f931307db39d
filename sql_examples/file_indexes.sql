-- Indexes of columns in each data file: what a query need not read although smallest and greatest values do not tell.
DROP TABLE IF EXISTS clicks;
CREATE TABLE clicks (id BIGINT, session STRING, country STRING, price DECIMAL(10, 2), day STRING) PARTITIONED BY (day)
TBLPROPERTIES (
  'file-index.bloom-filter.columns' = 'session',
  'file-index.bloom-filter.session.items' = '5000',
  'file-index.bloom-filter.session.fpp' = '0.01',
  'file-index.bitmap.columns' = 'country'
);
INSERT INTO clicks SELECT id, concat('s', id * 31 % 5000), IF(id % 50 = 0, 'MT', 'IT'), id % 90, 'mon' FROM range(0, 5000);
INSERT INTO clicks SELECT id, concat('t', id * 31 % 5000), 'IT', id % 70, 'tue' FROM range(5000, 10000);

-- Files left of how many: one session, one rare country.
EXPLAIN SELECT * FROM clicks WHERE session = 's4242';
EXPLAIN SELECT count(*) FROM clicks WHERE country = 'MT' AND price > 20;
SELECT count(*) FROM clicks WHERE country = 'MT' AND price > 20;

-- Another index, for new files and for those that are there: first of one partition, then of all.
ALTER TABLE clicks SET TBLPROPERTIES ('file-index.range-bitmap.columns' = 'price');
CALL sys.rewrite_file_index(table => 'clicks', where => "day = 'mon'", dry_run => true);
CALL sys.rewrite_file_index(table => 'clicks', where => "day = 'mon'");
CALL sys.rewrite_file_index(table => 'clicks');
EXPLAIN SELECT * FROM clicks WHERE price = 89.00;
SELECT `partition`, column_name, index_type, storage_type, index_size_in_bytes FROM clicks$file_indexes ORDER BY ALL;
