-- One table for Paimon's readers and Iceberg's: no copy, no job.

CREATE TABLE events (id BIGINT, kind STRING, day DATE) PARTITIONED BY (day)
TBLPROPERTIES ('metadata.iceberg.storage' = 'hadoop-catalog');

-- Behind each commit stand Iceberg's metadata in <warehouse>/iceberg/default/events, a catalog of type 'hadoop'.
INSERT INTO events VALUES (1, 'open', DATE'2026-01-01'), (2, 'close', DATE'2026-01-02');
DELETE FROM events WHERE id = 1;

-- A tag is Iceberg's tag, too; a new column is seen at once.
CALL sys.create_tag(table => 'events', tag => 'first');
ALTER TABLE events ADD COLUMN source STRING;

-- Keyed tables are seen as of their last full compaction …
CREATE TABLE orders (id INT, state STRING) TBLPROPERTIES
('primary-key' = 'id', 'bucket' = '1', 'metadata.iceberg.storage' = 'hadoop-catalog');
INSERT INTO orders VALUES (1, 'new'), (2, 'new');
INSERT INTO orders VALUES (1, 'paid');
CALL sys.compact(table => 'orders');

-- … or at once, with deletion vectors of 64 bits and Iceberg's format 3.
CREATE TABLE stock (id INT, amount INT) TBLPROPERTIES (
  'primary-key' = 'id', 'bucket' = '1', 'deletion-vectors.enabled' = 'true', 'deletion-vectors.bitmap64' = 'true',
  'metadata.iceberg.storage' = 'hadoop-catalog', 'metadata.iceberg.format-version' = '3');
INSERT INTO stock VALUES (1, 10), (2, 20);
INSERT INTO stock VALUES (1, 9);

-- Commits publish by themselves. This says whether anything is left to do, and does it.
CALL sys.publish_iceberg(table => 'stock');
