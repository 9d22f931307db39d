-- Buckets: fixed ones, dynamic ones, keys that move between partitions, postponed ones, and another number of them.
DROP TABLE IF EXISTS fixed_orders;
DROP TABLE IF EXISTS dynamic_orders;
DROP TABLE IF EXISTS parcels;
DROP TABLE IF EXISTS late_orders;

-- Fixed: the hash of the key says the bucket. Another number takes effect for rows that are written anew.
CREATE TABLE fixed_orders (id INT, state STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '2');
INSERT INTO fixed_orders SELECT id, 'new' FROM range(20);
ALTER TABLE fixed_orders SET ('bucket' = '4');
CALL sys.rescale(table => 'default.fixed_orders');
INSERT INTO fixed_orders VALUES (3, 'paid');
SELECT bucket, record_count FROM fixed_orders$buckets ORDER BY bucket;

-- One bucket alone, for whoever shares the work out.
SELECT count(*) FROM fixed_orders /*+ OPTIONS('scan.bucket' = '2') */;

-- Dynamic: a key stays in its bucket, new keys open new buckets when those there are full.
CREATE TABLE dynamic_orders (id INT, state STRING, PRIMARY KEY (id) NOT ENFORCED)
WITH ('bucket' = '-1', 'dynamic-bucket.target-row-num' = '10');
INSERT INTO dynamic_orders SELECT id, 'new' FROM range(25);
INSERT INTO dynamic_orders VALUES (3, 'paid'), (99, 'new');
SELECT count(*) FROM dynamic_orders;

-- A key without the partition column: a parcel is in one place, and moves.
CREATE TABLE parcels (id INT, place STRING, weight INT, PRIMARY KEY (id) NOT ENFORCED)
PARTITIONED BY (place) WITH ('bucket' = '-1');
INSERT INTO parcels VALUES (1, 'north', 5), (2, 'north', 6);
INSERT INTO parcels VALUES (1, 'south', 5);
SELECT * FROM parcels ORDER BY id;

-- Postponed: rows wait until a compaction gives them real buckets.
CREATE TABLE late_orders (id INT, state STRING, PRIMARY KEY (id) NOT ENFORCED)
WITH ('bucket' = '-2', 'postpone.batch-write-fixed-bucket' = 'false', 'postpone.default-bucket-num' = '2');
INSERT INTO late_orders VALUES (1, 'new'), (2, 'new');
SELECT count(*) FROM late_orders;
CALL sys.compact(table => 'default.late_orders');
SELECT * FROM late_orders ORDER BY id;

-- Joined by the bucket key: each bucket with that of the other table, without a shuffle (no Exchange in the plan).
DROP TABLE IF EXISTS fixed_payments;
CREATE TABLE fixed_payments (id INT, cents BIGINT) WITH ('bucket' = '4', 'bucket-key' = 'id');
INSERT INTO fixed_payments SELECT id % 20, id FROM range(200);
EXPLAIN SELECT /*+ MERGE(p) */ o.state, sum(p.cents) FROM fixed_orders o JOIN fixed_payments p ON o.id = p.id GROUP BY o.state;
SELECT o.state, sum(p.cents) FROM fixed_orders o JOIN fixed_payments p ON o.id = p.id GROUP BY o.state ORDER BY o.state;
