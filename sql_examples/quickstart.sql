-- The first ten minutes with a Paimon table: from a CSV file to upserts, time travel, compaction and expiry.
-- Run it from the project's folder: paimon-sql -f sql_examples/quickstart.sql

DROP TABLE IF EXISTS orders;

-- A table with a primary key: a later row with the same key replaces the earlier one.
CREATE TABLE orders (
    order_id BIGINT,
    ordered_at TIMESTAMP,
    city STRING,
    item STRING,
    quantity INT,
    price DECIMAL(10, 2),
    state STRING,
    PRIMARY KEY (order_id) NOT ENFORCED
) WITH (
    'bucket' = '2',
    'snapshot.num-retained.min' = '1'
);

CREATE TEMPORARY VIEW orders_csv
USING csv OPTIONS (path 'sql_examples/data/orders.csv', header 'true');

INSERT INTO orders
SELECT CAST(order_id AS BIGINT), CAST(ordered_at AS TIMESTAMP), city, item,
       CAST(quantity AS INT), CAST(price AS DECIMAL(10, 2)), state
FROM orders_csv;

SELECT state, count(*) AS orders, sum(quantity * price) AS worth FROM orders GROUP BY state ORDER BY state;

-- Changes arrive: 50 orders change, 25 are new. One INSERT upserts them all.
CREATE TEMPORARY VIEW changes_csv
USING csv OPTIONS (path 'sql_examples/data/order_changes.csv', header 'true');

INSERT INTO orders
SELECT CAST(order_id AS BIGINT), CAST(ordered_at AS TIMESTAMP), city, item,
       CAST(quantity AS INT), CAST(price AS DECIMAL(10, 2)), state
FROM changes_csv;

SELECT count(*) AS orders FROM orders;
SELECT order_id, city, state FROM orders WHERE order_id = 21;

-- What happened so far, and how the table was before.
SELECT snapshot_id, commit_kind, total_record_count FROM orders$snapshots ORDER BY snapshot_id;
SELECT count(*) AS orders_before FROM orders VERSION AS OF 1;
SELECT order_id, city, state FROM orders /*+ OPTIONS('scan.snapshot-id' = '1') */ WHERE order_id = 21;

-- Keep the first state under a name, merge the files, and let old snapshots go.
CALL sys.create_tag(`table` => 'default.orders', tag => 'as_delivered', snapshot => 1);
CALL sys.compact(`table` => 'default.orders');
SELECT level, record_count FROM orders$files ORDER BY level, record_count;
CALL sys.expire_snapshots(`table` => 'default.orders', retain_max => 1);
SELECT snapshot_id, commit_kind FROM orders$snapshots;
SELECT count(*) AS as_delivered FROM orders VERSION AS OF 'as_delivered';
